#pragma once

#include <string>
#include <vector>

namespace tunebook::reports::page {

struct Tick {
  double value = 0;
  double place = 0;   // pixels
  std::string label;
};

// Where a value lies between two places of a picture, linearly or by its logarithm, and the round values to write there.
class Scale {
 public:
  enum class Kind { linear, logarithmic };
  // Values from `low` to `high` lie from `from` to `to` (pixels; `from` may be the larger: an axis that points upwards). An empty or
  // senseless range (not finite; with a logarithm not positive) is widened or replaced so that every value has a place.
  Scale(Kind kind, double low, double high, double from, double to);

  // Values outside the range lie outside the places.
  double operator()(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }

  // Linear: multiples of 1, 2 or 5 times a power of ten, about `wanted` of them. Logarithmic: 1, 2 and 5 times the powers of ten; over
  // many decades powers of ten alone, every so many; within less than a decade the linear ones. All inside the range, ascending.
  std::vector<Tick> ticks(int wanted) const;

 private:
  std::vector<double> linear_values(int wanted) const;
  std::vector<double> logarithmic_values(int wanted) const;

  Kind kind_;
  double low_, high_;
  double from_, to_;
};

}  // namespace tunebook::reports::page
