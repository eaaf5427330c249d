#include "core/fill_value.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

#include <gtest/gtest.h>


namespace tunebook {
namespace {

constexpr unsigned kAll = (1U << kSpecialCount) - 1;

double special_as_double(DType type, unsigned which) {
  const std::uint64_t bits = special_bits(which, static_cast<int>(dtype_size(type)), fraction_bits(type));
  return load_as_double(type, &bits);
}

TEST(FillValue, SpecialBitsAreThoseOfTheElementsOwnType) {
  EXPECT_EQ(special_bits(kSpecialNan, 4, 23), 0x7fc00000U);
  EXPECT_EQ(special_bits(kSpecialNan, 2, 10), 0x7e00U);
  EXPECT_EQ(special_bits(kSpecialNan, 2, 7), 0x7fc0U);
  EXPECT_EQ(special_bits(kSpecialNan, 8, 52), 0x7ff8000000000000U);
  const std::map<DType, std::pair<double, double>> extremes = {
      {DType::f16, {65504, 0x1p-24}},
      {DType::bf16, {0x1.fep127, 0x1p-133}},
      {DType::f32, {std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min()}},
      {DType::f64, {std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min()}}};
  for (const auto& [type, extreme] : extremes) {
    SCOPED_TRACE(dtype_name(type));
    EXPECT_EQ(special_as_double(type, kSpecialMax), extreme.first);
    EXPECT_EQ(special_as_double(type, kSpecialMinDenormal), extreme.second);
    EXPECT_TRUE(std::isnan(special_as_double(type, kSpecialNan)));
    EXPECT_EQ(special_as_double(type, kSpecialInfinity), std::numeric_limits<double>::infinity());
    EXPECT_EQ(special_as_double(type, kSpecialNegativeInfinity), -std::numeric_limits<double>::infinity());
    EXPECT_EQ(std::bit_cast<std::uint64_t>(special_as_double(type, kSpecialNegativeZero)), std::uint64_t{1} << 63);
    // One step above the largest number lies infinity.
    const int bytes = static_cast<int>(dtype_size(type)), fraction = fraction_bits(type);
    EXPECT_EQ(special_bits(kSpecialMax, bytes, fraction) + 1, special_bits(kSpecialInfinity, bytes, fraction));
  }
}

TEST(FillValue, OneElementInSixtyOneIsSpecialAndEachKindAsOften) {
  constexpr int kElements = 610000;
  for (const unsigned special : {kAll, kSpecialNan | kSpecialMax, kSpecialMinDenormal + 0U}) {
    std::map<unsigned, int> counts;
    for (std::uint64_t i = 0; i < kElements; ++i) ++counts[special_of(special, 7, i)];
    const int kinds = std::popcount(special);
    EXPECT_EQ(counts.size(), static_cast<std::size_t>(kinds) + 1);
    for (const auto& [which, count] : counts) {
      if (which == 0) continue;
      EXPECT_EQ(std::popcount(which), 1);
      EXPECT_EQ(which & special, which);
      EXPECT_NEAR(count, 10000.0 / kinds, 5 * std::sqrt(10000.0 / kinds));
    }
  }
}

TEST(FillValue, SpecialElementsDependOnSeedAndIndexOnly) {
  int same = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    EXPECT_EQ(special_of(0, 3, i), 0U);
    EXPECT_EQ(special_of(kAll, 3, i), special_of(kAll, 3, i));
    same += special_of(kAll, 3, i) != 0 && special_of(kAll, 4, i) != 0 ? 1 : 0;
  }
  EXPECT_LT(same, 20);  // 10000 / 61 / 61 by chance
  EXPECT_EQ(special_of(~kAll, 3, 61), 0U);  // bits without a meaning
}

TEST(FillValue, FractionBitsAgreeWithTheRoundoff) {
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i) {
    const auto type = static_cast<DType>(i);
    if (is_floating(type)) EXPECT_EQ(std::ldexp(1.0, -fraction_bits(type) - 1), unit_roundoff(type)) << dtype_name(type);
    else EXPECT_EQ(fraction_bits(type), 0) << dtype_name(type);
  }
}

TEST(FillValue, ZeroIsZero) {
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(fill_value(5, 1, 2, 9, i), 0);
}

}  // namespace
}  // namespace tunebook
