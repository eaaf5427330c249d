// What a sweep tells at its end, and its exit code.
#include "sweep/summary.h"

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "sweep/lost_results.h"
#include "sweep/session_outcome.h"
#include "sweep_samples.h"

namespace tunebook {
namespace {

TEST(LostResults, AreThoseWhoseSessionTheBookDoesNotHave) {
  FrozenPlan plan = test::sample_plan(4);
  SweepState state = SweepState::begin(plan, test::all_of(plan), 1.8e9);
  for (std::size_t i = 0; i < 3; ++i) {
    state.items[i].status = i == 1 ? ItemStatus::cut : ItemStatus::done;
    state.items[i].result = {{"session", "s" + std::to_string(i)}};
  }
  SessionHistory book;
  for (const char* id : {"s0", "s1", "s2", "another"}) book.sessions.emplace_back().id = id;
  EXPECT_EQ(note_lost_results(state, book), 0u);
  EXPECT_EQ(state.items[1].status, ItemStatus::cut);
  book.sessions.erase(book.sessions.begin(), book.sessions.begin() + 2);
  EXPECT_EQ(note_lost_results(state, book), 2u);
  EXPECT_EQ(state.items[0].status, ItemStatus::failed);
  EXPECT_EQ(state.items[1].status, ItemStatus::failed);
  EXPECT_EQ(state.items[2].status, ItemStatus::done);
  EXPECT_EQ(state.items[3].status, ItemStatus::pending);
  EXPECT_EQ(sweep_exit_code(state, SweepEnd::complete), 1);
}

// A session whose winner has three processes of about this time.
nlohmann::ordered_json result(double before_us, double now_us) {
  const auto winner = [](double us) {
    return nlohmann::ordered_json{{"median_us", us}, {"process_medians_us", {us, 1.001 * us, 0.999 * us}}, {"configuration", {{"BM", 32}}}};
  };
  nlohmann::ordered_json json = {{"session", "s"}, {"winner", winner(now_us)}, {"previous", nullptr}, {"wall_s", 2}};
  if (before_us > 0) json["previous"] = winner(before_us);
  return json;
}

SweepState finished() {
  FrozenPlan plan = test::sample_plan(3);
  SweepState state = SweepState::begin(plan, {0, 1, 2}, 1.8e9);
  for (ItemState& item : state.items) {
    item.status = ItemStatus::done;
    item.result = result(0, 100);
  }
  return state;
}

TEST(SweepSummary, AllDoneIsZero) { EXPECT_EQ(sweep_exit_code(finished(), SweepEnd::complete), 0); }

TEST(SweepSummary, TimeThatDoesNotSufficeIsNoFailure) {
  SweepState state = finished();
  state.items[2].status = ItemStatus::no_time;
  EXPECT_EQ(sweep_exit_code(state, SweepEnd::deadline), 0);
}

TEST(SweepSummary, ASlowerWinnerIsThree) {
  SweepState state = finished();
  state.items[1].result = result(100, 103);
  state.items[2].result = result(100, 101);
  EXPECT_EQ(sweep_exit_code(state, SweepEnd::complete), 3);
  const auto json = summary_json(state, SweepEnd::complete, "book.db", "2027-01-15T09:00:00Z");
  EXPECT_EQ(json["exit_code"], 3);
  EXPECT_EQ(json["verdicts"], (nlohmann::ordered_json{{"regression", 1}, {"improvement", 0}, {"unchanged", 1}, {"inconclusive", 0}}));
  ASSERT_EQ(json["regressions"].size(), 1u);
  EXPECT_EQ(json["regressions"][0]["item"], "matmul n=2 on cpu");
  EXPECT_NEAR(json["regressions"][0]["change"].get<double>(), 0.03, 1e-12);
  EXPECT_EQ(json["results"][1]["comparison"], json["regressions"][0]);
  EXPECT_EQ(json["results"][2]["comparison"]["verdict"], "unchanged");
  EXPECT_TRUE(json["results"][0]["comparison"].is_null());
  const std::string text = summary_text(state, SweepEnd::complete);
  EXPECT_NE(text.find("slower than before: matmul n=2 on cpu: 103 us, before 100 us, +3.0 %: "), std::string::npos) << text;
}

TEST(SweepSummary, WhatIsInconclusiveIsToldAndNoFailure) {
  SweepState state = finished();
  state.items[1].result = result(100, 150);
  for (const char* side : {"previous", "winner"}) {
    auto& winner = state.items[1].result[side];
    winner["process_medians_us"] = nlohmann::ordered_json::array({winner["median_us"]});
  }
  EXPECT_EQ(sweep_exit_code(state, SweepEnd::complete), 0);
  const auto json = summary_json(state, SweepEnd::complete, "b", "e");
  EXPECT_TRUE(json["regressions"].empty());
  ASSERT_EQ(json["inconclusive"].size(), 1u);
  EXPECT_EQ(json["inconclusive"][0]["processes"], (nlohmann::ordered_json{1, 1}));
  EXPECT_EQ(json["inconclusive"][0]["why"], "never tuned");
  const std::string text = summary_text(state, SweepEnd::complete);
  EXPECT_NE(text.find("perhaps slower than before: matmul n=2 on cpu: 150 us, before 100 us, +50.0 %: the base was timed in one process only"),
            std::string::npos)
      << text;
}

// What tuner/sweep/sweeping.md describes, and nothing else.
TEST(SweepSummary, ItsMembersAreThoseOfItsDescription) {
  const std::string path = std::string(TUNEBOOK_SOURCE_DIR) + "/tuner/sweep/sweeping.md";
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t begin = text.find("## The summary");
  ASSERT_NE(begin, std::string::npos);
  const std::string description = text.substr(begin);
  SweepState state = finished();
  state.items[1].result = result(100, 103);
  state.devices["cpu"] = {"cpu", 2, 10, 6, 12, ""};
  const auto json = summary_json(state, SweepEnd::complete, "b", "e");
  const auto expect_described = [&](const nlohmann::ordered_json& object) {
    for (const auto& [name, value] : object.items()) EXPECT_NE(description.find('`' + name + '`'), std::string::npos) << name;
  };
  expect_described(json);
  expect_described(json["items"]);
  expect_described(json["devices"][0]);
  expect_described(json["verdicts"]);
  expect_described(json["regressions"][0]);
  expect_described(json["results"][0]);
}

TEST(SweepSummary, WhatWasBegunAndInterruptedIsNotCalledNotBegun) {
  SweepState state = finished();
  state.items[1].status = ItemStatus::interrupted;
  state.items[1].reason = "asked to end after 40 s; its trials are kept";
  state.items[1].result = nullptr;
  state.items[2].status = ItemStatus::pending;
  state.items[2].result = nullptr;
  const std::string text = summary_text(state, SweepEnd::interrupted);
  EXPECT_NE(text.find("of 3 sessions 1 done, 1 begun and interrupted, 1 not begun\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  begun and interrupted: matmul n=2 on cpu: asked to end after 40 s"), std::string::npos) << text;
  EXPECT_EQ(sweep_exit_code(state, SweepEnd::deadline), 0);
  EXPECT_EQ(summary_json(state, SweepEnd::deadline, "b", "e")["items"]["interrupted"], 1);
}

TEST(SweepSummary, WhatCouldNotBeRunIsOne) {
  for (const ItemStatus status : {ItemStatus::failed, ItemStatus::no_winner, ItemStatus::no_device, ItemStatus::no_room}) {
    SweepState state = finished();
    state.items[0].result = result(100, 200);  // and a regression
    state.items[1].status = status;
    state.items[1].result = nullptr;
    EXPECT_EQ(sweep_exit_code(state, SweepEnd::complete), 1) << item_status_name(status);
    EXPECT_EQ(with_verdict(compare_nights(state), reports::Verdict::regression).size(), 1u);
  }
  EXPECT_EQ(sweep_exit_code(finished(), SweepEnd::interrupted), 1);
}

TEST(SweepSummary, CountsAndBusyShare) {
  SweepState state = finished();
  state.items[0].status = ItemStatus::fresh;
  state.items[0].result = nullptr;
  state.devices["cpu"] = {"cpu", 2, 10, 6, 12, ""};
  const auto json = summary_json(state, SweepEnd::complete, "b", "e");
  EXPECT_EQ(json["items"]["all"], 3);
  EXPECT_EQ(json["items"]["done"], 2);
  EXPECT_EQ(json["items"]["fresh"], 1);
  EXPECT_EQ(json["devices"][0]["busy_share"], 0.5);
  EXPECT_EQ(json["results"].size(), 3u);
  EXPECT_TRUE(json["results"][0]["winner"].is_null());
  EXPECT_EQ(json["results"][1]["winner"]["median_us"], 100);
}

TEST(SessionOutcome, EndsAreToldApart) {
  using Kind = SessionOutcome::Kind;
  const auto outcome = [](int code, const std::string& out, const std::string& error, const std::string& stage, int signal = 0) {
    return session_outcome({code, signal, "", out, error, stage}, "/tmp/book.db");
  };
  EXPECT_EQ(outcome(0, "{\"session\":\"a\",\"winner\":null}\n", "", "session").kind, Kind::finished);
  EXPECT_EQ(outcome(3, "", "no winner stands\n", "session").kind, Kind::nothing_stands);
  const SessionOutcome bad = outcome(2, "", "note: x\ntunebook: unknown kernel \"y\"\n", "template");
  EXPECT_EQ(bad.kind, Kind::bad_input);
  EXPECT_EQ(bad.message, "unknown kernel \"y\"");
  EXPECT_EQ(outcome(2, "", "tunebook: device cuda:0 cannot be used: gone\n", "device").kind, Kind::no_device);
  EXPECT_EQ(outcome(1, "", "tunebook: book b.db: the disk is full\n", "session").kind, Kind::no_room);
  const SessionOutcome killed = outcome(-1, "", "", "session", 9);
  EXPECT_EQ(killed.kind, Kind::lost);
  EXPECT_EQ(killed.message, "the session was killed by signal 9 (Killed)");
  EXPECT_EQ(outcome(0, "{\"half\":", "", "session").kind, Kind::lost);
}

}  // namespace
}  // namespace tunebook
