#include "session/finalist_timer.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/statistics.h"
#include "session/runner.h"

namespace tunebook {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) { return std::chrono::duration<double>(to - from).count(); }

constexpr double kStopPollSeconds = 0.2;
constexpr double kEndSeconds = 5;  // for a process to end
constexpr double kMaxSeconds = 5;  // of sampling, in each process

class FinalistTimer {
 public:
  FinalistTimer(EventLoop& loop, WorkerCommand runner, const SetupRequest& setup, const FinalistTiming& timing)
      : loop_(loop), runner_(std::move(runner)), setup_(setup), timing_(timing), baseline_(timing.baseline) {
    runner_.role = WorkerRole::runner;
    if (baseline_) baseline_record_.operation = baseline_->baseline.value().operation;
  }

  FinalistTimes run(std::vector<FinalistCandidate> candidates) {
    std::vector<Finalist> finalists = without_times(candidates);
    std::string error;
    const Clock::time_point begun = Clock::now();
    double longest_s = 0;
    for (int process = 0; process < timing_.plan.processes && !candidates.empty() && !stopped(); ++process) {
      const Clock::time_point start = Clock::now();
      if (process > 0 && timing_.plan.seconds && seconds_between(begun, start) + longest_s > *timing_.plan.seconds) break;
      const InterleaveReply reply = time_once(candidates, process);
      longest_s = std::max(longest_s, seconds_between(start, Clock::now()));
      if (complete(reply, candidates.size())) {
        for (std::size_t i = 0; i < candidates.size(); ++i) {
          Finalist& finalist = finalists[rotated(i, process, candidates.size())];
          finalist.process_medians_us.push_back(median(reply.timings[i].samples_us));
          if (reply.timings[i].energy_j) finalist.process_energies_j.push_back(*reply.timings[i].energy_j);
        }
        if (baseline_) take_baseline(reply);
        continue;
      }
      if (stopped()) break;
      error = reply.message;
      if (baseline_ && baseline_fails_alone()) {
        --process;  // again without it
        continue;
      }
      const std::size_t before = candidates.size();
      const std::optional<ProblemLaunch> baseline = std::exchange(baseline_, std::nullopt);
      std::erase_if(candidates, [&](const FinalistCandidate& candidate) { return !complete(time_once({candidate}, 0), 1); });
      baseline_ = baseline;
      if (candidates.size() < before) {
        finalists = without_times(candidates);
        baseline_record_.process_medians_us.clear();
        process = -1;
      }
    }
    const bool any = std::any_of(finalists.begin(), finalists.end(), [](const Finalist& f) { return !f.process_medians_us.empty(); });
    if (!any && !stopped()) {
      throw EnvironmentError(fmt::format("device {}: the finalists could not be timed in fresh processes{}; the trials are in the book, "
                                         "the same command tries again",
                                         runner_.device, error.empty() ? "" : ": " + error));
    }
    FinalistTimes times{std::move(finalists), std::nullopt};
    if (timing_.baseline) times.baseline = std::move(baseline_record_);
    return times;
  }

 private:
  // Of a complete reply: one more process, or why there will be none.
  void take_baseline(const InterleaveReply& reply) {
    const BaselineReport report = reply.baseline.value_or(BaselineReport{BaselineState::unavailable, "", "the worker knows no baselines"});
    const std::vector<double>& samples = reply.timings.back().samples_us;
    if (report.state == BaselineState::ok && samples.empty()) return drop_baseline({BaselineState::failed, report.name, "it gave no times"});
    if (report.state != BaselineState::ok) return drop_baseline(report);
    baseline_record_.name = report.name;
    baseline_record_.message = report.message;
    baseline_record_.process_medians_us.push_back(median(samples));
    baseline_->baseline->only = report.fast;  // to look for the fastest once is enough, and may take longer than all the rest
  }

  void drop_baseline(const BaselineReport& report) {
    baseline_.reset();
    baseline_record_.state = report.state;
    if (!report.name.empty()) baseline_record_.name = report.name;
    baseline_record_.message = report.message;
    baseline_record_.process_medians_us.clear();
  }

  // Something went wrong: was it the baseline?
  bool baseline_fails_alone() {
    const InterleaveReply alone = time_once({}, 0);
    if (stopped() || complete(alone, 0)) return false;
    drop_baseline({BaselineState::failed, "", alone.message});
    return true;
  }

