#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/statistics.h"
#include "reports/report.h"

// The statistics of `compare`: numbers in, verdicts out.
namespace tunebook::reports {

// Process medians a side that a gate wants. With fewer, verdicts are given all the same and say so. With 20 shapes and 1 % of noise
// between processes, ten a side find a change of 3 % in 98 % of the cases, five in 53 % (bench_gate).
inline constexpr std::size_t kGateProcesses = 10;
// Of the family of all shapes of a report: the probability that any of them is called different by chance, before the gate.
inline constexpr double kFamilyAlpha = 0.05;
// Nights of one configuration that its historical noise needs, at least.
inline constexpr std::size_t kNoiseNights = 5;

// The winner of one night.
struct Night {
  std::string configuration, kernel_hash;  // any text that is equal for equal ones
  double median_us = 0;
};

struct HistoricalNoise {
  double share = 0;         // 3 standard deviations of the night-to-night change, a share; 0 if there are too few nights
  std::size_t nights = 0;   // that took part
};

// How much an item moves from night to night though nothing about it has changed: the change of a night (its median over the last
// one's of the same configuration and kernel hash, less 1), over all configurations of the item together, since winners of one tie
// set take turns. Needs kNoiseNights - 1 changes, as five nights of one configuration give. Oldest first; nights without a positive,
// finite median are left out. The candidate must not be among them, or a regression would hide itself.
HistoricalNoise historical_noise(std::span<const Night> nights);

// What was measured of one item on both sides.
struct GateItem {
  std::span<const double> base_us, candidate_us;  // process medians
  double gate = 0.02;                             // the smallest change that counts, a share
  bool paired = false;                            // the i-th of both are of one process, which timed them in turns
};

struct Judgement {
  Verdict verdict = Verdict::inconclusive;
  // Candidate over base, less 1: of the geometric means of the process medians, so that it lies within its interval. Nothing if one
  // side has no times, or one that is not positive and finite.
  std::optional<double> change;
  std::optional<WelchRatio> test;    // nothing with fewer than two processes on a side; of paired times the paired t test
  std::optional<double> holm_p;      // test->p adjusted over all items that have one
  std::string reason;                // in words
};

// Verdicts of all items of a report, in their order.
//  regression, improvement: the Holm-adjusted p of Welch's test on the logarithms (of paired times: the paired t test on them) is
//    below kFamilyAlpha, and |change| exceeds the gate;
//  unchanged: the 95 % interval of the change, not adjusted, lies inside the gate;
//  inconclusive: neither, with the reason.
std::vector<Judgement> judge(std::span<const GateItem> items);

// "8.3 %": a share as text, always positive. Small ones keep two digits.
std::string share_text(double share);

}  // namespace tunebook::reports
