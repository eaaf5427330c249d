#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/objective.h"
#include "core/problem.h"

namespace tunebook {

// When a winner in the book is old. Days are counted from the end of a session, as the book has it.
struct FreshnessRule {
  // A winner whose search ended longer ago is searched for anew; empty: never because of its age.
  std::optional<double> retune_after_days = 30;
  // A winner last timed longer ago is verified and timed again; 0: in every sweep; empty: never.
  std::optional<double> retime_after_days = 0;
  friend bool operator==(const FreshnessRule&, const FreshnessRule&) = default;
};

// What a plan says about a session besides kernel, problem and device: `tune`'s options of the same names.
struct SessionSettings {
  Objective objective = Objective::time;
  std::string cache = "cold";       // "cold", "warm": how times are taken
  std::string strategy = "auto";
  std::uint64_t seed = 0;
  std::string budget = "200";       // as Budget::parse() takes it
  std::vector<std::string> where;   // constraints that narrow the space
  bool baseline = true;
  bool from_book = true;
  int from_book_first = 0;          // so many predicted configurations come first; 0: as many as the budget suggests
  bool sanitize = false;
  int finalists = 8;
  int finalist_processes = 5;
  int lock_clocks_mhz = 0;          // 0: clocks are left alone
  double run_timeout_s = 10;
  double compile_timeout_s = 60;
  // Not part of an item's identity:
  double priority = 1;              // of two sessions with the same expected gain, one of twice the priority is worth twice the time
  FreshnessRule freshness;
  friend bool operator==(const SessionSettings&, const SessionSettings&) = default;
};

// One session that a plan asks for. Whether it is to run tonight is a Decision (decision.h).
struct SweepItem {
  std::string kernel;
  Problem problem;                  // every dimension, categories (dtype, math) too, in the order of the spec
  // As `--device` takes it, paths absolute: "cuda:1" (this one), "cuda" (any GPU that is there: the sweep's runners share these items),
  // "cpu", "replay:PATH" (one recording).
  std::string device;
  SessionSettings settings;
  std::vector<std::string> templates;  // folders to look for the kernel in, absolute, as `--templates`; not part of the identity

  // 32 hex digits, the same on every machine and night: of kernel, problem, device and those settings that are part of the identity.
  std::string id() const;
  // "matmul m=512,n=512,k=512,dtype=f32 on cuda:0".
  std::string display() const;
  // "m=512,n=512,k=512,dtype=f32": what `--shape` takes.
  std::string shape() const { return problem.display(); }
  // True for "replay:PATH"; replay_path() is then the path.
  bool is_replay() const { return device.starts_with("replay:"); }
  std::string replay_path() const { return is_replay() ? device.substr(std::string_view("replay:").size()) : std::string(); }

  nlohmann::ordered_json to_json() const;  // with "id"
  // Throws InputError naming `where` and the member: missing, unknown, of the wrong kind or range, or an "id" that does not fit the rest.
  static SweepItem from_json(const nlohmann::ordered_json& json, const std::string& where);
  friend bool operator==(const SweepItem&, const SweepItem&) = default;
};

}  // namespace tunebook
