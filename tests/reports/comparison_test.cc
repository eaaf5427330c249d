#include "reports/comparison.h"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"
#include "reports/gate.h"
#include "reports/text.h"

namespace tunebook::reports {
namespace {

std::vector<double> ten(double time_us) {
  std::vector<double> times;
  for (int i = 0; i < 10; ++i) times.push_back(time_us * (1 + 0.001 * ((7 * i) % 10 - 4.5)));
  return times;
}

Problem problem(std::int64_t n) {
  Problem problem;
  problem.set("n", n);
  return problem;
}

Configuration configuration(std::int64_t block) {
  Configuration configuration;
  configuration.set("BLOCK", block);
  configuration.set("ITEMS", std::int64_t{4});
  return configuration;
}

Item item(std::int64_t n, const std::vector<double>& process_medians_us, std::int64_t block = 128) {
  Item item;
  item.key = {.kernel = "copy", .problem = problem(n), .device = "H200", .device_key = "{H200}", .device_kind = "cuda", .method = "cold/2",
              .objective = "time"};
  static int sessions = 0;
  item.session_id = "s" + std::to_string(++sessions);  // no two sides are of one session
  item.kernel_hash = "k1";
  item.environment = {{"GPU", "H200"}, {"driver", "580.1"}, {"toolkit", "nvrtc 13.0"}, {"clocks", "not locked"}, {"application sm clock mhz", "1980.0"},
                      {"host", "a"}};
  if (!process_medians_us.empty()) {
    ConfigurationRow winner;
    winner.configuration = configuration(block);
    winner.winner = true;
    winner.process_medians_us = process_medians_us;
    winner.time = TimeEstimate{process_medians_us[0], process_medians_us[0], process_medians_us[0]};
    item.winner = winner;
  }
  return item;
}

Report report(std::vector<Item> items, const std::string& label = "book.db") {
  Report report;
  report.side.label = label;
  report.items = std::move(items);
  return report;
}

const ComparedItem& of_shape(const Comparison& comparison, std::int64_t n) {
  for (const ComparedItem& compared : comparison.items) {
    if (compared.key.problem == problem(n)) return compared;
  }
  throw std::out_of_range("no such item");
}

TEST(Comparison, VerdictsOrderAndExitCode) {
  const Report base = report({item(1, ten(100)), item(2, ten(50)), item(3, ten(10)), item(4, ten(7)), item(5, ten(5)), item(6, ten(3))}, "old.db");
  const Report candidate =
      report({item(7, ten(1)), item(6, {2, 3, 5}), item(5, ten(5.4)), item(4, ten(6.5)), item(3, ten(10)), item(2, ten(55))}, "new.db");
  const Comparison comparison = compare(base, candidate, {});
  ASSERT_EQ(comparison.items.size(), 7u);
  EXPECT_EQ(of_shape(comparison, 2).verdict, Verdict::regression);
  EXPECT_EQ(of_shape(comparison, 5).verdict, Verdict::regression);
  EXPECT_EQ(of_shape(comparison, 4).verdict, Verdict::improvement);
  EXPECT_EQ(of_shape(comparison, 3).verdict, Verdict::unchanged);
  EXPECT_EQ(of_shape(comparison, 6).verdict, Verdict::inconclusive);
  EXPECT_EQ(of_shape(comparison, 1).verdict, Verdict::only_base);
  EXPECT_EQ(of_shape(comparison, 7).verdict, Verdict::only_candidate);
  for (std::size_t i = 1; i < comparison.items.size(); ++i) EXPECT_LE(comparison.items[i - 1].verdict, comparison.items[i].verdict);
  EXPECT_EQ(comparison.items[0].key.problem, problem(2)) << "10 % before 8 %";
  EXPECT_EQ(comparison.worst, 0u);
  EXPECT_EQ(comparison.counts.at(Verdict::regression), 2);
  EXPECT_EQ(comparison.exit_code, 3);
  EXPECT_EQ(comparison.verdict_line,
            "2 regressions, 1 improvement, 1 unchanged, 1 inconclusive, 1 only in base, 1 only in candidate; worst: copy n=2 slower by 10.0 %");
  EXPECT_EQ(comparison.title, "new.db compared with old.db");

  const ComparedItem& slower = of_shape(comparison, 2);
  EXPECT_NEAR(*slower.change, 0.1, 1e-9);
  EXPECT_LT(*slower.change_low, *slower.change);
  EXPECT_GT(*slower.change_high, *slower.change);
  EXPECT_NEAR(*slower.holm_p, 5 * *slower.p, 1e-15) << "five items were tested, and this one has the smallest p";
  EXPECT_EQ(slower.base, 1u);
  EXPECT_EQ(slower.candidate, 5u);
  EXPECT_EQ(slower.base_processes, 10u);

  const ComparedItem& few = of_shape(comparison, 6);
  EXPECT_NE(few.reason.find("10 and 3 process medians, a gate wants 10 a side"), std::string::npos) << few.reason;
  ASSERT_FALSE(comparison.notes.empty());
  EXPECT_NE(comparison.notes[0].find("--finalist-processes 10"), std::string::npos);
}

TEST(Comparison, ExitCodes) {
  const Report base = report({item(1, ten(100)), item(2, ten(50))});
  const auto exit_code = [&](const Report& candidate, FailOn fail_on) {
    ComparisonSettings settings;
    settings.fail_on = fail_on;
    return compare(base, candidate, settings).exit_code;
  };
  const Report same = report({item(1, ten(100)), item(2, ten(50))}), faster = report({item(1, ten(90)), item(2, ten(50))}), slower = report({item(1, ten(100)), item(2, ten(60))}),
               doubtful = report({item(1, ten(100)), item(2, {50})}), fewer = report({item(1, ten(100))}),
               lost = report({item(1, ten(100)), item(2, {})}), none = report({});
  for (const FailOn fail_on : {FailOn::never, FailOn::regression, FailOn::inconclusive}) {
    EXPECT_EQ(exit_code(same, fail_on), 0);
    EXPECT_EQ(exit_code(faster, fail_on), 0);
    EXPECT_EQ(exit_code(slower, fail_on), fail_on == FailOn::never ? 0 : 3);
    EXPECT_EQ(exit_code(doubtful, fail_on), fail_on == FailOn::inconclusive ? 3 : 0);
    EXPECT_EQ(exit_code(fewer, fail_on), fail_on == FailOn::inconclusive ? 3 : 0);
    EXPECT_EQ(exit_code(lost, fail_on), fail_on == FailOn::never ? 0 : 3) << "nothing passes any more";
  }
  EXPECT_EQ(compare(base, lost, {}).items.back().base_processes, 10u);
  EXPECT_EQ(exit_code(none, FailOn::never), 0);
  EXPECT_EQ(exit_code(none, FailOn::regression), 2) << "a gate that looked at nothing has not passed";
  EXPECT_EQ(compare(none, none, {}).verdict_line, "nothing to compare");
  EXPECT_EQ(compare(none, none, {}).exit_code, 2);
  EXPECT_NE(gate_refusal(compare(base, none, {})).find("nothing could be compared"), std::string::npos);
  EXPECT_EQ(gate_refusal(compare(base, lost, {})), "");
  // What nobody chose has not stayed the same.
  const std::string text = to_text(compare(base, lost, {}), false);
  EXPECT_EQ(text.find("same configuration"), text.rfind("same configuration")) << text;
  EXPECT_NE(text.find("only in base: copy n=2: the candidate"), std::string::npos) << text;
}

TEST(Comparison, SameConfigurationOrAnotherWinner) {
  const Report base = report({item(1, ten(100)), item(2, ten(100)), item(3, ten(100))});
  Item other_kernel = item(3, ten(110));
  other_kernel.kernel_hash = "k2";
  ComparisonSettings settings;
  settings.allow_different = {"kernel"};
  const Comparison comparison = compare(base, report({item(1, ten(110)), item(2, ten(110), 256), other_kernel}), settings);
  const ComparedItem& same = of_shape(comparison, 1);
  EXPECT_TRUE(same.same_configuration);
  EXPECT_TRUE(same.configuration_differences.empty());
  EXPECT_NE(same.reason.find("; the same configuration got slower"), std::string::npos) << same.reason;
  const ComparedItem& other = of_shape(comparison, 2);
  EXPECT_FALSE(other.same_configuration);
  ASSERT_EQ(other.configuration_differences.size(), 1u);
  EXPECT_EQ(other.configuration_differences[0].parameter, "BLOCK");
  EXPECT_EQ(other.configuration_differences[0].base, "128");
  EXPECT_EQ(other.configuration_differences[0].candidate, "256");
  EXPECT_NE(other.reason.find("; another winner"), std::string::npos) << other.reason;
  EXPECT_TRUE(of_shape(comparison, 3).kernel_changed);
  EXPECT_NE(of_shape(comparison, 3).reason.find("another kernel version"), std::string::npos);
}

TEST(Comparison, ParametersOfOneSideOnly) {
  Item base = item(1, ten(100)), candidate = item(1, ten(100));
  base.winner->configuration.set("OLD", true);
  candidate.winner->configuration.set("NEW", std::string("f16"));
  const Comparison comparison = compare(report({base}), report({candidate}), {});
  const std::vector<ConfigurationDifference>& differences = comparison.items[0].configuration_differences;
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_EQ(differences[0].parameter + "/" + differences[0].base + "/" + differences[0].candidate, "OLD/true/");
  EXPECT_EQ(differences[1].parameter + "/" + differences[1].base + "/" + differences[1].candidate, "NEW//f16");
}

// Each difference refuses the gate by itself, is named with its remedy, and may be allowed.
TEST(Comparison, DifferencesRefuseTheGate) {
  struct Case {
    std::string name, label;
    std::function<void(Item&)> change;
  };
  const auto set = [](std::size_t place, const std::string& value) {
    return [=](Item& changed) { changed.environment[place].value = value; };
  };
  const std::vector<Case> cases = {
      {"gpu", "GPU", [&](Item& changed) { set(0, "H100")(changed); changed.key.device_key = "{H100}"; }},
      {"gpu", "GPU", [&](Item& changed) { changed.key.device_key = "{H200, 64 SMs}"; }},
      {"driver", "driver", set(1, "581")},
      {"toolkit", "toolkit", set(2, "nvrtc 13.1")},
      {"clocks", "clocks", set(3, "locked at 1500 MHz")},
      {"clocks", "clocks", [](Item& changed) { changed.key.method = "cold/2@1500MHz"; }},
      {"clocks", "application sm clock mhz", [](Item& changed) { changed.environment[4].value = "1500.0"; }},
      {"kernel", "kernel copy", [](Item& changed) { changed.kernel_hash = "k2"; }},
      {"driver", "driver", [](Item& changed) { changed.environment.erase(changed.environment.begin() + 1); }}};
  for (const Case& one : cases) {
    Item changed = item(1, ten(110));
    one.change(changed);
    const Report base = report({item(1, ten(100))}), candidate = report({changed});
    const Comparison refused = compare(base, candidate, {});
    ASSERT_EQ(refused.differences.size(), 1u) << one.label;
    EXPECT_EQ(refused.differences[0].label, one.label);
    EXPECT_NE(refused.differences[0].base, refused.differences[0].candidate);
    EXPECT_TRUE(refused.differences[0].matters);
    EXPECT_TRUE(refused.gate_refused);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.items[0].verdict, Verdict::regression) << "it is compared all the same";
    EXPECT_NE(gate_refusal(refused).find("--allow-different " + one.name + ";"), std::string::npos) << gate_refusal(refused);
    EXPECT_NE(refused.verdict_line.find("no gate"), std::string::npos);
    for (const std::string& allow : {one.name, std::string("all")}) {
      ComparisonSettings settings;
      allow_differences(settings, allow);
      const Comparison allowed = compare(base, candidate, settings);
      EXPECT_FALSE(allowed.gate_refused);
      EXPECT_TRUE(allowed.differences[0].allowed);
      EXPECT_EQ(allowed.exit_code, 3);
      EXPECT_EQ(gate_refusal(allowed), "");
    }
    ComparisonSettings look;
    look.fail_on = FailOn::never;
    EXPECT_FALSE(compare(base, candidate, look).gate_refused);
    EXPECT_EQ(compare(base, candidate, look).exit_code, 0);
  }
  // What is for reading only.
  Item elsewhere = item(1, ten(100));
  elsewhere.environment.back().value = "b";
  const Comparison shown = compare(report({item(1, ten(100))}), report({elsewhere}), {});
  ASSERT_EQ(shown.differences.size(), 1u);
  EXPECT_FALSE(shown.differences[0].matters);
  EXPECT_EQ(shown.exit_code, 0);
  // A clock setting that one side did not read.
  Item silent = item(1, ten(100));
  silent.environment.erase(silent.environment.begin() + 4);
  EXPECT_EQ(compare(report({item(1, ten(100))}), report({silent}), {}).exit_code, 0);
}

TEST(Comparison, DifferencesOfManyItemsAreShownOnce) {
  std::vector<Item> base, candidate;
  for (int n = 1; n <= 5; ++n) {
    base.push_back(item(n, ten(100)));
    candidate.push_back(item(n, ten(100)));
    candidate.back().environment[1].value = n < 4 ? "581" : "582";
  }
  const Comparison comparison = compare(report(base), report(candidate), {});
  ASSERT_EQ(comparison.differences.size(), 2u);
  EXPECT_NE(gate_refusal(comparison).find("driver: 580.1 -> 581; driver: 580.1 -> 582"), std::string::npos) << gate_refusal(comparison);
}

TEST(Comparison, PairsOneDeviceWithAnotherOnlyIfThatIsClear) {
  const auto on = [](const std::string& device, std::int64_t n) {
    Item other = item(n, ten(100));
    other.key.device = device;
    other.key.device_key = "{" + device + "}";
    return other;
  };
  EXPECT_EQ(pair_items(report({on("A", 1), on("A", 2)}), report({on("B", 2), on("B", 1)})).size(), 2u);
  // Equal devices first; what is left over is not paired with what has its partner.
  const std::vector<ItemPair> pairs = pair_items(report({on("B", 1), on("A", 1)}), report({on("A", 1)}));
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].base, 1u);
  EXPECT_TRUE(pair_items(report({on("A", 1), on("B", 1)}), report({on("C", 1)})).empty()) << "which of the two?";
  Item warm = item(1, ten(100)), energy = item(1, ten(100));
  warm.key.method = "warm/2";
  energy.key.objective = "energy";
  EXPECT_TRUE(pair_items(report({item(1, ten(100))}), report({warm, energy})).empty()) << "times of different methods are never compared";
}

