#pragma once

#include <string>
#include <utility>

#include "tunebook/lookup.h"

namespace tunebook {

// The side file of questions that were not answered exactly: one JSON object per line, {"kernel", "problem": {}, "device": {},
// "kernel_hash", "objective", "method", "tier" (null: no answer), "asked_utc"}. Each question once per process and file; lines are
// appended whole, so that processes may share the file. Nothing that goes wrong here is an error of the lookup.
class MissLog {
 public:
  // An empty path: nothing is recorded.
  MissLog(std::string path, int most_per_second) : path_(std::move(path)), most_per_second_(most_per_second) {}

  // For many threads at once. `answer`: what was given instead; null: nothing.
  void record(const Query& query, const Answer* answer) const noexcept;

 private:
  std::string path_;
  int most_per_second_;
};

}  // namespace tunebook
