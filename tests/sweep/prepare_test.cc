#include "sweep/prepare.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/template_folder.h"
#include "db/session_history.h"
#include "db/store.h"
#include "search/recording.h"
#include "session/replay_executor.h"
#include "session/tune.h"
#include "sweep_fixture.h"

namespace tunebook::testing {
namespace {

class PrepareTest : public SweepTest {
 protected:
  PrepareOptions options() const {
    PrepareOptions options;
    options.book = path("book.db");
    options.now = seconds_of_utc("2100-01-01T00:00:00Z");  // long after whatever a test records
    options.sweep_start = options.now;
    options.ask_devices = false;
    return options;
  }

  // What `tune` does for a replay item.
  void run(const SweepItem& item, std::function<bool()> stop = {}) const {
    const Recording recording = Recording::load(item.replay_path());
    ReplayExecutor executor(recording);
    TuneOptions tune_options;
    tune_options.strategy = item.settings.strategy;
    tune_options.budget = Budget::parse(item.settings.budget);
    tune_options.seed = item.settings.seed;
    tune_options.stop = std::move(stop);
    Store store(path("book.db"));
    tune(replay_subject(recording, item.shape()), recording.space(), tune_options, executor, store, {}, std::chrono::steady_clock::now());
  }

  static std::string two_recordings() {
    return R"({"tunebook": 1, "devices": "replay:recorded", "strategy": "random", "budget": 12, "freshness": {"retime": "never", "retune_after_days": "never"}, "sessions": [{"kernels": "walk"}]})";
  }
};

std::vector<Action> actions(const PreparedPlan& prepared) {
  std::vector<Action> out;
  for (const FrozenItem& frozen : prepared.plan.items) out.push_back(frozen.decision.action);
  return out;
}

TEST_F(PrepareTest, AReplayedPlanFromNeverTunedToFresh) {
  record("recorded/a", "walk", R"({"x": 64})");
  record("recorded/b", "walk", R"({"x": 128})");
  const SweepPlan read = plan(two_recordings());
  const PreparedPlan before = prepare(read, options());
  EXPECT_EQ(actions(before), (std::vector<Action>{Action::tune, Action::tune}));
  EXPECT_EQ(before.plan.plan_hash, read.hash());
  EXPECT_EQ(before.plan.shards, (std::vector<std::vector<std::size_t>>{{0, 1}}));

  run(read.items[0]);
  const PreparedPlan half = prepare(read, options());
  EXPECT_EQ(actions(half), (std::vector<Action>{Action::fresh, Action::tune}));
  EXPECT_EQ(half.plan.shards, (std::vector<std::vector<std::size_t>>{{1}}));
  EXPECT_EQ(half.plan.items[1].estimate.basis, "1 session of this kernel on this device");

  run(read.items[1], [calls = 0]() mutable { return ++calls > 30; });  // Ctrl-C
  EXPECT_EQ(actions(prepare(read, options())), (std::vector<Action>{Action::fresh, Action::go_on}));
  run(read.items[1]);
  EXPECT_EQ(actions(prepare(read, options())), (std::vector<Action>{Action::fresh, Action::fresh}));

  // An edited recording is another kernel; only its session runs.
  record("recorded/a", "walk", R"({"x": 64})");
  write("recorded/a.csv", "X,Y,time_ms,status\n1,1,0.5,ok\n2,1,0.25,ok\n");
  const PreparedPlan edited = prepare(read, options());
  EXPECT_EQ(actions(edited), (std::vector<Action>{Action::tune, Action::fresh}));
  EXPECT_EQ(edited.plan.items[0].decision.reason, "the kernel changed since it was tuned");
}

TEST_F(PrepareTest, AnItemAloneIsDecidedAlike) {
  record("recorded/a", "walk", R"({"x": 64})");
  const SweepPlan read = plan(two_recordings());
  run(read.items[0]);
  const Recording recording = Recording::load(read.items[0].replay_path());
  const ReplayExecutor executor(recording);
  const MeasuringPlace place{executor.identity().device, executor.identity().toolchain, executor.identity().method};
  EXPECT_EQ(prepare_item(read.items[0], recording.content_hash(), place, options()), prepare(read, options()).plan.items[0]);
}

// A device that is not asked is what the book saw last.
TEST_F(PrepareTest, WithoutAskingTheBookTells) {
  const SweepPlan read = plan(R"({"tunebook": 1, "devices": "cuda", "sessions": [{"kernels": "add", "shapes": ["4096", "8192"]}]})");
  const PreparedPlan nothing = prepare(read, options());
  EXPECT_EQ(actions(nothing), (std::vector<Action>{Action::tune, Action::tune}));
  ASSERT_EQ(nothing.notes.size(), 1U);
  EXPECT_EQ(nothing.notes[0], "cuda was not asked what it is; the book knows no device of this kind either");

  TrialContext context;
  context.kernel = "add";
  context.kernel_hash = load_template(path("templates/add")).hash;
  context.kernel_spec = {{"kernel", "add"}};
  context.device = gpu();
  context.toolchain = "nvrtc 13.0; driver 580.1";
  context.method = "cold/2";
  {
    Store store(path("book.db"));
    SessionRecord proposed;
    proposed.problem = add_problem(4096);
    proposed.strategy = "auto";
    proposed.budget = "200";
    proposed.identity = {{"objective", "time"}};
    const SessionRecord opened = store.open_session(context, proposed, false);
    WinnerRecord winner;
    winner.session_id = opened.id;
    winner.configuration.set("BLOCK", std::int64_t{64});
    winner.median_us = winner.ci_low_us = winner.ci_high_us = 50;
    store.record_winner(context, proposed.problem, winner);
    store.finish_session(opened.id, 12.5);
  }
  const PreparedPlan known = prepare(read, options());
  ASSERT_EQ(known.notes.size(), 1U);
  EXPECT_NE(known.notes[0].find("it is taken to be the device of the book's newest session: GPU, nvrtc 13.0; driver 580.1"), std::string::npos);
  EXPECT_EQ(known.plan.items[0].decision.reason.find("tuned "), 0U);
  EXPECT_EQ(known.plan.items[0].decision.action, Action::tune);  // decades ago
  EXPECT_TRUE(known.plan.items[0].decision.remeasure);
  EXPECT_EQ(known.plan.items[1].decision.reason, "never tuned");
  PrepareOptions soon = options();
  soon.now = soon.sweep_start = *read_session_history(soon.book).sessions.at(0).finished + 60;
  EXPECT_EQ(prepare(read, soon).plan.items[0].decision.action, Action::retime);
}

TEST_F(PrepareTest, ABookThatIsNone) {
  write("book.db", "no book");
  record("recorded/a", "walk", R"({"x": 64})");
  EXPECT_THROW(prepare(plan(two_recordings()), options()), InputError);
}

}  // namespace
}  // namespace tunebook::testing
