// Sessions over recordings: budgets, resuming, determinism, the order in which a strategy is told.
#include "session/tune.h"

#include <unistd.h>

#include <filesystem>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"
#include "session/book_seeds.h"
#include "session/replay_executor.h"
#include "support/synthetic_recording.h"

namespace tunebook {
namespace {

class TuneTest : public ::testing::Test {
 protected:
  TuneTest() : folder_(std::filesystem::temp_directory_path() / ("tunebook_tune_" + std::to_string(getpid()) + "_" +
                                                                 ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    recording_.emplace(Recording::load(test::write_synthetic_recording(folder_, "made_up", 7, 600)));
    space_.emplace(recording_->space());
    subject_ = replay_subject(*recording_, "");
    options_.budget = Budget::parse("100");
    options_.seed = 3;
  }
  ~TuneTest() override { std::filesystem::remove_all(folder_); }

  TuneResult run(const std::string& book = "book.db", const TuneObserver& observer = {}) {
    ReplayExecutor executor(*recording_);
    Store store(folder_ / book);
    return tune(subject_, *space_, options_, executor, store, observer, std::chrono::steady_clock::now());
  }
  static std::int64_t total(const TuneResult& result) {
    std::int64_t sum = 0;
    for (const auto& [outcome, count] : result.outcomes) sum += count;
    return sum;
  }
  double best_recorded() const {
    double best = 1e300;
    for (std::uint64_t i = 0; i < recording_->size(); ++i) {
      const auto entry = recording_->entry(i);
      if (entry.outcome == Outcome::ok && entry.time_us) best = std::min(best, *entry.time_us);
    }
    return best;
  }

  std::filesystem::path folder_;
  std::optional<Recording> recording_;
  std::optional<SearchSpace> space_;
  TuneSubject subject_;
  TuneOptions options_;
};

TEST_F(TuneTest, ExhaustiveFindsTheBestAndCountsEveryOutcome) {
  options_.strategy = "exhaustive";
  options_.budget = Budget::parse("all");
  const TuneResult result = run();
  EXPECT_EQ(total(result), 600);
  EXPECT_EQ(result.measured, 600);
  ASSERT_TRUE(result.winner);
  EXPECT_DOUBLE_EQ(result.winner->median_us, best_recorded());
  std::int64_t failures = 0;
  for (std::uint64_t i = 0; i < recording_->size(); ++i) failures += has_time(recording_->entry(i).outcome) ? 0 : 1;
  EXPECT_GT(failures, 0);
  EXPECT_EQ(total(result) - result.outcomes.at(Outcome::ok), failures);
}

TEST_F(TuneTest, BudgetInTrialsAndShareIsMetExactly) {
  EXPECT_EQ(total(run("a.db")), 100);
  options_.budget = Budget::parse("5%");
  EXPECT_EQ(total(run("b.db")), 30);
  options_.budget = Budget::parse("100000");
  EXPECT_EQ(total(run("c.db")), 600);  // ends with the space
}

TEST_F(TuneTest, TheSameCommandAgainMeasuresNothing) {
  const TuneResult first = run();
  const TuneResult second = run();
  EXPECT_EQ(first.measured, 100);
  EXPECT_TRUE(second.from_book);
  EXPECT_EQ(second.measured, 0);
  EXPECT_EQ(second.session_id, first.session_id);
  EXPECT_EQ(second.outcomes, first.outcomes);
  ASSERT_TRUE(second.winner);
  EXPECT_EQ(second.winner->configuration, first.winner->configuration);
  EXPECT_DOUBLE_EQ(second.winner->median_us, first.winner->median_us);

  options_.remeasure = true;
  const TuneResult third = run();
  EXPECT_EQ(third.measured, 101);  // the standing winner comes first, outside the budget
  EXPECT_NE(third.session_id, first.session_id);
}

TEST_F(TuneTest, AnotherSessionTakesKnownTrialsFromTheBook) {
  options_.strategy = "exhaustive";
  options_.budget = Budget::parse("all");
  run();
  options_.strategy = "random";
  options_.budget = Budget::parse("50");
  const TuneResult result = run();
  EXPECT_FALSE(result.from_book);
  EXPECT_EQ(result.measured, 0);
  EXPECT_EQ(result.proposals, 50);  // they count towards the budget
}

TEST_F(TuneTest, SameSeedSameSessionAnotherSeedAnother) {
  const TuneResult a = run("a.db"), b = run("b.db");
  const auto proposals = [&](const std::string& book, const std::string& session) {
    std::vector<std::string> list;
    for (const TrialRecord& trial : Store(folder_ / book).session_trials(session)) list.push_back(trial.configuration.canonical());
    return list;
  };
  const auto first = proposals("a.db", a.session_id);
  EXPECT_EQ(first, proposals("b.db", b.session_id));
  EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(), 100u);
  options_.seed = 4;
  EXPECT_NE(first, proposals("c.db", run("c.db").session_id));
}

TEST_F(TuneTest, AnInterruptedSessionGoesOnWhereItStopped) {
  const TuneResult undisturbed = run("whole.db");
  std::int64_t seen = 0;
  bool stop = false;
  TuneObserver observer;
  observer.trial = [&](const TrialRecord&) { stop = ++seen >= 37; };
  options_.stop = [&] { return stop; };
  const TuneResult first = run("parts.db", observer);
  EXPECT_TRUE(first.interrupted);
  EXPECT_EQ(first.measured, 37);

  stop = false;
  options_.stop = nullptr;
  const TuneResult second = run("parts.db");
  EXPECT_EQ(second.session_id, first.session_id);
  EXPECT_EQ(second.measured, 63);
  EXPECT_EQ(second.outcomes, undisturbed.outcomes);
  ASSERT_TRUE(second.winner && undisturbed.winner);
  EXPECT_EQ(second.winner->configuration, undisturbed.winner->configuration);
  EXPECT_EQ(Store(folder_ / "parts.db").session_trials(second.session_id).size(), 100u);
}

// Many trials at once, which end in a random order.
class ManyAtOnceExecutor : public ReplayExecutor {
 public:
  ManyAtOnceExecutor(const Recording& recording, std::uint64_t seed) : ReplayExecutor(recording), random_(seed) {}
  void on_done(Done done) override {
    deliver_ = std::move(done);
    ReplayExecutor::on_done([this](TrialRecord record) { ended_.push_back(std::move(record)); });
  }
  std::size_t proposals_in_flight() const override { return 64; }
  bool run_until(const std::function<bool()>& finished, double) override {
    while (!finished()) {
      ReplayExecutor::run_until([] { return false; }, -1);
      if (ended_.empty()) return false;
      const auto next = ended_.begin() + static_cast<std::ptrdiff_t>(random_.below(ended_.size()));
      TrialRecord record = std::move(*next);
      ended_.erase(next);
      deliver_(std::move(record));
    }
    return true;
  }
  void cancel() override {
    ended_.clear();
    ReplayExecutor::cancel();
  }

