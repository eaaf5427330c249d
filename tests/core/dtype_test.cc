#include "core/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "core/random.h"

namespace tunebook {
namespace {

constexpr std::array<DType, 13> kAll = {DType::f16, DType::bf16, DType::f32, DType::f64, DType::i8,  DType::u8, DType::i16,
                                        DType::u16, DType::i32,  DType::u32, DType::i64, DType::u64, DType::boolean};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::uint16_t stored16(DType type, double value) {
  std::uint16_t bits = 0;
  store_from_double(type, value, &bits);
  return bits;
}

double loaded16(DType type, std::uint16_t bits) { return load_as_double(type, &bits); }

TEST(DType, NamesReadBackAndAreListed) {
  std::set<std::string_view> cuda_names;
  for (const DType type : kAll) {
    EXPECT_EQ(parse_dtype(dtype_name(type)), type);
    EXPECT_NE(dtype_names().find(dtype_name(type)), std::string_view::npos);
    EXPECT_TRUE(cuda_names.insert(cuda_type_name(type)).second);
  }
  EXPECT_EQ(dtype_name(DType::boolean), "bool");
  EXPECT_EQ(parse_dtype("float"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
  EXPECT_EQ(cuda_type_name(DType::f16), "__half");
  EXPECT_EQ(cuda_type_name(DType::bf16), "__nv_bfloat16");
  EXPECT_EQ(cuda_type_name(DType::i64), "long long");
}

TEST(DType, SizesAndRoundoff) {
  EXPECT_EQ(dtype_size(DType::f16), 2U);
  EXPECT_EQ(dtype_size(DType::f64), 8U);
  EXPECT_EQ(dtype_size(DType::boolean), 1U);
  EXPECT_EQ(dtype_size(DType::u32), 4U);
  for (const DType type : kAll) EXPECT_EQ(is_floating(type), dtype_name(type).find('f') != std::string_view::npos);
  EXPECT_EQ(unit_roundoff(DType::f32), 0x1p-24);
  EXPECT_EQ(unit_roundoff(DType::i32), 0);
  // Half an ulp at 1 is lost, a little more is kept.
  for (const DType type : {DType::f16, DType::bf16, DType::f32}) {
    std::uint64_t bits = 0;
    store_from_double(type, 1 + unit_roundoff(type), &bits);
    EXPECT_EQ(load_as_double(type, &bits), 1);
    store_from_double(type, 1 + 1.01 * unit_roundoff(type), &bits);
    EXPECT_EQ(load_as_double(type, &bits), 1 + 2 * unit_roundoff(type));
  }
}

TEST(DType, HalfOfIeee754) {
  // Encodings from the standard.
  EXPECT_EQ(stored16(DType::f16, 0.0), 0x0000);
  EXPECT_EQ(stored16(DType::f16, -0.0), 0x8000);
  EXPECT_EQ(stored16(DType::f16, 1.0), 0x3c00);
  EXPECT_EQ(stored16(DType::f16, -2.0), 0xc000);
  EXPECT_EQ(stored16(DType::f16, 1.0 / 3), 0x3555);
  EXPECT_EQ(stored16(DType::f16, 65504), 0x7bff);
  EXPECT_EQ(stored16(DType::f16, 65519.99), 0x7bff);
  EXPECT_EQ(stored16(DType::f16, 65520), 0x7c00);
  EXPECT_EQ(stored16(DType::f16, 1e300), 0x7c00);
  EXPECT_EQ(stored16(DType::f16, -kInfinity), 0xfc00);
  EXPECT_EQ(stored16(DType::f16, 0x1p-14), 0x0400);
  EXPECT_EQ(stored16(DType::f16, 0x1p-24), 0x0001);
  EXPECT_EQ(stored16(DType::f16, 0x1p-25), 0x0000);        // a tie, to even
  EXPECT_EQ(stored16(DType::f16, 0x1.0001p-25), 0x0001);
  EXPECT_EQ(stored16(DType::f16, 0x1.8p-24), 0x0002);      // a tie, to even
  EXPECT_EQ(stored16(DType::f16, 0x1.ffep-15), 0x0400);    // rounds up to the smallest normal number
  EXPECT_EQ(stored16(DType::f16, 5e-324), 0x0000);
  EXPECT_EQ(stored16(DType::f16, 2049), 0x6800);           // ties to even: 2048
  EXPECT_EQ(stored16(DType::f16, 2051), 0x6802);           // ties to even: 2052
  // Through float this would be a tie and lose its last bit.
  EXPECT_EQ(stored16(DType::f16, 1 + 0x1p-11 + 0x1p-40), 0x3c01);
}

TEST(DType, Bfloat16) {
  EXPECT_EQ(stored16(DType::bf16, 1.0), 0x3f80);
  EXPECT_EQ(stored16(DType::bf16, -1.0 / 3), 0xbeab);
  EXPECT_EQ(stored16(DType::bf16, 0x1.fep127), 0x7f7f);
  EXPECT_EQ(stored16(DType::bf16, 0x1.ffp127), 0x7f80);
  EXPECT_EQ(stored16(DType::bf16, 0x1p-133), 0x0001);
  EXPECT_EQ(stored16(DType::bf16, 0x1p-134), 0x0000);
}

TEST(DType, EveryPatternOfTheSmallTypesReadsBack) {
  for (const DType type : {DType::f16, DType::bf16}) {
    for (unsigned bits = 0; bits <= 0xffffU; ++bits) {
      const double value = loaded16(type, static_cast<std::uint16_t>(bits));
      const std::uint16_t back = stored16(type, value);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(loaded16(type, back))) << bits;
      } else {
        ASSERT_EQ(back, bits);
      }
    }
  }
  // bf16 is the upper half of a float.
  for (unsigned bits = 0; bits <= 0x7f80U; ++bits) {
    ASSERT_EQ(loaded16(DType::bf16, static_cast<std::uint16_t>(bits)), static_cast<double>(std::bit_cast<float>(bits << 16)));
  }
}

TEST(DType, RoundsToTheNearestNeighbour) {
  Random random(11);
  for (const DType type : {DType::f16, DType::bf16}) {
    for (int i = 0; i < 20000; ++i) {
      const double value = std::ldexp(2 * random.uniform() - 1, static_cast<int>(random.below(44)) - 28);
      const std::uint16_t bits = stored16(type, value);
      const double error = std::abs(loaded16(type, bits) - value);
      EXPECT_LE(error, std::abs(loaded16(type, static_cast<std::uint16_t>(bits + 1)) - value)) << value;
      if ((bits & 0x7fffU) != 0) {
        EXPECT_LE(error, std::abs(loaded16(type, static_cast<std::uint16_t>(bits - 1)) - value)) << value;
      }
    }
  }
}

TEST(DType, IntegersTruncateAndSaturate) {
  const auto through = [](DType type, double value) {
    std::uint64_t bytes = 0;
    store_from_double(type, value, &bytes);
    return load_as_double(type, &bytes);
  };
  EXPECT_EQ(through(DType::i32, -1.9), -1);
  EXPECT_EQ(through(DType::u8, 255.9), 255);
  EXPECT_EQ(through(DType::u8, 256), 255);
  EXPECT_EQ(through(DType::u8, -1), 0);
  EXPECT_EQ(through(DType::i8, -200), -128);
  EXPECT_EQ(through(DType::i16, 40000), 32767);
  EXPECT_EQ(through(DType::u32, 4294967295.0), 4294967295.0);
  EXPECT_EQ(through(DType::i64, 1e30), 0x1p63);
  EXPECT_EQ(through(DType::i64, -kInfinity), -0x1p63);
  EXPECT_EQ(through(DType::u64, 1e30), 0x1p64);
  EXPECT_EQ(through(DType::i32, std::nan("")), 0);
  EXPECT_EQ(through(DType::boolean, 0.5), 1);
  EXPECT_EQ(through(DType::boolean, 0), 0);
  EXPECT_EQ(through(DType::f32, 0.1), static_cast<double>(0.1F));
  EXPECT_EQ(through(DType::f64, 0.1), 0.1);
}

TEST(DType, NeedsNoAlignment) {
  for (const DType type : kAll) {
    std::array<unsigned char, 17> bytes{};
    store_from_double(type, 1, bytes.data() + 1);
    EXPECT_EQ(load_as_double(type, bytes.data() + 1), 1) << dtype_name(type);
    for (std::size_t i = 1 + dtype_size(type); i < bytes.size(); ++i) EXPECT_EQ(bytes[i], 0) << dtype_name(type);
  }
}

TEST(DType, IntegersFitOrNot) {
  EXPECT_TRUE(integer_fits(DType::u8, 255));
  EXPECT_FALSE(integer_fits(DType::u8, 256));
  EXPECT_FALSE(integer_fits(DType::u8, -1));
  EXPECT_TRUE(integer_fits(DType::i8, -128));
  EXPECT_FALSE(integer_fits(DType::i16, 32768));
  EXPECT_TRUE(integer_fits(DType::u16, 65535));
  EXPECT_FALSE(integer_fits(DType::i32, std::int64_t{1} << 31));
  EXPECT_TRUE(integer_fits(DType::u32, std::int64_t{1} << 31));
  EXPECT_FALSE(integer_fits(DType::u64, -1));
  EXPECT_TRUE(integer_fits(DType::i64, INT64_MIN));
  EXPECT_TRUE(integer_fits(DType::boolean, 1));
  EXPECT_FALSE(integer_fits(DType::boolean, 2));
}

}  // namespace
}  // namespace tunebook
