// Sessions over a scripted executor: stopping, time budgets, abandonment.
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "session/tune.h"

namespace tunebook {
namespace {

Configuration tile(std::int64_t value) {
  Configuration configuration;
  configuration.set("TILE", value);
  return configuration;
}

// Times by TILE; what lies above kAbandonMultiple times the best is abandoned, as a device would do it.
class ScriptedExecutor : public Executor {
 public:
  ScriptedExecutor() {
    identity_.device.kind = "cpu";
    identity_.device.name = "scripted";
    identity_.toolchain = "none";
    identity_.method = "cold/test";
    identity_.environment = nlohmann::json::object();
  }
  const ExecutorIdentity& identity() const override { return identity_; }
  void on_done(Done done) override { done_ = std::move(done); }
  void submit(Proposal proposal) override { queue_.push_back(std::move(proposal)); }
  void closing() override {}
  void set_best(double median_us) override { best_us_ = median_us; }
  bool run_until(const std::function<bool()>& finished, double deadline_seconds) override {
    while (!finished()) {
      if (queue_.empty() || trials_left_ == 0) {
        std::this_thread::sleep_for(std::chrono::duration<double>(std::max(0.0, std::min(deadline_seconds, 0.02))));
        return finished();
      }
      --trials_left_;
      const Proposal proposal = queue_.front();
      queue_.pop_front();
      TrialRecord record;
      record.order = proposal.order;
      record.origin = proposal.origin;
      record.configuration = proposal.configuration;
      const double time = times_.at(std::get<std::int64_t>(proposal.configuration.at("TILE")));
      record.median_us = record.min_us = record.ci_low_us = record.ci_high_us = time;
      if (proposal.may_abandon && best_us_ > 0 && time > best_us_ * kAbandonMultiple) record.outcome = Outcome::abandoned;
      ++ran_;
      done_(std::move(record));
    }
    return true;
  }
  void cancel() override {
    queue_.clear();
    ++cancelled_;
  }
  std::vector<Finalist> time_finalists(const std::vector<Configuration>& candidates, const FinalistPlan& plan) override {
    asked_for_baseline_ = plan.baseline;
    std::vector<Finalist> finalists;
    for (const Configuration& candidate : candidates) {
      const auto value = std::get<std::int64_t>(candidate.at("TILE"));
      finalists.push_back({candidate, {finalist_times_.contains(value) ? finalist_times_.at(value) : times_.at(value)}});
    }
    return finalists;
  }

  std::optional<BaselineRecord> baseline() const override { return baseline_; }

  bool asked_for_baseline_ = false;
  std::optional<BaselineRecord> baseline_;
  std::map<std::int64_t, double> times_ = {{1, 100}, {2, 90}, {4, 50}, {8, 10}};
  std::map<std::int64_t, double> finalist_times_;  // where they differ
  std::int64_t trials_left_ = -1;  // then it hangs; -1: never
  std::int64_t ran_ = 0;
  int cancelled_ = 0;

 private:
  ExecutorIdentity identity_;
  Done done_;
  std::deque<Proposal> queue_;
  double best_us_ = 0;
};

// Finds fault with what `faulty_` names; TILE=2 it cannot judge.
class SanitizingExecutor : public ScriptedExecutor {
 public:
  SanitizerChoice sanitizer() const override { return {"scripted sanitizer", "", ""}; }
  std::vector<SanitizerVerdict> sanitize(const std::vector<Configuration>& candidates, const std::function<bool()>&) override {
    ++asked_;
    std::vector<SanitizerVerdict> verdicts;
    for (const Configuration& candidate : candidates) {
      SanitizerVerdict verdict;
      verdict.configuration = candidate;
      if (faulty_.contains(std::get<std::int64_t>(candidate.at("TILE")))) {
        verdict.finding = "memcheck: bad";
      } else if (candidate == tile(2)) {
        verdict.note = "memcheck: took too long";
      } else {
        verdict.clean = true;
      }
      verdicts.push_back(verdict);
    }
    return verdicts;
  }