 private:
  Random random_;
  Done deliver_;
  std::vector<TrialRecord> ended_;
};

TEST_F(TuneTest, WhatIsProposedDependsOnOutcomesNotOnWhenTheyCome) {
  for (const char* strategy : {"auto", "surrogate", "genetic", "local_search", "differential_evolution"}) {
    options_.strategy = strategy;
    const auto session = [&](const std::string& book, std::uint64_t seed, std::int64_t stop_after) {
      std::int64_t seen = 0;
      TuneObserver observer;
      observer.trial = [&](const TrialRecord& trial) { seen += trial.reused ? 0 : 1; };
      options_.stop = [&] { return stop_after > 0 && seen >= stop_after; };
      ManyAtOnceExecutor executor(*recording_, seed);
      Store store(folder_ / (strategy + book));
      const TuneResult result = tune(subject_, *space_, options_, executor, store, observer, std::chrono::steady_clock::now());
      options_.stop = nullptr;
      std::vector<std::string> trials;
      for (const TrialRecord& trial : store.session_trials(result.session_id)) {
        trials.push_back(std::to_string(trial.order) + " " + trial.configuration.canonical());
      }
      return trials;
    };
    const auto whole = session("whole.db", 1, 0);
    EXPECT_EQ(whole.size(), 100u) << strategy;
    EXPECT_EQ(session("other.db", 2, 0), whole) << strategy;
    for (std::uint64_t part = 0; part < 4; ++part) session("parts.db", 10 + part, 17);
    EXPECT_EQ(session("parts.db", 20, 0), whole) << strategy;
  }
}

TEST_F(TuneTest, PresetsComeFirstOutsideTheBudget) {
  subject_.presets = {{"first", space_->configuration(11)}, {"same", space_->configuration(11)}, {"second", space_->configuration(12)}};
  const TuneResult result = run();
  EXPECT_EQ(total(result), 102);
  EXPECT_EQ(result.proposals, 100);
  ASSERT_EQ(result.presets.size(), 3u);  // two names of one configuration both have its result
  const auto trials = Store(folder_ / "book.db").session_trials(result.session_id);
  EXPECT_EQ(trials[0].origin, "preset:first");
  EXPECT_EQ(trials[1].origin, "preset:second");
  EXPECT_EQ(trials[2].origin, "strategy");

  const TuneResult again = run();
  EXPECT_TRUE(again.from_book);
  EXPECT_EQ(again.presets.size(), 3u);
}

TEST_F(TuneTest, TimeBudgetEndsAndKeepsWhatIsFinished) {
  options_.budget = Budget::parse("60s");
  const TuneResult result = run();
  EXPECT_EQ(total(result), 600);  // the space is exhausted first
  EXPECT_TRUE(result.winner);
}

TEST_F(TuneTest, WhereNarrowsTheSpaceAndIsPartOfTheSession) {
  const std::string name = space_->parameters().front().name;
  const std::string where = name + " == " + to_text(space_->parameters().front().values.front());
  options_.where = {where};
  space_.emplace(recording_->space(options_.where));
  ASSERT_GT(space_->size(), 0u);
  ASSERT_LT(space_->size(), 600u);
  options_.budget = Budget::parse("all");
  const TuneResult result = run();
  EXPECT_EQ(total(result), static_cast<std::int64_t>(space_->size()));
}

// A session that its time limit cuts goes on later as the one that it would have been; what it had found is a winner meanwhile.
TEST_F(TuneTest, ACutSessionHasAWinnerAndGoesOn) {
  const TuneResult undisturbed = run("whole.db");
  // A recording takes no time: the limit is waited for after so many trials.
  constexpr std::int64_t kTrials = 37;
  options_.time_limit_s = 1;
  const auto start = std::chrono::steady_clock::now();
  std::int64_t seen = 0;
  TuneObserver observer;
  observer.trial = [&](const TrialRecord&) {
    if (++seen == kTrials) std::this_thread::sleep_until(start + std::chrono::duration<double>(options_.time_limit_s));
  };
  TuneResult cut;
  {
    ReplayExecutor executor(*recording_);
    Store store(folder_ / "cut.db");
    cut = tune(subject_, *space_, options_, executor, store, observer, start);
  }
  ASSERT_TRUE(cut.cut);
  EXPECT_FALSE(cut.interrupted);
  EXPECT_LE(cut.measured, kTrials);
  ASSERT_TRUE(cut.winner);
  EXPECT_NE(cut.winner->session_id, cut.session_id);
  Store store(folder_ / "cut.db");
  EXPECT_EQ(store.check().sessions, 2);
  EXPECT_EQ(store.kernel_winners(subject_.kernel, "time").size(), 1u);  // a lookup has it

  options_.time_limit_s = 0;
  const TuneResult whole = run("cut.db");
  EXPECT_FALSE(whole.cut);
  EXPECT_EQ(whole.session_id, cut.session_id);
  EXPECT_EQ(whole.measured, 100 - cut.measured);
  EXPECT_EQ(whole.outcomes, undisturbed.outcomes);
  ASSERT_TRUE(whole.winner && whole.previous);
  EXPECT_EQ(whole.previous->session_id, cut.winner->session_id);
  EXPECT_EQ(whole.winner->configuration, undisturbed.winner->configuration);
  EXPECT_LE(whole.winner->median_us, cut.winner->median_us);
}

TEST_F(TuneTest, TimedAnewIsOnlyTheStandingWinner) {
  options_.retime = true;
  EXPECT_TRUE(run().no_standing_winner);
  options_.retime = false;
  subject_.presets = {{"default", space_->configuration(11)}, {"other", space_->configuration(12)}};
  const TuneResult first = run();
  options_.retime = true;
  const TuneResult again = run();
  EXPECT_EQ(again.measured, 2);
  EXPECT_NE(again.session_id, first.session_id);
  ASSERT_TRUE(again.winner && again.previous);
  EXPECT_EQ(again.winner->configuration, first.winner->configuration);
  EXPECT_EQ(again.previous->session_id, first.session_id);
  const auto trials = Store(folder_ / "book.db").session_trials(again.session_id);
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[0].origin, "preset:default");
  EXPECT_EQ(trials[1].origin, "standing_winner");
  EXPECT_FALSE(trials[1].reused);

