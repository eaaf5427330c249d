#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "reports/report.h"

namespace tunebook::reports {

// Where the best time so far gets better, of a session's times in the order of evaluation; nothing: the trial failed.
struct Improvement {
  std::int64_t evaluation = 0;  // from 1
  double time_us = 0;
};
std::vector<Improvement> improvements(std::span<const std::optional<double>> times);

// The expected best of n trials drawn without replacement from `times` (failures among them), exactly: with the S times in ascending order,
// N trials in all and F = N - S failures,
//   E_n = sum over i of t_i * C(N - i, n - 1) / (C(N, n) - C(F, n)),
// since C(N - i, n - 1) of the C(N, n) draws have t_i as their best; draws of failures alone are left out. At n = 1, N and about `points`
// values of n between, spaced evenly on a logarithmic axis. None without times.
std::vector<RandomExpectation> random_expectation(std::span<const std::optional<double>> times, std::size_t points);

}  // namespace tunebook::reports
