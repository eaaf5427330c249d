#include "core/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace tunebook {
namespace {

struct Row {
  DType type;
  std::string_view name;
  std::size_t size;
  double unit_roundoff;
  std::string_view cuda_name;
};

constexpr std::array<Row, 13> kRows = {{
    {DType::f16, "f16", 2, 0x1p-11, "__half"},
    {DType::bf16, "bf16", 2, 0x1p-8, "__nv_bfloat16"},
    {DType::f32, "f32", 4, 0x1p-24, "float"},
    {DType::f64, "f64", 8, 0x1p-53, "double"},
    {DType::i8, "i8", 1, 0, "signed char"},
    {DType::u8, "u8", 1, 0, "unsigned char"},
    {DType::i16, "i16", 2, 0, "short"},
    {DType::u16, "u16", 2, 0, "unsigned short"},
    {DType::i32, "i32", 4, 0, "int"},
    {DType::u32, "u32", 4, 0, "unsigned int"},
    {DType::i64, "i64", 8, 0, "long long"},
    {DType::u64, "u64", 8, 0, "unsigned long long"},
    {DType::boolean, "bool", 1, 0, "bool"},
}};

constexpr bool rows_in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].type) != i) return false;
  }
  return true;
}
static_assert(rows_in_order(), "row() indexes by the enumerator");

const Row& row(DType type) { return kRows[static_cast<std::size_t>(type)]; }

// A 16-bit IEEE-like format: sign, exponent, `mantissa` fraction bits; smallest normal number 2^min_exponent.
struct SmallFloat {
  int mantissa;
  int min_exponent;
};
constexpr SmallFloat kF16 = {10, -14};
constexpr SmallFloat kBf16 = {7, -126};

constexpr int kDoubleMantissa = 52;
constexpr std::uint64_t kDoubleFraction = (std::uint64_t{1} << kDoubleMantissa) - 1;
constexpr std::uint64_t kDoubleInfinity = std::uint64_t{0x7ff} << kDoubleMantissa;

double widen(SmallFloat format, std::uint16_t bits) {
  const unsigned magnitude = bits & 0x7fffU;
  const unsigned infinity = 0x7fffU >> format.mantissa << format.mantissa;
  const int field = static_cast<int>(magnitude >> format.mantissa);
  const unsigned fraction = magnitude & ((1U << format.mantissa) - 1);
  double value = 0;
  if (magnitude >= infinity) {
    value = fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (field == 0) {
    value = std::ldexp(fraction, format.min_exponent - format.mantissa);
  } else {
    const int exponent = field - 1 + format.min_exponent;
    value = std::bit_cast<double>((static_cast<std::uint64_t>(exponent + 1023) << kDoubleMantissa) |
                                  (static_cast<std::uint64_t>(fraction) << (kDoubleMantissa - format.mantissa)));
  }
  return (bits & 0x8000U) != 0 ? -value : value;
}

// Straight from double, not through float: rounding twice gives a wrong last bit now and then.
std::uint16_t narrow(SmallFloat format, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
  const auto sign = static_cast<std::uint16_t>(bits >> 63 << 15);
  const std::uint64_t infinity = 0x7fffU >> format.mantissa << format.mantissa;
  if (magnitude > kDoubleInfinity) return static_cast<std::uint16_t>(sign | 0x7fffU);
  const int exponent = static_cast<int>(magnitude >> kDoubleMantissa) - 1023;
  if (exponent > -format.min_exponent + 1) return static_cast<std::uint16_t>(sign | infinity);
  // Rounded significand times 2^(scale - mantissa); a carry out of it, and the implicit one, add to the exponent field.
  const int scale = std::max(exponent, format.min_exponent);
  const int shift = kDoubleMantissa - format.mantissa + (scale - exponent);
  if (shift > kDoubleMantissa + 1) return sign;  // below half the smallest subnormal number
  const std::uint64_t significand = (magnitude & kDoubleFraction) | (std::uint64_t{1} << kDoubleMantissa);
  std::uint64_t rounded = significand >> shift;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  const std::uint64_t encoded = (static_cast<std::uint64_t>(scale - format.min_exponent) << format.mantissa) + rounded;
  return static_cast<std::uint16_t>(sign | std::min(encoded, infinity));
}

template <typename T>
T load(const void* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);  // `bytes` need not be aligned
  return value;
}

