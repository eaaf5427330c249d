#include "search/portable_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tunebook {
namespace {

constexpr double kLn2 = 0.693147180559945309417232121458;
constexpr int kExponentBias = 1023;
constexpr int kMantissaBits = 52;

// 2^exponent for normal numbers.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kExponentBias) << kMantissaBits);
}

}  // namespace

double portable_log(double x) {
  int exponent = 0;
  if (x < std::numeric_limits<double>::min()) {  // subnormal
    x *= 0x1p54;
    exponent = -54;
  }
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  exponent += static_cast<int>(bits >> kMantissaBits) - kExponentBias;
  double mantissa = std::bit_cast<double>((bits & 0xfffffffffffffULL) | (std::uint64_t{kExponentBias} << kMantissaBits));
  constexpr double kSqrt2 = 1.4142135623730951;
  if (mantissa > kSqrt2) {
    mantissa *= 0.5;
    ++exponent;
  }
  // log m = 2 artanh((m - 1) / (m + 1)), |argument| <= 0.172.
  const double z = (mantissa - 1) / (mantissa + 1);
  const double square = z * z;
  constexpr int kTerms = 10;
  double sum = 0;
  for (int n = kTerms; n >= 0; --n) sum = sum * square + 1.0 / (2 * n + 1);
  return exponent * kLn2 + 2 * z * sum;
}

double portable_exp(double x) {
  if (x < -700) return 0;
  if (x > 700) return std::numeric_limits<double>::max();
  const int exponent = static_cast<int>(std::floor(x / kLn2 + 0.5));
  const double r = x - exponent * kLn2;  // |r| <= 0.347
  // Taylor series; 1 / n! for n = 13 ... 0.
  static constexpr double kCoefficients[] = {
      1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
      1.0 / 720,        1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1.0,         1.0};
  double sum = 0;
  for (const double coefficient : kCoefficients) sum = sum * r + coefficient;
  return sum * power_of_two(exponent);
}

double expected_improvement(double z) {
  // Density and distribution of the standard normal; the latter by Abramowitz & Stegun 26.2.17, absolute error 7.5e-8.
  const double density = 0.3989422804014327 * portable_exp(-0.5 * z * z);
  const double t = 1 / (1 + 0.2316419 * std::fabs(z));
  const double polynomial =
      t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const double tail = density * polynomial;
  const double distribution = z >= 0 ? 1 - tail : tail;
  return std::max(z * distribution + density, 0.0);
}

}  // namespace tunebook
