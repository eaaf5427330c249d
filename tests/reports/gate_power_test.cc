// How often the gate is wrong, by simulation with fixed seeds.
#include <algorithm>

#include <gtest/gtest.h>

#include "simulated_report.h"

namespace tunebook::reports {
namespace {

constexpr int kReports = 2000;
constexpr std::size_t kShapes = 20;

TEST(GatePower, IdenticalPerformanceIsNotFlagged) {
  for (const double noise : {0.005, 0.01}) {
    Random random(20261130);
    int reports = 0;
    std::int64_t unchanged = 0;
    for (int report = 0; report < kReports; ++report) {
      const std::vector<Judgement> judgements =
          SimulatedReport(random, kShapes, kGateProcesses, kGateProcesses, noise, 0).judged();
      reports += std::any_of(judgements.begin(), judgements.end(), flagged) ? 1 : 0;
      unchanged += std::count_if(judgements.begin(), judgements.end(),
                                 [](const Judgement& judgement) { return judgement.verdict == Verdict::unchanged; });
    }
    EXPECT_LE(reports, kReports / 100) << "noise " << noise;
    // Nor is silence bought with doubt: nearly all are known to be unchanged.
    EXPECT_GE(static_cast<double>(unchanged) / (kReports * kShapes), noise < 0.01 ? 0.999 : 0.9) << "noise " << noise;
  }
}

TEST(GatePower, AShiftOfThreePercentIsFound) {
  Random random(3);
  int found = 0, others = 0;
  for (int report = 0; report < kReports; ++report) {
    const std::vector<Judgement> judgements = SimulatedReport(random, kShapes, kGateProcesses, kGateProcesses, 0.01, 0.03).judged();
    found += judgements.front().verdict == Verdict::regression ? 1 : 0;
    others += std::any_of(judgements.begin() + 1, judgements.end(), flagged) ? 1 : 0;
  }
  EXPECT_GE(found, kReports * 95 / 100);
  EXPECT_LE(others, kReports / 100);
}

// Without the gate the family of 20 is what Holm promises: at most 5 % of reports have a false one.
TEST(GatePower, HolmAloneKeepsItsLevel) {
  Random random(4);
  int reports = 0;
  for (int report = 0; report < kReports; ++report) {
    const std::vector<Judgement> judgements = SimulatedReport(random, kShapes, kGateProcesses, kGateProcesses, 0.01, 0).judged(0);
    reports += std::any_of(judgements.begin(), judgements.end(), flagged) ? 1 : 0;
  }
  EXPECT_LE(static_cast<double>(reports) / kReports, 0.05 + 0.015);
  EXPECT_GE(static_cast<double>(reports) / kReports, 0.02);
}

}  // namespace
}  // namespace tunebook::reports
