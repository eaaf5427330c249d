#include "search/portable_math.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

TEST(PortableMath, LogarithmAgreesWithTheLibrary) {
  for (const double x : {5e-324, 1e-310, 1e-300, 0.1, 0.5, 0.999999, 1.0, 1.0000001, 1.4142135, 1.5, 2.0, 3.7, 1e6, 1.7e308}) {
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-14 * std::max(1.0, std::fabs(std::log(x)))) << x;
  }
  EXPECT_EQ(portable_log(1), 0);
}

TEST(PortableMath, ExponentialAgreesWithTheLibrary) {
  for (double x = -699; x < 699; x += 0.731) EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 2e-13) << x;
  EXPECT_EQ(portable_exp(0), 1);
  EXPECT_EQ(portable_exp(-1000), 0);
  EXPECT_TRUE(std::isfinite(portable_exp(1000)));
}

TEST(PortableMath, ExpectedImprovement) {
  const auto exact = [](double z) {
    return z * 0.5 * std::erfc(-z / std::sqrt(2.0)) + std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0));
  };
  for (double z = -6; z < 6; z += 0.1) EXPECT_NEAR(expected_improvement(z), exact(z), 1e-6 * (1 + std::fabs(z))) << z;
  EXPECT_GE(expected_improvement(-40), 0);
}

}  // namespace
}  // namespace tunebook
