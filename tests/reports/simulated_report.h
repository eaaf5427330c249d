#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/random.h"
#include "reports/gate.h"

namespace tunebook::reports {

// What a comparison of `shapes` kernels sees whose times differ from process to process: lognormal medians, every shape at another
// time. The candidate of the first shape is slower by `shift`, a share.
struct SimulatedReport {
  std::vector<std::vector<double>> base, candidate;

  SimulatedReport(Random& random, std::size_t shapes, std::size_t base_processes, std::size_t candidate_processes, double noise, double shift)
      : SimulatedReport(shapes, base_processes, candidate_processes, shift, [&] { return noise * random.normal(); }) {}

  template <class Noise>
  SimulatedReport(std::size_t shapes, std::size_t base_processes, std::size_t candidate_processes, double shift, Noise noise) {
    for (std::size_t shape = 0; shape < shapes; ++shape) {
      const double time_us = 5.0 * static_cast<double>(shape * shape + 1);
      const double now_us = time_us * (shape == 0 ? 1 + shift : 1);
      base.emplace_back();
      candidate.emplace_back();
      for (std::size_t i = 0; i < base_processes; ++i) base.back().push_back(time_us * std::exp(noise()));
      for (std::size_t i = 0; i < candidate_processes; ++i) candidate.back().push_back(now_us * std::exp(noise()));
    }
  }

  std::vector<Judgement> judged(double gate = 0.02) const {
    std::vector<GateItem> items;
    for (std::size_t shape = 0; shape < base.size(); ++shape) items.push_back({base[shape], candidate[shape], gate});
    return judge(items);
  }
};

inline bool flagged(const Judgement& judgement) {
  return judgement.verdict == Verdict::regression || judgement.verdict == Verdict::improvement;
}

}  // namespace tunebook::reports
