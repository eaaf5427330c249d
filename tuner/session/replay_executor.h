#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <string>

#include "search/recording.h"
#include "session/executor.h"
#include "session/tune.h"

namespace tunebook {

// Answers proposals from a recording: no compiling, no verifying, recorded times. For judging strategies and for tests.
class ReplayExecutor : public Executor {
 public:
  explicit ReplayExecutor(const Recording& recording);  // which must outlive it

  const ExecutorIdentity& identity() const override { return identity_; }
  void on_done(Done done) override { done_ = std::move(done); }
  void submit(Proposal proposal) override { queue_.push_back(std::move(proposal)); }
  void closing() override {}
  bool foresees() const override { return recording_.has_resources(); }
  void foresee(const Configuration& configuration, std::function<void(const Foresight&)> done) override;
  void set_best(double) override {}
  bool run_until(const std::function<bool()>& finished, double deadline_seconds) override;
  void cancel() override;
  std::size_t proposals_in_flight() const override { return 1; }  // an answer takes no time
  std::vector<Finalist> time_finalists(const std::vector<Configuration>& candidates, const FinalistPlan& plan) override;

 private:
  TrialRecord answer(const Proposal& proposal) const;

  const Recording& recording_;
  ExecutorIdentity identity_;
  Done done_;
  std::deque<Proposal> queue_;
  std::deque<std::function<void()>> foreseen_;
};

// The recording at `path`; if that is a folder, the one in it of the kernel (and, unless `shape` is empty, of the problem). Throws
// InputError if the folder has none or several.
Recording load_recording(const std::filesystem::path& path, const std::string& kernel, const std::string& shape);

// The session subject of a recording. `shape` must be empty or the recorded problem; another one was not recorded: InputError.
TuneSubject replay_subject(const Recording& recording, const std::string& shape);

}  // namespace tunebook
