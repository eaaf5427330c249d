#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli_support.h"

namespace tunebook::test {

// Plans over made-up recordings of two GPUs, and what a book holds of them.
class SweepCliTest : public CliTest {
 protected:
  using Words = std::vector<std::string>;

  // Recordings of `kernels` kernels ("k0", ...) with `shapes` problems each in FOLDER/GPU, of `size` configurations.
  void record(const std::string& gpu, int kernels, int shapes, std::uint64_t size);
  // The file of one of them.
  std::filesystem::path recording(const std::string& gpu, int kernel, int shape) const;
  // Makes every time of a recording so many times as long.
  void slow_down(const std::filesystem::path& recording, double factor) const;
  // A plan of all kernels on `devices` (as in a plan), with more members of the plan.
  std::filesystem::path plan(int kernels, const std::vector<std::string>& devices, const std::string& more = "");
  Words sweep(const std::filesystem::path& plan, const Words& more = {}) const;

  // Every session of the book as one text: what it was about, its trials in order, its winner. Not its id and times of the day.
  static std::map<std::string, std::string> fingerprint(const std::filesystem::path& book);
  // A number that a query over the book gives.
  std::int64_t count(const std::string& sql) const;
};

}  // namespace tunebook::test
