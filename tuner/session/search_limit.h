#pragma once

#include <chrono>

#include "core/outcome.h"
#include "db/store.h"

namespace tunebook {

// When the search of a session has to stop so that its finalists end within the time limit too. What they will take is estimated from
// the trials so far; at most half of the limit is kept for them.
class SearchLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // `limit_s` seconds from `start`; 0: no limit. `finalists` candidates in `processes` fresh processes each.
  SearchLimit(double limit_s, Clock::time_point start, int finalists, int processes);

  void observe(const TrialRecord& trial);
  // Seconds for the finalists; 0 for a recording, whose trials take no time.
  double reserve_s() const;
  bool over(Clock::time_point now = Clock::now()) const;
  // Seconds until over(); infinite without a limit.
  double left_s(Clock::time_point now = Clock::now()) const;

 private:
  double limit_s_;
  Clock::time_point start_;
  double finalists_, processes_;
  double timed_seconds_ = 0;  // of trials that were timed
  double timed_trials_ = 0;
};

}  // namespace tunebook
