#include "cpu/element_check.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

bool agrees(float got, float expected, double rel = 0, double abs = 0.5) {
  return !check_elements(DType::f32, &got, &expected, 0, 1, rel, abs).first_bad;
}

TEST(ElementCheck, NonFiniteValuesNeedTheSameClassAndSign) {
  EXPECT_TRUE(agrees(kNan, kNan));
  EXPECT_TRUE(agrees(kInf, kInf));
  EXPECT_FALSE(agrees(kNan, 1));
  EXPECT_FALSE(agrees(1, kNan));
  EXPECT_FALSE(agrees(-kInf, kInf));
  EXPECT_FALSE(agrees(kInf, 1, 1e30));
  EXPECT_FALSE(agrees(1, kInf));
}

TEST(ElementCheck, ToleranceAndLargestError) {
  const std::vector<double> got = {1, 2.25, 3, 5}, expected = {1, 2, 3.125, 4};
  const ElementCheck check = check_elements(DType::f64, got.data(), expected.data(), 0, 4, 0.125, 0.25);
  EXPECT_FALSE(check_elements(DType::f64, got.data(), expected.data(), 0, 3, 0.125, 0.25).first_bad);
  EXPECT_EQ(check.first_bad, 3);
  EXPECT_DOUBLE_EQ(check.max_error, 0.5);
}

TEST(ElementCheck, IntegersAreExact) {
  const std::vector<long long> got = {1, (1ll << 60) + 1}, expected = {1, 1ll << 60};
  EXPECT_EQ(check_elements(DType::i64, got.data(), expected.data(), 0, 2, 1, 1).first_bad, 1);
  EXPECT_EQ(element_text(DType::i64, got.data(), 1), "1152921504606846977");
}

}  // namespace
}  // namespace tunebook