// Sixty kernels that changed are not sixty lines of a message.
TEST(Comparison, ManyDifferencesOfOneLabelAreCounted) {
  std::vector<Item> base, candidate;
  for (int n = 1; n <= 60; ++n) {
    base.push_back(item(n, ten(100)));
    candidate.push_back(item(n, ten(100)));
    candidate.back().kernel_hash = "new" + std::to_string(n);
    candidate.back().environment[1].value = "581";
  }
  const Comparison comparison = compare(report(base), report(candidate), {});
  EXPECT_EQ(comparison.differences.size(), 61u) << "JSON has them all";
  const std::vector<ShownDifference> shown = shown_differences(comparison);
  ASSERT_EQ(shown.size(), 4u);
  EXPECT_EQ(shown[0].difference->label, "driver");
  EXPECT_EQ(shown[3].difference->label, "kernel copy");
  EXPECT_EQ(shown[3].more, 57u);
  EXPECT_NE(gate_refusal(comparison).find("kernel copy: k1 -> new3 and 57 more"), std::string::npos) << gate_refusal(comparison);
  EXPECT_NE(to_text(comparison, false).find("differs: kernel copy: 57 more"), std::string::npos);
}

std::vector<TrendPoint> nights_of(const std::vector<double>& medians) {
  std::vector<TrendPoint> nights;
  for (std::size_t i = 0; i < medians.size(); ++i) {
    TrendPoint night;
    night.session_id = "night" + std::to_string(i);
    night.finished_utc = "2026-11-0" + std::to_string(i + 1) + "T03:00:00Z";
    night.time.median_us = medians[i];
    night.configuration = "BLOCK=128,ITEMS=4";
    night.kernel_hash = "k1";
    nights.push_back(night);
  }
  return nights;
}

