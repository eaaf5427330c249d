// What a sweep tells at its end, and its exit code.
#include "sweep/summary.h"

#include <gtest/gtest.h>

#include "sweep/session_outcome.h"
#include "sweep_samples.h"

namespace tunebook {
namespace {

nlohmann::ordered_json result(double before_us, double now_us) {
  nlohmann::ordered_json json = {{"session", "s"}, {"winner", {{"median_us", now_us}, {"process_medians_us", {now_us}}}}, {"previous", nullptr}, {"wall_s", 2}};
  if (before_us > 0) json["previous"] = {{"median_us", before_us}, {"process_medians_us", {before_us}}};
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
  ASSERT_EQ(regressions(state).size(), 1u);
  const auto json = summary_json(state, SweepEnd::complete, "book.db", "2027-01-15T09:00:00Z");
  EXPECT_EQ(json["exit_code"], 3);
  EXPECT_EQ(json["regressions"][0]["item"], "matmul n=2 on cpu");
  EXPECT_DOUBLE_EQ(json["regressions"][0]["ratio"].get<double>(), 1.03);
  EXPECT_NE(summary_text(state, SweepEnd::complete).find("slower than before: matmul n=2 on cpu: 103 us, before 100 us: +3.0 %, beyond 2.0 %"),
            std::string::npos)
      << summary_text(state, SweepEnd::complete);
}

TEST(SweepSummary, WhatCouldNotBeRunIsOne) {
  for (const ItemStatus status : {ItemStatus::failed, ItemStatus::no_winner, ItemStatus::no_device, ItemStatus::no_room}) {
    SweepState state = finished();
    state.items[0].result = result(100, 200);  // and a regression
    state.items[1].status = status;
    state.items[1].result = nullptr;
    EXPECT_EQ(sweep_exit_code(state, SweepEnd::complete), 1) << item_status_name(status);
    EXPECT_EQ(regressions(state).size(), 1u);
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