  bool stopped() const { return timing_.plan.stop && timing_.plan.stop(); }

  static std::vector<Finalist> without_times(const std::vector<FinalistCandidate>& candidates) {
    std::vector<Finalist> finalists;
    for (const FinalistCandidate& candidate : candidates) finalists.push_back({candidate.configuration});
    return finalists;
  }

  // Seconds that each candidate is repeated for in this process to measure its energy.
  double energy_seconds(int process) const {
    switch (timing_.plan.energy) {
      case FinalistPlan::Energy::none: break;
      case FinalistPlan::Energy::last_process: return process + 1 == timing_.plan.processes ? timing_.energy_seconds : 0;
      case FinalistPlan::Energy::every_process: return timing_.energy_seconds;
    }
    return 0;
  }

  static std::size_t rotated(std::size_t place, int process, std::size_t candidates) {
    return (place + static_cast<std::size_t>(process)) % candidates;
  }

  // Whether each candidate has times; of the baseline, which comes last, nothing is asked.
  bool complete(const InterleaveReply& reply, std::size_t candidates) const {
    return reply.outcome == Outcome::ok && reply.timings.size() == candidates + (baseline_ ? 1 : 0) &&
           std::all_of(reply.timings.begin(), reply.timings.begin() + static_cast<std::ptrdiff_t>(candidates),
                       [](const Timing& timing) { return !timing.samples_us.empty(); });
  }

  InterleaveReply time_once(const std::vector<FinalistCandidate>& candidates, int process) {
    InterleaveReply result;
    result.outcome = Outcome::worker_lost;
    bool over = false;
    const auto fail = [&](const std::string& message) {
      result.message = message;
      over = true;
    };
    std::unique_ptr<WorkerProcess> worker;
    WorkerCallbacks callbacks;
    callbacks.on_hello = [&](const Hello& hello) {
      if (!hello.error.empty()) return fail(hello.error);
      worker->send(setup_);
      worker->arm_deadline(Runner::Limits{}.setup_s);
    };
    callbacks.on_reply = [&](Reply reply) {
      if (const auto* setup = std::get_if<SetupReply>(&reply)) {
        if (setup->outcome != Outcome::ok) return fail(setup->message);
        worker->send(interleave_request(candidates, process));
        worker->arm_deadline(timing_.step_s + kMaxSeconds + energy_seconds(process));
      } else if (auto* interleave = std::get_if<InterleaveReply>(&reply)) {
        result = std::move(*interleave);
        over = true;
      }
    };
    bool lost = false;
    callbacks.on_lost = [&](const LostReason& reason) {
      lost = true;
      fail(outcome_of_loss(reason).message);
    };
    worker = std::make_unique<WorkerProcess>(loop_, runner_, std::move(callbacks));
    while (!over && !stopped()) loop_.run_until([&] { return over; }, kStopPollSeconds);
    // The next process must not meet this one on the device.
    bool gone = lost;
    if (!lost) worker->shut_down([&] { gone = true; });
    loop_.run_until([&] { return gone; }, kEndSeconds);
    return result;
  }

  InterleaveRequest interleave_request(const std::vector<FinalistCandidate>& candidates, int process) const {
    InterleaveRequest request;
    request.id = 1;
    request.cache = timing_.cache;
    request.samples = timing_.samples;
    request.max_seconds = kMaxSeconds;
    request.energy_seconds = energy_seconds(process);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      request.candidates.push_back(candidates[rotated(i, process, candidates.size())].launch);
    }
    if (baseline_) request.candidates.push_back(*baseline_);
    return request;
  }

  EventLoop& loop_;
  WorkerCommand runner_;
  const SetupRequest& setup_;
  const FinalistTiming& timing_;
  std::optional<ProblemLaunch> baseline_;  // none any more once it has failed
  BaselineRecord baseline_record_;
};

}  // namespace

FinalistTimes time_in_fresh_processes(EventLoop& loop, const WorkerCommand& runner, const SetupRequest& setup,
                                              std::vector<FinalistCandidate> candidates, const FinalistTiming& timing) {
  return FinalistTimer(loop, runner, setup, timing).run(std::move(candidates));
}

}  // namespace tunebook
