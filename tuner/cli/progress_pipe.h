#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "session/tune.h"

namespace tunebook::cli {

// For a program that runs sessions: what this one is doing, as lines of JSON on a descriptor that it was given (--progress-fd). This
// process then ends with its parent, however that one ends.
//
//   {"stage": "template"}, {"stage": "device"}, {"stage": "session", "session": "<id>"}
//   {"step": "search", "done": 3, "total": 40, "failed": 0, "best_us": 12.5, "remaining_s": 7.1}   best_us, remaining_s: if known
class ProgressPipe {
 public:
  // Negative: none. Throws InputError if it is no open descriptor.
  explicit ProgressPipe(int fd);

  // What is done next; a process that ends says by its last stage where.
  void stage(const std::string& name);
  void opened(const std::string& session_id);
  void progress(const TuneObserver::Progress& progress);  // a few of them a second are passed on

 private:
  void write(const nlohmann::ordered_json& line);

  int fd_;
  double last_progress_s_ = -1;
  std::string last_step_;
};

}  // namespace tunebook::cli
