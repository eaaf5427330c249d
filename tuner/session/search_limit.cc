#include "session/search_limit.h"

#include <algorithm>
#include <limits>

namespace tunebook {
namespace {

// A fresh process opens the device, fills its buffers and warms up. An empty one takes 0.3 s on a GPU.
constexpr double kProcessSeconds = 0.5;
// Finalists take fewer samples than a trial, but each process loads and warms up each of them.
constexpr double kCandidateSeconds = 0.05;
constexpr double kLargestShare = 0.5;

}  // namespace

SearchLimit::SearchLimit(double limit_s, Clock::time_point start, int finalists, int processes)
    : limit_s_(limit_s), start_(start), finalists_(finalists), processes_(finalists > 0 ? processes : 0) {}

void SearchLimit::observe(const TrialRecord& trial) {
  if (!has_time(trial.outcome)) return;
  timed_seconds_ += trial.time_seconds;
  ++timed_trials_;
}

double SearchLimit::reserve_s() const {
  if (timed_trials_ > 0 && timed_seconds_ == 0) return 0;
  const double trial = timed_trials_ > 0 ? timed_seconds_ / timed_trials_ : 0;
  const double wanted = processes_ * (kProcessSeconds + finalists_ * (trial + kCandidateSeconds));
  return std::min(wanted, kLargestShare * limit_s_);
}

bool SearchLimit::over(Clock::time_point now) const { return left_s(now) <= 0; }

double SearchLimit::left_s(Clock::time_point now) const {
  if (limit_s_ <= 0) return std::numeric_limits<double>::infinity();
  return limit_s_ - reserve_s() - std::chrono::duration<double>(now - start_).count();
}

}  // namespace tunebook