TEST(Comparison, HistoricalNoiseWidensTheGate) {
  Item noisy = item(1, ten(100));
  noisy.trend = nights_of({100, 103, 100, 103, 100, 103});
  const Report candidate = report({item(1, ten(105))});
  const Comparison comparison = compare(report({noisy}), candidate, {});
  const ComparedItem& compared = comparison.items[0];
  EXPECT_EQ(compared.noise_nights, 6u);
  EXPECT_NEAR(compared.noise, 3 * 0.0323, 0.001);
  EXPECT_EQ(compared.gate, compared.noise);
  EXPECT_EQ(compared.threshold, 0.02);
  EXPECT_EQ(compared.verdict, Verdict::unchanged);

  // An older night compared with a newer one: the candidate is among the nights, and must not hide its own change.
  Item newer = item(1, ten(100)), older = item(1, ten(130));
  newer.trend = nights_of({100, 100.1, 100, 130, 100.1, 100});
  older.session_id = "night3";
  const Comparison back = compare(report({newer}), report({older}), {});
  EXPECT_EQ(back.items[0].noise_nights, 5u);
  EXPECT_LT(back.items[0].noise, 0.004);
  EXPECT_EQ(back.items[0].verdict, Verdict::regression);
}

TEST(Comparison, ClocksThatMovedAreNamed) {
  Item base = item(1, ten(100)), candidate = item(1, ten(112));
  base.winner->sm_clock_mhz = 1980;
  candidate.winner->sm_clock_mhz = 1755;
  const std::string reason = compare(report({base}), report({candidate}), {}).items[0].reason;
  EXPECT_NE(reason.find("; the SM clock was 1980 MHz and is 1755 MHz"), std::string::npos) << reason;
  candidate.winner->sm_clock_mhz = 1965;
  EXPECT_EQ(compare(report({base}), report({candidate}), {}).items[0].reason.find("SM clock"), std::string::npos);
}

