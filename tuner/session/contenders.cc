#include "session/contenders.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "session/finalists.h"

namespace tunebook {
namespace {

// Fastest trials kept in memory with their whole record.
constexpr std::size_t kKeptTrials = 64;

}  // namespace

void Contenders::keep(TrialRecord record) {
  if (standing_ && record.configuration == *standing_) standing_trial_ = record;
  fastest_.push_back(std::move(record));
  if (fastest_.size() > 2 * kKeptTrials) fastest_ = best_trials(fastest_, kKeptTrials, objective_);
}

void Contenders::reject(const Configuration& configuration) {
  if (standing_trial_ && standing_trial_->configuration == configuration) standing_trial_.reset();
  const auto trial = std::find_if(fastest_.begin(), fastest_.end(),
                                  [&](const TrialRecord& record) { return record.configuration == configuration; });
  if (trial == fastest_.end()) return;
  rejected_.push_back(std::move(*trial));
  fastest_.erase(trial);
}

std::vector<TrialRecord> Contenders::chosen() const {
  if (all_) return best_trials(fastest_, fastest_.size(), objective_);
  std::vector<TrialRecord> chosen = choose_finalists(fastest_, finalists_, objective_);
  if (finalists_ == 0 || !standing_trial_) return chosen;
  const bool there = std::any_of(chosen.begin(), chosen.end(),
                                 [&](const TrialRecord& trial) { return trial.configuration == standing_trial_->configuration; });
  if (!there) chosen.push_back(*standing_trial_);
  return chosen;
}

}  // namespace tunebook