  // Every time anew, but for what the same sweep has done already.
  EXPECT_NE(run().session_id, again.session_id);
  options_.sweep_start_utc = "2020-01-01T00:00:00.000000Z";
  const TuneResult answered = run();
  EXPECT_TRUE(answered.from_book);
  options_.sweep_start_utc = "9999-01-01T00:00:00.000000Z";
  EXPECT_EQ(run().measured, 2);
}

TEST_F(TuneTest, MeasuredAnewOnceInASweep) {
  run();
  options_.remeasure = true;
  options_.sweep_start_utc = "2020-01-01T00:00:00.000000Z";
  EXPECT_TRUE(run().from_book);
  options_.sweep_start_utc = "9999-01-01T00:00:00.000000Z";
  EXPECT_EQ(run().measured, 101);
}

// A session that began before another one found a better winner must not hide that one when it ends.
TEST_F(TuneTest, ASessionThatIsTakenUpKnowsTheWinnerThatCameMeanwhile) {
  std::int64_t seen = 0;
  bool stop = false;
  TuneObserver observer;
  observer.trial = [&](const TrialRecord&) { stop = ++seen >= 5; };
  options_.budget = Budget::parse("10");
  options_.strategy = "random";
  options_.stop = [&] { return stop; };
  const TuneResult begun = run("book.db", observer);
  ASSERT_TRUE(begun.interrupted);
  stop = false;
  options_.stop = nullptr;

  const TuneOptions small = options_;
  options_.strategy = "exhaustive";
  options_.budget = Budget::parse("all");
  const TuneResult best = run();
  options_ = small;
  const TuneResult ended = run();
  EXPECT_EQ(ended.session_id, begun.session_id);
  ASSERT_TRUE(ended.winner && best.winner);
  EXPECT_EQ(ended.winner->configuration, best.winner->configuration);
  EXPECT_EQ(ended.proposals, 10);
}

TEST_F(TuneTest, WinnersOfOtherDevicesCountOnlyFromBeforeTheSweep) {
  run();
  Recording& other = recording_.emplace(Recording::load(test::write_synthetic_recording(folder_, "second", 8, 600)));
  subject_ = replay_subject(other, "");
  const auto seeds = [&](const std::string& since) {
    TrialContext context;
    context.kernel = subject_.kernel;
    context.device = other.device();
    context.device.name = "another";
    Store store(folder_ / "book.db");
    return related_winners(store, context, subject_.problem, *space_, "time", since).size();
  };
  EXPECT_EQ(seeds(""), 1u);
  EXPECT_EQ(seeds("9999-01-01T00:00:00.000000Z"), 1u);
  EXPECT_EQ(seeds("2020-01-01T00:00:00.000000Z"), 0u);
}

TEST_F(TuneTest, SeedsAreKeptAsTextAndTextsOfEarlierBooksAreRead) {
  BookSeeds seeds;
  EXPECT_EQ(seeds.to_text(), "");
  seeds.standing_winner = space_->configuration(3);
  EXPECT_EQ(seeds.to_text(), space_->configuration(3).canonical());
  seeds.others = {{space_->configuration(5), true}, {space_->configuration(8), false}};
  for (int standing = 0; standing < 2; ++standing) {
    const BookSeeds again = BookSeeds::from_text(seeds.to_text());
    EXPECT_EQ(again.standing_winner, seeds.standing_winner);
    EXPECT_EQ(again.others, seeds.others);
    seeds.standing_winner.reset();
  }
  const BookSeeds earlier =
      BookSeeds::from_text("[null," + space_->configuration(8).canonical() + "]");
  EXPECT_EQ(earlier.others, (std::vector<BookSeed>{{space_->configuration(8), false}}));
  // A parameter may have that name.
  const BookSeeds named = BookSeeds::from_text(R"([null,{"predicted":4}])");
  EXPECT_EQ(named.others.at(0).configuration.canonical(), R"({"predicted":4})");
  EXPECT_FALSE(named.others.at(0).predicted);
}

TEST_F(TuneTest, TwoPredictedOnesAndOneWinnerTakeTurns) {
  const auto list = [&](std::initializer_list<std::uint64_t> indices) {
    std::vector<Configuration> configurations;
    for (const std::uint64_t index : indices)
      configurations.push_back(space_->configuration(index));
    return configurations;
  };
  const auto mixed = [&](const std::vector<Configuration>& predicted,
                         const std::vector<Configuration>& winners, std::size_t limit) {
    std::string text;
    for (const BookSeed& seed : mixed_seeds(predicted, winners, limit)) {
      text +=
          (seed.predicted ? "p" : "w") + std::to_string(*space_->find(seed.configuration)) + " ";
    }
    return text;
  };
  EXPECT_EQ(mixed(list({1, 2, 3, 4}), list({11, 12}), 9), "p1 p2 w11 p3 p4 w12 ");
  EXPECT_EQ(mixed(list({1, 2, 3, 4}), list({11, 12}), 4), "p1 p2 w11 p3 ");
  EXPECT_EQ(mixed(list({1}), list({11, 12}), 9), "p1 w11 w12 ");
  EXPECT_EQ(mixed(list({1, 2, 3, 4}), {}, 9), "p1 p2 p3 p4 ");
  EXPECT_EQ(mixed({}, list({11, 12}), 9), "w11 w12 ");
  EXPECT_EQ(mixed(list({1, 2, 3}), list({2, 12}), 9), "p1 p2 p3 w12 ") << "each once";
  EXPECT_EQ(mixed({}, {}, 9), "");

  EXPECT_EQ(predicted_trials(80), 24u);
  EXPECT_EQ(predicted_trials(1), 3u);
  EXPECT_EQ(predicted_trials(40), 12u);
  EXPECT_EQ(predicted_trials(UINT64_MAX), 24u);
}

TEST_F(TuneTest, ASessionBeginsWithWhatIsPredictedAndKeepsIt) {
  int asked = 0;
  std::uint64_t first = 100;
  options_.adviser = [&](const SearchSpace& space, std::size_t count) {
    ++asked;
    std::vector<Configuration> configurations;
    for (std::uint64_t i = 0; i < count; ++i)
      configurations.push_back(space.configuration(first + i));
    return configurations;
  };
  options_.budget = Budget::parse("30");
  bool stop = false;
  TuneObserver observer;
  observer.trial = [&](const TrialRecord& trial) { stop = trial.order >= 4; };
  options_.stop = [&] { return stop; };
  const TuneResult begun = run("book.db", observer);
  EXPECT_TRUE(begun.interrupted);
  EXPECT_EQ(asked, 1);

  options_.stop = nullptr;
  first = 300;  // the model has changed, this session has not
  const TuneResult result = run();
  EXPECT_EQ(result.session_id, begun.session_id);
  EXPECT_EQ(asked, 1) << "what the session keeps is not asked for";
  EXPECT_EQ(result.predicted_trials, 9);
  EXPECT_EQ(result.from_book_trials, 9);
  EXPECT_EQ(result.proposals, 30);
  const auto trials = Store(folder_ / "book.db").session_trials(result.session_id);
  for (std::uint64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(trials.at(i).configuration, space_->configuration(100 + i));
    EXPECT_EQ(trials.at(i).origin, "predicted");
  }
  EXPECT_EQ(trials.at(9).origin, "strategy");

  options_.from_book = false;
  EXPECT_EQ(run().predicted_trials, 0);
  EXPECT_EQ(asked, 1);
}

TEST_F(TuneTest, ABudgetOfPredictedOnesAloneLeavesThePresetsOut) {
  options_.adviser = [&](const SearchSpace& space, std::size_t count) {
    std::vector<Configuration> configurations;
    for (std::uint64_t i = 0; i < count; ++i)
      configurations.push_back(space.configuration(100 + i));
    return configurations;
  };
  subject_.presets = {{"naive", space_->configuration(11)}, {"default", space_->configuration(12)}};
  options_.budget = Budget::parse("3");
  options_.predicted = 3;
  const TuneResult result = run();
  const auto trials = Store(folder_ / "book.db").session_trials(result.session_id);
  ASSERT_EQ(trials.size(), 4u);
  EXPECT_EQ(trials[0].origin, "preset:default");
  for (std::uint64_t i = 0; i < 3; ++i)
    EXPECT_EQ(trials[i + 1].configuration, space_->configuration(100 + i));

  options_.budget = Budget::parse("4");
  const TuneResult longer = run();
  EXPECT_NE(longer.session_id, result.session_id);
  EXPECT_EQ(longer.presets.size(), 2u);
  EXPECT_EQ(longer.predicted_trials, 3);

  options_.predicted = 0;
  const TuneResult mixed = run();
  EXPECT_NE(mixed.session_id, longer.session_id) << "another session";
}

TEST_F(TuneTest, AnotherProblemThanTheRecordedOneIsRefused) {
  EXPECT_THROW(replay_subject(*recording_, "n=12345"), InputError);
}

}  // namespace
}  // namespace tunebook