  std::set<std::int64_t> faulty_ = {8};
  int asked_ = 0;
};

// Compiles ahead, answering out of order; TILE=4 does not compile, TILE=8 needs local memory.
class ForeseeingExecutor : public ScriptedExecutor {
 public:
  bool foresees() const override { return true; }
  void foresee(const Configuration& configuration, std::function<void(const Foresight&)> done) override {
    const auto value = std::get<std::int64_t>(configuration.at("TILE"));
    foreseen_.push_back(value);
    Foresight foresight;
    if (value == 4) foresight.outcome = Outcome::compile_error;
    if (value == 8) foresight.resources.stack_bytes = 64;
    answers_.push_back([done = std::move(done), foresight] { done(foresight); });
  }
  void submit(Proposal proposal) override {
    submitted_.push_back(std::get<std::int64_t>(proposal.configuration.at("TILE")));
    ScriptedExecutor::submit(std::move(proposal));
  }
  bool run_until(const std::function<bool()>& finished, double deadline_seconds) override {
    while (!answers_.empty()) {
      const auto answer = std::move(answers_.back());
      answers_.pop_back();
      answer();
    }
    return ScriptedExecutor::run_until(finished, deadline_seconds);
  }

  std::vector<std::int64_t> foreseen_, submitted_;

 private:
  std::vector<std::function<void()>> answers_;
};

class TuneExecutorTest : public ::testing::Test {
 protected:
  TuneExecutorTest()
      : book_(std::filesystem::temp_directory_path() / ("tunebook_scripted_" + std::to_string(getpid()) + ".db")) {
    remove_book();
    subject_.kernel = "scripted";
    subject_.kernel_hash = "hash";
    subject_.kernel_spec = nlohmann::ordered_json::object();
    subject_.problem.set("n", std::int64_t{1});
    options_.strategy = "exhaustive";
    options_.budget = Budget::parse("all");
  }
  ~TuneExecutorTest() override { remove_book(); }
  void remove_book() const {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(book_.string() + suffix);
  }

  TuneResult run(ScriptedExecutor& executor, const std::vector<std::int64_t>& tiles = {1, 2, 4, 8}) {
    Parameter parameter;
    parameter.name = "TILE";
    for (const std::int64_t value : tiles) parameter.values.emplace_back(value);
    SpaceDefinition definition;
    definition.parameters = {parameter};
    definition.slots = {0};
    definition.scope.resize(1);
    const SearchSpace space = SearchSpace::build(definition);
    Store store(book_);
    return tune(subject_, space, options_, executor, store, {}, std::chrono::steady_clock::now());
  }