template <typename T>
void store(T value, void* bytes) {
  std::memcpy(bytes, &value, sizeof value);
}

// Out of range: the nearest end, as a GPU converts; not a number: 0. The plain cast would be undefined.
template <typename T>
void store_truncated(double value, void* bytes) {
  constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
  const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);  // first value too large, exact in double
  T result = 0;
  if (value >= above) {
    result = std::numeric_limits<T>::max();
  } else if (value <= kLow) {
    result = std::numeric_limits<T>::min();
  } else if (!std::isnan(value)) {
    result = static_cast<T>(value);
  }
  store(result, bytes);
}

}  // namespace

std::string_view dtype_name(DType type) { return row(type).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const Row& candidate : kRows) {
    if (candidate.name == name) return candidate.type;
  }
  return std::nullopt;
}

std::string_view dtype_names() { return "f16, bf16, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64, bool"; }

std::size_t dtype_size(DType type) { return row(type).size; }

bool is_floating(DType type) { return row(type).unit_roundoff > 0; }

double unit_roundoff(DType type) { return row(type).unit_roundoff; }

std::string_view cuda_type_name(DType type) { return row(type).cuda_name; }

double load_as_double(DType type, const void* bytes) {
  switch (type) {
    case DType::f16: return widen(kF16, load<std::uint16_t>(bytes));
    case DType::bf16: return widen(kBf16, load<std::uint16_t>(bytes));
    case DType::f32: return static_cast<double>(load<float>(bytes));
    case DType::f64: return load<double>(bytes);
    case DType::i8: return load<std::int8_t>(bytes);
    case DType::u8: return load<std::uint8_t>(bytes);
    case DType::i16: return load<std::int16_t>(bytes);
    case DType::u16: return load<std::uint16_t>(bytes);
    case DType::i32: return load<std::int32_t>(bytes);
    case DType::u32: return load<std::uint32_t>(bytes);
    case DType::i64: return static_cast<double>(load<std::int64_t>(bytes));
    case DType::u64: return static_cast<double>(load<std::uint64_t>(bytes));
    case DType::boolean: return load<std::uint8_t>(bytes);  // a poisoned byte is no valid bool, but must be seen
  }
  return 0;
}

void store_from_double(DType type, double value, void* bytes) {
  switch (type) {
    case DType::f16: return store(narrow(kF16, value), bytes);
    case DType::bf16: return store(narrow(kBf16, value), bytes);
    case DType::f32: return store(static_cast<float>(value), bytes);
    case DType::f64: return store(value, bytes);
    case DType::i8: return store_truncated<std::int8_t>(value, bytes);
    case DType::u8: return store_truncated<std::uint8_t>(value, bytes);
    case DType::i16: return store_truncated<std::int16_t>(value, bytes);
    case DType::u16: return store_truncated<std::uint16_t>(value, bytes);
    case DType::i32: return store_truncated<std::int32_t>(value, bytes);
    case DType::u32: return store_truncated<std::uint32_t>(value, bytes);
    case DType::i64: return store_truncated<std::int64_t>(value, bytes);
    case DType::u64: return store_truncated<std::uint64_t>(value, bytes);
    case DType::boolean: return store<std::uint8_t>(value != 0 ? 1 : 0, bytes);
  }
}

bool integer_fits(DType type, std::int64_t value) {
  switch (type) {
    case DType::boolean: return value == 0 || value == 1;
    case DType::i8: return value >= INT8_MIN && value <= INT8_MAX;
    case DType::u8: return value >= 0 && value <= UINT8_MAX;
    case DType::i16: return value >= INT16_MIN && value <= INT16_MAX;
    case DType::u16: return value >= 0 && value <= UINT16_MAX;
    case DType::i32: return value >= INT32_MIN && value <= INT32_MAX;
    case DType::u32: return value >= 0 && value <= UINT32_MAX;
    case DType::u64: return value >= 0;
    default: return true;
  }
}

void store_scalar(DType type, std::int64_t integer, double real, void* bytes) {
  if (is_floating(type)) return store_from_double(type, real, bytes);
  // Little-endian: the low bytes come first. A double would lose bits of large integers.
  const std::int64_t value = type == DType::boolean ? static_cast<std::int64_t>(integer != 0) : integer;
  std::memcpy(bytes, &value, dtype_size(type));
}

}  // namespace tunebook