TEST(Comparison, ThresholdsOfKernels) {
  ComparisonSettings settings;
  set_threshold(settings, "15%");
  set_threshold(settings, "copy=0.5%");
  set_threshold(settings, "other=0%");
  EXPECT_EQ(settings.threshold, 0.15);
  EXPECT_EQ(settings.kernel_thresholds.at("copy"), 0.005);
  EXPECT_EQ(settings.kernel_thresholds.at("other"), 0);
  Item other = item(1, ten(110));
  other.key.kernel = "slow";
  Item other_base = item(1, ten(100));
  other_base.key.kernel = "slow";
  const Comparison comparison = compare(report({item(1, ten(100)), other_base}), report({item(1, ten(101)), other}), settings);
  for (const ComparedItem& compared : comparison.items) {
    EXPECT_EQ(compared.verdict, compared.key.kernel == "copy" ? Verdict::regression : Verdict::unchanged);
    EXPECT_EQ(compared.gate, compared.key.kernel == "copy" ? 0.005 : 0.15);
  }
  ASSERT_EQ(comparison.notes.size(), 1u);
  EXPECT_EQ(comparison.notes[0], "--threshold other=0% is of no kernel compared here");
  set_threshold(settings, "slwo=5%");
  const Comparison mistyped = compare(report({item(1, ten(100)), other_base}), report({item(1, ten(101)), other}), settings);
  EXPECT_EQ(mistyped.notes.back(), "--threshold slwo=5% is of no kernel compared here; did you mean slow?");
  for (const std::string bad : {"", "5", "%", "x%", "-1%", "5 %", "=5%", "matmul=", "matmul=x%", "nan%", "inf%", "1001%", "1e999%", "a=b=5%"}) {
    EXPECT_THROW(set_threshold(settings, bad), InputError) << bad;
  }
}

