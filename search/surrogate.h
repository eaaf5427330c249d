#pragma once

#include <memory>

#include "search/settings.h"
#include "search/strategy.h"

namespace tunebook {

struct SurrogateSettings {
  double initial = 10;          // configurations before the first model, chosen far from one another
  double spread = 40;           // random configurations from which each of them is chosen
  double random = 400;          // random candidates
  double elite = 8;             // best configurations whose neighbours are candidates
  double refit = 1.15;          // hyperparameters are chosen anew when there are so many times more points
  double steps = 8;             // gradient steps then
  double points = 200;          // of the model at most
  double length = 0.7;          // prior of length scales
  double length_spread = 1.0;
  double noise = 0.01;
  double noise_spread = 1.0;
  double cap = 0.75;            // quantile at which slow times are cut
  double fail = 1;              // quantile of the times that a failure stands for
  double margin = 0.0;          // improvement aimed at, log
  double feasibility = 1;       // exponent of the probability of no failure
  double refresh = 12;          // candidates are drawn anew after so many proposals
  double untold = 16;
  double alignment = 1;         // 0: divisibility by powers of two is no feature

  NamedSettings named() {
    return {{"initial", &initial}, {"spread", &spread}, {"random", &random}, {"elite", &elite}, {"refit", &refit}, {"steps", &steps},
            {"points", &points}, {"length", &length}, {"length_spread", &length_spread}, {"noise", &noise},
            {"noise_spread", &noise_spread}, {"cap", &cap}, {"fail", &fail}, {"margin", &margin}, {"feasibility", &feasibility},
            {"refresh", &refresh}, {"untold", &untold}, {"alignment", &alignment}};
  }
};

std::unique_ptr<Strategy> make_surrogate(const SearchSpace& space, std::uint64_t seed, const SurrogateSettings& settings);

}  // namespace tunebook
