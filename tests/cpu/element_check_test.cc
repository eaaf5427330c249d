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

// The same in every floating type, also where rel * |expected| overflows.
TEST(ElementCheck, ClassAndSignInEveryType) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    SCOPED_TRACE(dtype_name(type));
    const auto accepted = [&](double got, double expected, double rel, double abs) {
      unsigned char g[8], e[8];
      store_from_double(type, got, g);
      store_from_double(type, expected, e);
      return !check_elements(type, g, e, 0, 1, rel, abs).first_bad;
    };
    const double wide = 1e308;
    EXPECT_TRUE(accepted(nan, nan, 0, 0));
    EXPECT_TRUE(accepted(-nan, nan, 0, 0));  // a NaN's sign means nothing
    EXPECT_TRUE(accepted(inf, inf, 0, 0));
    EXPECT_TRUE(accepted(-inf, -inf, 0, 0));
    EXPECT_TRUE(accepted(-0.0, 0.0, 0, 0));
    for (const double number : {0.0, 1.5, -1.5}) {
      EXPECT_FALSE(accepted(nan, number, wide, wide));
      EXPECT_FALSE(accepted(number, nan, wide, wide));
      EXPECT_FALSE(accepted(inf, number, 0, wide));
      EXPECT_FALSE(accepted(number, inf, wide, wide));
      EXPECT_FALSE(accepted(number, -inf, wide, wide));
    }
    EXPECT_FALSE(accepted(-inf, inf, wide, wide));
    EXPECT_FALSE(accepted(inf, -inf, wide, wide));
    EXPECT_FALSE(accepted(nan, inf, wide, wide));
    EXPECT_FALSE(accepted(inf, nan, wide, wide));
    EXPECT_FALSE(accepted(inf, 3, wide, wide));  // allowed: infinitely much
    EXPECT_FALSE(accepted(-inf, 60000, 1e305, 0));
    EXPECT_TRUE(accepted(1.5, 1.25, 0, 0.25));
    EXPECT_FALSE(accepted(1.5, 1.25, 0, 0.125));
  }
}

TEST(ElementCheck, ToleranceAndLargestError) {
  const std::vector<double> got = {1, 2.25, 3, 5}, expected = {1, 2, 3.125, 4};
  const ElementCheck check = check_elements(DType::f64, got.data(), expected.data(), 0, 4, 0.125, 0.25);
  EXPECT_FALSE(check_elements(DType::f64, got.data(), expected.data(), 0, 3, 0.125, 0.25).first_bad);
  EXPECT_EQ(check.first_bad, 3);
  EXPECT_DOUBLE_EQ(check.max_error, 0.5);
}

// Whatever the tolerance, in every type.
TEST(ElementCheck, IntegersAndBoolsAreExactInEveryType) {
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i) {
    const auto type = static_cast<DType>(i);
    if (is_floating(type)) continue;
    SCOPED_TRACE(dtype_name(type));
    unsigned char one[8] = {}, zero[8] = {};
    store_from_double(type, 1, one);
    EXPECT_FALSE(check_elements(type, one, one, 0, 1, 0, 0).first_bad);
    EXPECT_EQ(check_elements(type, one, zero, 0, 1, 1e9, 1e9).first_bad, 0);
  }
  // Any other byte is not the bool true.
  const unsigned char two = 2, one = 1;
  EXPECT_EQ(check_elements(DType::boolean, &two, &one, 0, 1, 0, 1).first_bad, 0);
}

TEST(ElementCheck, IntegersAreExact) {
  const std::vector<long long> got = {1, (1ll << 60) + 1}, expected = {1, 1ll << 60};
  EXPECT_EQ(check_elements(DType::i64, got.data(), expected.data(), 0, 2, 1, 1).first_bad, 1);
  EXPECT_EQ(element_text(DType::i64, got.data(), 1), "1152921504606846977");
}

}  // namespace
}  // namespace tunebook