TEST(Comparison, NamesOfDifferences) {
  ComparisonSettings settings;
  allow_differences(settings, "driver,kernel");
  EXPECT_EQ(settings.allow_different, (std::vector<std::string>{"driver", "kernel"}));
  for (const std::string bad : {"", "Driver,", "driver,,gpu", "dirver"}) EXPECT_THROW(allow_differences(settings, bad), InputError) << bad;
  try {
    allow_differences(settings, "dirver");
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean driver?"), std::string::npos) << error.what();
  }
}

// Whatever is written there is refused with a message, or means something within bounds.
TEST(Comparison, OptionsOfAnyText) {
  Random random(9);
  const std::string letters = "0123456789.%=-+eE,nafi x\n\0\xff" "drivekl";
  int taken = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::uint64_t length = random.below(12); length > 0; --length) text += letters[random.below(letters.size())];
    if (random.below(3) == 0) text += '%';
    ComparisonSettings settings;
    try {
      set_threshold(settings, text);
      ++taken;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("--threshold"), std::string::npos);
    }
    EXPECT_TRUE(settings.threshold >= 0 && settings.threshold <= 10) << text;
    for (const auto& [kernel, threshold] : settings.kernel_thresholds) EXPECT_TRUE(threshold >= 0 && threshold <= 10 && !kernel.empty()) << text;
    try {
      allow_differences(settings, text);
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("--allow-different"), std::string::npos);
    }
  }
  EXPECT_GT(taken, 100);
}

