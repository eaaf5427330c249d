#include "launch/refinement.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/statistics.h"

namespace tunebook {
namespace {

// Another configuration takes the place of the one at hand if it is faster by more than this share: less is noise.
constexpr double kLeastGain = 0.01;
// One that takes this many times as long as the fastest at its first sample is not sampled again.
constexpr double kAbandonAt = 2.0;
// With fewer samples nothing is chosen, unless fewer were asked for.
constexpr std::size_t kFewestSamples = 3;

class Refiner {
 public:
  Refiner(LaunchCopies& copies, const std::vector<std::shared_ptr<const LoadedLaunch>>& candidates, const RefineBudget& budget)
      : copies_(copies), candidates_(candidates), budget_(budget), run_us_(candidates.size(), 0) {
    result_.times.resize(candidates.size());
  }

  Refinement run() {
    try {
      if (establish_reference()) {
        for (std::size_t i = 1; i < candidates_.size() && try_one(i).has_value(); ++i) {
        }
        for (int sample = 0; sample < budget_.samples && sample_all(); ++sample) {
        }
        choose();
      }
    } catch (const LaunchError& error) {
      result_.obstacle = error.what();
      result_.chosen = 0;
    }
    result_.gpu_seconds = spent_us_ * 1e-6;
    return std::move(result_);
  }

 private:
  RefinedTime& time(std::size_t i) { return result_.times[i]; }
  bool alive(std::size_t i) { return candidates_[i] != nullptr && time(i).tried && time(i).outcome == Outcome::ok; }

  // Whether a launch of candidate `i` still fits the budget, as far as its time is known.
  bool affordable(std::size_t i) const {
    const double expected = run_us_[i] > 0 ? run_us_[i] : longest_us_;
    return !(budget_.stop && budget_.stop()) && spent_us_ + expected <= budget_.seconds * 1e6;
  }
  std::string out_of_budget() const {
    if (budget_.stop && budget_.stop()) return "the Launcher is gone";
    return "LaunchOptions::refine.seconds were used up before anything could be compared";
  }
  std::optional<double> launch(std::size_t i) {
    RefinedTime& one = time(i);
    one.tried = true;
    try {
      const LaunchCopies::Run run = copies_.run(*candidates_[i]);
      spent_us_ += run.gpu_us;
      run_us_[i] = run.gpu_us;
      longest_us_ = std::max(longest_us_, run.gpu_us);
      return run.launch_us;
    } catch (const CandidateFailed& failed) {
      one.outcome = failed.outcome();
      one.message = failed.what();
      return std::nullopt;
    }
  }

  // The configuration at hand runs twice: the second run warms it up and must agree with the first.
  bool establish_reference() {
    if (candidates_.empty() || candidates_[0] == nullptr) return false;
    for (int round = 0; round < 2; ++round) {
      if (!affordable(0)) {
        result_.obstacle = out_of_budget();
        return false;
      }
      if (!launch(0)) {
        result_.obstacle = "the configuration at hand cannot be run on copies: " + time(0).message;
        return false;
      }
      if (round == 0) {
        copies_.keep_results();
      } else if (const std::string difference = copies_.difference(); !difference.empty()) {
        time(0).outcome = Outcome::nondeterministic;
        time(0).message = difference;
        result_.obstacle = "runs of the configuration at hand differ: " + difference;
        return false;
      }
    }
    return true;
  }

  // Nothing if the budget is used up; else whether the candidate is right.
  std::optional<bool> try_one(std::size_t i) {
    if (candidates_[i] == nullptr) return false;
    if (!affordable(i)) return std::nullopt;
    return launch(i).has_value() && agrees(i);
  }
  bool agrees(std::size_t i) {
    std::string difference = copies_.difference();
    if (difference.empty()) return true;
    time(i).outcome = i == 0 ? Outcome::nondeterministic : Outcome::wrong_result;
    time(i).message = std::move(difference);
    return false;
  }

  // One sample of each that is still in the running; false if the budget is used up.
  bool sample_all() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!alive(i)) continue;
      if (!affordable(i)) return false;
      const std::optional<double> us = launch(i);
      if (us && agrees(i)) time(i).samples_us.push_back(*us);
    }
    double fastest = 0;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const double median_us = alive(i) ? time(i).median_us() : 0;
      if (median_us > 0 && (fastest == 0 || median_us < fastest)) fastest = median_us;
    }
    for (std::size_t i = 1; i < candidates_.size(); ++i) {
      if (alive(i) && time(i).median_us() > kAbandonAt * fastest) time(i).outcome = Outcome::abandoned;
    }
    return true;
  }

  void choose() {
    const std::size_t fewest = std::min(kFewestSamples, static_cast<std::size_t>(std::max(budget_.samples, 1)));
    if (!alive(0) || time(0).samples_us.size() < fewest) {
      if (time(0).outcome == Outcome::nondeterministic) {
        result_.obstacle = "runs of the configuration at hand differ: " + time(0).message;
      } else if (time(0).outcome != Outcome::ok) {
        result_.obstacle = "the configuration at hand failed on copies: " + time(0).message;
      } else {
        result_.obstacle = out_of_budget();
      }
      return;
    }
    double best = time(0).median_us() * (1 - kLeastGain);
    for (std::size_t i = 1; i < candidates_.size(); ++i) {
      if (!alive(i) || time(i).samples_us.size() < fewest || !(time(i).median_us() < best)) continue;
      best = time(i).median_us();
      result_.chosen = i;
    }
  }

  LaunchCopies& copies_;
  const std::vector<std::shared_ptr<const LoadedLaunch>>& candidates_;
  const RefineBudget& budget_;
  std::vector<double> run_us_;
  double longest_us_ = 0, spent_us_ = 0;
  Refinement result_;
};

}  // namespace

double RefinedTime::median_us() const { return samples_us.empty() ? 0 : median(samples_us); }

Refinement refine(LaunchCopies& copies, const std::vector<std::shared_ptr<const LoadedLaunch>>& candidates, const RefineBudget& budget) {
  return Refiner(copies, candidates, budget).run();
}

}  // namespace tunebook
