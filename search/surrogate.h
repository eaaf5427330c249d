#pragma once

#include <memory>

#include "search/settings.h"
#include "search/strategy.h"

namespace tunebook {

// Bayesian optimisation: a Gaussian process over the logarithm of the time proposes what promises the largest expected improvement,
// times the probability that it does not fail, among random configurations and the neighbours of the best.
// The values were chosen by tests/bench/choose_constants.py.
struct SurrogateSettings {
  double initial = 10;          // configurations before the first model, each as far as possible from those before
  double spread = 40;           // random configurations from which each of them is chosen
  double pool = 30;             // with foresight: at most so many are compiled to find initial ones that need no local memory
  double random = 800;          // random candidates
  double elite = 8;             // best configurations whose Hamming neighbours are candidates
  double pairs = 150;           // candidates that differ from one of them in two parameters
  double refresh = 12;          // candidates are drawn anew after so many proposals
  double refit = 1.15;          // hyperparameters are fitted anew when there are so many times more points
  double steps = 8;             // gradient steps then
  double points = 200;          // of the model at most: the best two thirds, and others at random
  double length = 0.7;          // prior median of the length scales, on a scale of 1 for all values of a parameter
  double length_spread = 1.0;   // standard deviation of their logarithm
  double noise = 0.01;          // prior median of the noise variance, as a share of the variance
  double noise_spread = 1.0;
  double cap = 0.75;            // slower times than this quantile count as equal to it, and so do failures
  double alignment = 1;         // 0: divisibility by powers of two is no feature
  double untold = 16;           // proposals in flight at most

  NamedSettings named() {
    return {{"initial", &initial}, {"spread", &spread}, {"pool", &pool}, {"random", &random}, {"elite", &elite}, {"pairs", &pairs}, {"refresh", &refresh}, {"refit", &refit},
            {"steps", &steps}, {"points", &points}, {"length", &length}, {"length_spread", &length_spread}, {"noise", &noise},
            {"noise_spread", &noise_spread}, {"cap", &cap}, {"alignment", &alignment}, {"untold", &untold}};
  }
};

std::unique_ptr<Strategy> make_surrogate(const SearchSpace& space, std::uint64_t seed, const SurrogateSettings& settings);

}  // namespace tunebook