TEST(Comparison, RemeasuredTimesDecide) {
  Item base = item(1, ten(100)), candidate = item(1, ten(120), 256);
  candidate.environment[1].value = "581";
  const std::vector<Remeasurement> again = {{0, 0, ten(80), ten(80.1)}};
  const Comparison comparison = compare(report({base}), report({candidate}), {}, again);
  const ComparedItem& compared = comparison.items[0];
  EXPECT_TRUE(compared.remeasured);
  EXPECT_EQ(compared.verdict, Verdict::unchanged);
  EXPECT_NEAR(compared.base_time->median_us, 80, 0.1);
  EXPECT_LT(compared.base_time->low_us, compared.base_time->high_us);
  EXPECT_NEAR(compared.base_time->coverage.value_or(0), 1 - 2 * 11.0 / 1024, 1e-12) << "of ten processes";
  EXPECT_FALSE(comparison.gate_refused) << "both were timed under one driver";
  EXPECT_FALSE(comparison.differences[0].matters);
  EXPECT_EQ(comparison.exit_code, 0);
  // The kernel is not the same for being timed at the same time.
  candidate.kernel_hash = "k2";
  EXPECT_TRUE(compare(report({base}), report({candidate}), {}, again).gate_refused);
}

// One session on both sides proves nothing about it: no verdict, no evidence for the others, and no pass of a gate that saw nothing else.
TEST(Comparison, TheSameSessionOnBothSidesIsInconclusive) {
  const Item kept = item(1, ten(100)), also_kept = item(3, ten(10));
  const Report base = report({kept, item(2, ten(50)), also_kept}), candidate = report({kept, item(2, ten(50)), also_kept});
  const Comparison comparison = compare(base, candidate, {});
  const ComparedItem& compared = of_shape(comparison, 1);
  EXPECT_TRUE(compared.same_session);
  EXPECT_EQ(compared.verdict, Verdict::inconclusive);
  EXPECT_EQ(compared.reason, "the same session on both sides");
  Report interrupted = candidate;
  for (Item& item : interrupted.items) item.newer_unfinished = true;
  EXPECT_EQ(of_shape(compare(base, interrupted, {}), 1).reason, "the same session on both sides: the candidate's newer one has not ended");
  EXPECT_FALSE(compared.change || compared.p || compared.holm_p);
  EXPECT_TRUE(compared.base_time && compared.candidate_time);
  const ComparedItem& judged = of_shape(comparison, 2);
  EXPECT_FALSE(judged.same_session);
  EXPECT_EQ(judged.verdict, Verdict::unchanged);
  EXPECT_EQ(judged.holm_p, judged.p) << "only one item was tested";
  EXPECT_EQ(comparison.verdict_line.find("1 unchanged, 2 inconclusive"), 0u) << comparison.verdict_line;
  ASSERT_FALSE(comparison.notes.empty());
  EXPECT_NE(comparison.notes[0].find("2 of 3 items have the same session on both sides"), std::string::npos) << comparison.notes[0];
  EXPECT_EQ(comparison.exit_code, 0);
  EXPECT_NE(to_text(comparison, false).find("inconclusive: copy n=1: the same session on both sides"), std::string::npos);
  ComparisonSettings strict;
  strict.fail_on = FailOn::inconclusive;
  EXPECT_EQ(compare(base, candidate, strict).exit_code, 3);
  for (const FailOn fail_on : {FailOn::regression, FailOn::inconclusive}) {
    strict.fail_on = fail_on;
    const Comparison nothing = compare(report({kept, also_kept}), report({kept, also_kept}), strict);
    EXPECT_EQ(nothing.exit_code, 2) << "all items are the same session";
    EXPECT_NE(gate_refusal(nothing).find("nothing could be compared"), std::string::npos);
  }
}

