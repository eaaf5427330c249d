#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/problem.h"

namespace tunebook {

// One session as the book has it, without its trials.
struct SessionSummary {
  std::string id;
  std::string kernel, kernel_hash;
  Device device;                       // as the book saw it first
  std::string device_key;              // Device::key()
  Problem problem;                     // dimensions in no certain order
  std::string toolchain, method;
  std::string objective;               // of its winner, else of its identity
  std::string strategy, budget;
  std::uint64_t seed = 0;
  std::vector<std::string> where;
  double started = 0;                  // seconds since 1970
  std::optional<double> finished;      // seconds since 1970; empty: unfinished
  double wall_seconds = 0;             // summed over its runs
  std::int64_t trials = 0;             // rows: a proposal that was tried again counts twice; 0 in a published book
  std::string winner;                  // canonical configuration; "": none
  std::optional<double> winner_us;     // median
  // Medians of first-pass trials, to say what the search gained: the preset "default" and the winner that stood before.
  std::optional<double> default_us, standing_us;
};

// The sessions of a book, oldest first (by start, then id).
struct SessionHistory {
  std::vector<SessionSummary> sessions;
};

// Sessions of these kernels, or of all if there are none. A book that is not there has no sessions; it is only read, also while others write
// it. Throws InputError if what is at `path` is no book.
SessionHistory read_session_history(const std::filesystem::path& path, const std::set<std::string>& kernels = {});

// "2026-11-29T10:00:12.500000Z" as seconds since 1970; 0 for what is no such text.
double seconds_of_utc(const std::string& text);

}  // namespace tunebook
