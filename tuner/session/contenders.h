#pragma once

#include <optional>
#include <vector>

#include "core/objective.h"
#include "db/store.h"

namespace tunebook {

// The trials that a session's finalists are chosen from: the fastest that passed, and the one of the standing winner.
class Contenders {
 public:
  // `finalists`: how many are wanted. `all`: every trial kept is one (a session that only times anew).
  Contenders(int finalists, Objective objective, bool all) : finalists_(finalists), objective_(objective), all_(all) {}

  // Before its trial is kept.
  void set_standing(const Configuration& configuration) { standing_ = configuration; }
  void keep(TrialRecord record);
  // The sanitizer found fault with it.
  void reject(const Configuration& configuration);

  // choose_finalists(), and the standing winner in any case: its noise must not keep it out. The best first.
  std::vector<TrialRecord> chosen() const;
  const std::vector<TrialRecord>& rejected() const { return rejected_; }

 private:
  int finalists_;
  Objective objective_;
  bool all_;
  std::optional<Configuration> standing_;
  std::optional<TrialRecord> standing_trial_;
  std::vector<TrialRecord> fastest_;
  std::vector<TrialRecord> rejected_;
};

}  // namespace tunebook
