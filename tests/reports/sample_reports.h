#pragma once

#include <cstddef>

#include "reports/report.h"

// Made-up reports for tests of what writes them: all fields filled, the same on every machine.
namespace tunebook::reports::testing {

struct SampleSize {
  std::size_t shapes = 5;
  std::size_t devices = 1;
  std::size_t nights = 1;
  std::size_t trials = 240;  // of each item
};

// A search over a matmul-like space on each shape and device: failures of all kinds, finalists, presets, a baseline.
Report sample_report(const SampleSize& size);
// Of two such reports: one regression, one improvement (with three shapes or more), the rest unchanged, one inconclusive.
Comparison sample_comparison(const SampleSize& size);
// Names, messages and values full of markup, quotes, control characters, right-to-left text, and lines of 10 KB.
Report hostile_report(std::size_t trials = 120);
Comparison hostile_comparison(std::size_t trials = 120);

}  // namespace tunebook::reports::testing