TEST(Comparison, EnergiesAreShownAndTimesDecide) {
  const auto of_energy = [](std::int64_t n, double time_us, std::optional<double> joules) {
    Item energy = item(n, ten(time_us));
    energy.key.objective = "energy";
    energy.winner->energy_j = joules;
    return energy;
  };
  const Comparison comparison = compare(report({of_energy(1, 100, 0.02), of_energy(2, 100, 0.02)}), report({of_energy(1, 110, 0.018), of_energy(2, 100, std::nullopt)}), {});
  const ComparedItem& both = of_shape(comparison, 1);
  EXPECT_EQ(both.base_energy_j, 0.02);
  EXPECT_EQ(both.candidate_energy_j, 0.018);
  ASSERT_TRUE(both.energy_change);
  EXPECT_NEAR(*both.energy_change, -0.1, 1e-12);
  EXPECT_EQ(both.verdict, Verdict::regression);
  EXPECT_NE(both.reason.find("; judged by time: of energy the books hold one value a winner, 20 mJ -> 18 mJ (-10.0 %)"), std::string::npos) << both.reason;
  const ComparedItem& one = of_shape(comparison, 2);
  EXPECT_FALSE(one.energy_change);
  EXPECT_NE(one.reason.find("judged by time: the books do not hold the energy of both winners"), std::string::npos) << one.reason;
  EXPECT_NE(comparison.notes.back().find("2 of 2 items were tuned for the least energy and are judged by time"), std::string::npos) << comparison.notes.back();
  EXPECT_NE(to_text(comparison, false).find("20 mJ -> 18 mJ (-10.0 %)"), std::string::npos);
  // Times stay alone where nobody asked for energy.
  const Comparison times = compare(report({item(1, ten(100))}), report({item(1, ten(100))}), {});
  EXPECT_EQ(times.items[0].reason.find("judged by"), std::string::npos);
  EXPECT_EQ(to_text(times, false).find("energy"), std::string::npos);
}

TEST(Comparison, BadNumbersOfABookAreNoVerdict) {
  Item bad = item(1, ten(100));
  bad.winner->process_medians_us[3] = std::numeric_limits<double>::quiet_NaN();
  const Comparison comparison = compare(report({bad}), report({item(1, ten(150))}), {});
  EXPECT_EQ(comparison.items[0].verdict, Verdict::inconclusive);
  EXPECT_FALSE(comparison.items[0].change);
  EXPECT_FALSE(comparison.worst);
  EXPECT_EQ(comparison.exit_code, 2) << "nothing was compared";
}

}  // namespace
}  // namespace tunebook::reports
