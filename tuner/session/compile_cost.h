#pragma once

#include <map>
#include <string>

#include "core/problem.h"

namespace tunebook {

// Guesses which configurations take long to compile, from those compiled before in this session: the slope of the logarithm of
// the time over the logarithm of each integer parameter, one at a time. Only good for an order; more unrolled code takes longer,
// and the parameters that unroll show it soon.
class CompileCostModel {
 public:
  void observe(const Configuration& configuration, double seconds);
  // Larger is longer; no unit.
  double relative_cost(const Configuration& configuration) const;

 private:
  // Sums for a least-squares slope of y over x.
  struct Slope {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    double value() const;
  };
  std::map<std::string, Slope> slopes_;
};

}  // namespace tunebook