  std::filesystem::path book_;
  TuneSubject subject_;
  TuneOptions options_;
};

TEST_F(TuneExecutorTest, StoppedBeforeTheFirstTrialIsInterruptedNotFinished) {
  ScriptedExecutor executor;
  options_.stop = [] { return true; };
  EXPECT_TRUE(run(executor).interrupted);
  options_.stop = nullptr;
  ScriptedExecutor again;
  const TuneResult result = run(again);
  EXPECT_FALSE(result.from_book);
  EXPECT_EQ(result.measured, 4);
  ASSERT_TRUE(result.winner);
  EXPECT_EQ(result.winner->configuration, tile(8));
}

TEST_F(TuneExecutorTest, WhatIsKnownNotToCompileIsNoTrialAndWhatNeedsLocalMemoryComesLast) {
  options_.strategy = "auto";
  ForeseeingExecutor executor;
  const TuneResult result = run(executor);
  EXPECT_EQ(std::set<std::int64_t>(executor.foreseen_.begin(), executor.foreseen_.end()), (std::set<std::int64_t>{1, 2, 4, 8}));
  EXPECT_EQ(executor.foreseen_.size(), 4u) << "each once";
  ASSERT_EQ(executor.submitted_.size(), 3u);
  EXPECT_EQ(executor.submitted_.back(), 8);
  EXPECT_EQ(result.proposals, 3);
  EXPECT_EQ(result.outcomes.size(), 1u);
  ASSERT_TRUE(result.winner);
  EXPECT_EQ(result.winner->configuration, tile(8)) << "tried all the same";

  options_.foresight = false;
  ForeseeingExecutor without;
  EXPECT_FALSE(run(without).from_book) << "another session";
  EXPECT_TRUE(without.foreseen_.empty());
}

TEST_F(TuneExecutorTest, AnEndWhileConfigurationsAreCompiledAhead) {
  options_.strategy = "auto";
  ForeseeingExecutor executor;
  int asked = 0;
  options_.stop = [&asked] { return ++asked > 2; };
  EXPECT_TRUE(run(executor).interrupted);
  executor.run_until([] { return true; }, 0);  // answers that come after the session has ended
}

TEST_F(TuneExecutorTest, AFastPresetOutsideTheSpaceNeitherWinsNorAbandonsTheRest) {
  ScriptedExecutor executor;
  subject_.presets = {{"default", tile(8)}};
  const TuneResult result = run(executor, {1, 2, 4});
  ASSERT_TRUE(result.winner);
  EXPECT_EQ(result.winner->configuration, tile(4));
}

TEST_F(TuneExecutorTest, WhatAnotherSessionAbandonedIsMeasuredWhenItMayWinHere) {
  ScriptedExecutor first;
  subject_.presets = {{"default", tile(8)}};
  EXPECT_EQ(run(first).outcomes.at(Outcome::abandoned), 3);
  subject_.presets.clear();
  ScriptedExecutor second;
  const TuneResult result = run(second, {1, 2, 4});  // the standing winner, TILE=8, is not declared here
  EXPECT_EQ(second.ran_, 3);
  ASSERT_TRUE(result.winner);
  EXPECT_EQ(result.winner->configuration, tile(4));
}

// 4e6 bytes at 100 GB/s take 40 us; on the cpu device less than half of it is impossible.
TEST_F(TuneExecutorTest, ATrialBelowThePhysicalFloorIsWrongAndNoWinner) {
  ScriptedExecutor executor;
  subject_.bytes = 4e6;
  options_.ceilings = {{"copy", 1 << 20, "cold/test", 100, 100, 100}};
  const TuneResult result = run(executor);
  ASSERT_TRUE(result.winner);
  EXPECT_EQ(result.winner->configuration, tile(4));
  EXPECT_EQ(result.outcomes.at(Outcome::wrong_result), 1);
  EXPECT_EQ(result.outcomes.at(Outcome::ok), 3);
  ASSERT_EQ(result.failure_messages.size(), 1U);
  EXPECT_NE(result.failure_messages.begin()->first.find("at least 40.000 us at 100 GB/s (copy, cold/test)"), std::string::npos)
      << result.failure_messages.begin()->first;
}

TEST_F(TuneExecutorTest, CeilingsOfAnotherMethodCondemnNothing) {
  ScriptedExecutor executor;
  subject_.bytes = 4e6;
  options_.ceilings = {{"copy", 1 << 20, "warm/test", 100, 100, 100}};
  EXPECT_EQ(run(executor).winner->configuration, tile(8));
}

TEST_F(TuneExecutorTest, AFinalistBelowThePhysicalFloorIsNoWinnerEither) {
  ScriptedExecutor executor;
  executor.finalist_times_[4] = 10;
  subject_.bytes = 4e6;
  options_.ceilings = {{"copy", 1 << 20, "cold/test", 100, 100, 100}};
  const TuneResult result = run(executor, {1, 2, 4});
  EXPECT_EQ(result.outcomes.at(Outcome::wrong_result), 1);
  EXPECT_FALSE(result.winner && result.winner->configuration == tile(4));
  // The next session meets the refused one in the book, until the device is calibrated otherwise.
  options_.seed = 1;
  ScriptedExecutor second;
  EXPECT_EQ(run(second, {1, 2, 4}).outcomes.at(Outcome::wrong_result), 1);
  EXPECT_EQ(second.ran_, 0);
  options_.seed = 2;
  options_.ceilings.clear();
  ScriptedExecutor third;
  EXPECT_EQ(run(third, {1, 2, 4}).winner->configuration, tile(4));
  EXPECT_EQ(third.ran_, 1);
}

TEST_F(TuneExecutorTest, TheSanitizerKeepsTheFastestFromWinningAndTheNextTakesItsPlace) {
  SanitizingExecutor executor;
  executor.times_ = {{1, 11}, {2, 10.5}, {4, 10}, {8, 9}};
  options_.sanitize = true;
  options_.finalists = 2;
  const TuneResult result = run(executor);
  ASSERT_TRUE(result.winner);
  EXPECT_EQ(result.winner->configuration, tile(4));
  EXPECT_EQ(executor.asked_, 2);  // for 8 and 4, then for 2
  ASSERT_EQ(result.sanitized.size(), 3u);
  const std::optional<WinnerRecord> recorded = Store(book_).session_winner(result.session_id);
  ASSERT_TRUE(recorded);
  const std::vector<FinalistRecord>& finalists = recorded->finalists;
  ASSERT_EQ(finalists.size(), 3u);
  EXPECT_EQ(finalists[0].sanitizer, "clean");
  EXPECT_EQ(finalists[1].sanitizer, "");
  EXPECT_EQ(finalists[2].configuration, tile(8));
  EXPECT_EQ(finalists[2].sanitizer, "memcheck: bad");
  EXPECT_DOUBLE_EQ(finalists[2].median_us, 9);
  EXPECT_FALSE(finalists[2].in_tie_set);

  SanitizingExecutor again;
  EXPECT_TRUE(run(again).from_book);
  options_.sanitize = false;
  SanitizingExecutor plain;
  const TuneResult unsanitized = run(plain);
  EXPECT_FALSE(unsanitized.from_book);
  EXPECT_EQ(unsanitized.winner->configuration, tile(8));
  EXPECT_EQ(plain.asked_, 0);
}

TEST_F(TuneExecutorTest, IfTheSanitizerRefusesAllThereIsNoWinner) {
  SanitizingExecutor executor;
  executor.faulty_ = {1, 2, 4, 8};
  options_.sanitize = true;
  EXPECT_FALSE(run(executor).winner);
}

TEST_F(TuneExecutorTest, WithoutASanitizerTheSessionIsAsWithout) {
  ScriptedExecutor executor;
  options_.sanitize = true;
  const TuneResult result = run(executor);
  EXPECT_EQ(result.sanitizer.name, "");
  EXPECT_EQ(result.sanitizer.reason, "this device runs no kernels");
  ASSERT_TRUE(result.winner);
  options_.sanitize = false;
  ScriptedExecutor again;
  EXPECT_TRUE(run(again).from_book);
}

TEST_F(TuneExecutorTest, TheBaselineIsRecordedWithItsInterval) {
  subject_.has_baseline = true;
  ScriptedExecutor executor;
  executor.baseline_ = BaselineRecord{"gemm", BaselineState::ok, "cuBLAS 13.0.2", "cublasGemmEx", "", {21, 20, 22}, {}, {}, {}};
  const TuneResult result = run(executor);
  EXPECT_TRUE(executor.asked_for_baseline_);
  ASSERT_TRUE(result.baseline);
  EXPECT_EQ(result.baseline->median_us, 21);
  EXPECT_EQ(result.baseline->ci_low_us, 20);
  EXPECT_EQ(result.baseline->ci_high_us, 22);
  EXPECT_EQ(result.baseline->method, "cold/test");
  const auto recorded = Store(book_).session_baseline(result.session_id);
  ASSERT_TRUE(recorded);
  EXPECT_EQ(recorded->process_medians_us, (std::vector<double>{21, 20, 22}));
  EXPECT_EQ(recorded->name, "cuBLAS 13.0.2");

  ScriptedExecutor again;
  const TuneResult known = run(again);
  EXPECT_TRUE(known.from_book);
  ASSERT_TRUE(known.baseline);
  EXPECT_EQ(known.baseline->median_us, 21);
}

TEST_F(TuneExecutorTest, ABaselineIsAskedForOnlyWhereThereIsOneAndItIsWanted) {
  ScriptedExecutor none;
  EXPECT_FALSE(run(none).baseline);
  EXPECT_FALSE(none.asked_for_baseline_);
  subject_.has_baseline = true;
  options_.baseline = false;
  options_.seed = 1;
  ScriptedExecutor unwanted;
  unwanted.baseline_ = BaselineRecord{"copy", BaselineState::ok, "device copy", "", "", {5}, {}, {}, {}};
  EXPECT_FALSE(run(unwanted).baseline);
  EXPECT_FALSE(unwanted.asked_for_baseline_);
  // One that failed is kept too, so that the same question finds out no more than once.
  options_.baseline = true;
  ScriptedExecutor failing;
  failing.baseline_ = BaselineRecord{"gemm", BaselineState::unavailable, "", "no cuBLAS", "", {}, {}, {}, {}};
  const TuneResult result = run(failing);
  ASSERT_TRUE(result.baseline);
  EXPECT_FALSE(result.baseline->median_us);
  EXPECT_EQ(Store(book_).session_baseline(result.session_id)->state, BaselineState::unavailable);
}

TEST_F(TuneExecutorTest, ATimeBudgetEndsAHangingSearchAndKeepsWhatIsFinished) {
  ScriptedExecutor executor;
  executor.trials_left_ = 2;
  options_.budget = Budget::parse("1s");
  const auto start = std::chrono::steady_clock::now();
  const TuneResult result = run(executor);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(900));
  EXPECT_EQ(executor.cancelled_, 1);
  EXPECT_EQ(result.measured, 2);
  EXPECT_FALSE(result.interrupted);
  ASSERT_TRUE(result.winner);
  EXPECT_EQ(result.winner->configuration, tile(2));
}

}  // namespace
}  // namespace tunebook
