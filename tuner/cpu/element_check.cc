#include "cpu/element_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace tunebook {
namespace {

// Whether it agrees; raises max_error if the element counts for it.
inline bool agrees(double got, double expected, double rel, double abs, double& max_error) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected)) return got == expected;
  if (std::isinf(got)) return false;  // also where what is allowed overflows
  const double allowed = abs + rel * std::fabs(expected);
  const double difference = std::fabs(got - expected);
  if (!(difference <= allowed)) return false;  // also if `got` is NaN
  if (difference > 0) max_error = std::max(max_error, difference / allowed);
  return true;
}

template <class Load>
ElementCheck check_with(const Load& load, const void* got, const void* expected, std::int64_t begin, std::int64_t end, double rel,
                        double abs) {
  ElementCheck check;
  for (std::int64_t i = begin; i < end; ++i) {
    if (agrees(load(got, i), load(expected, i), rel, abs, check.max_error)) continue;
    check.first_bad = i;
    return check;
  }
  return check;
}

ElementCheck check_bytes(std::size_t size, const void* got, const void* expected, std::int64_t begin, std::int64_t end) {
  const char* const g = static_cast<const char*>(got);
  const char* const e = static_cast<const char*>(expected);
  const auto offset = [size](std::int64_t i) { return static_cast<std::size_t>(i) * size; };
  if (std::memcmp(g + offset(begin), e + offset(begin), offset(end - begin)) == 0) return {};
  for (std::int64_t i = begin; i < end; ++i) {
    if (std::memcmp(g + offset(i), e + offset(i), size) != 0) return {i, 0};
  }
  return {};
}

}  // namespace

ElementCheck check_elements(DType type, const void* got, const void* expected, std::int64_t begin, std::int64_t end, double rel,
                            double abs) {
  if (begin >= end) return {};
  switch (type) {
    case DType::f32:
      return check_with([](const void* p, std::int64_t i) { return static_cast<double>(static_cast<const float*>(p)[i]); }, got,
                        expected, begin, end, rel, abs);
    case DType::f64:
      return check_with([](const void* p, std::int64_t i) { return static_cast<const double*>(p)[i]; }, got, expected, begin, end,
                        rel, abs);
    case DType::f16:
    case DType::bf16:
      return check_with([type](const void* p, std::int64_t i) { return load_as_double(type, static_cast<const char*>(p) + 2 * i); },
                        got, expected, begin, end, rel, abs);
    default: return check_bytes(dtype_size(type), got, expected, begin, end);
  }
}

std::string element_text(DType type, const void* elements, std::int64_t index) {
  const char* const at = static_cast<const char*>(elements) + static_cast<std::size_t>(index) * dtype_size(type);
  if (type == DType::i64 || type == DType::u64) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    return type == DType::u64 ? fmt::format("{}", bits) : fmt::format("{}", static_cast<std::int64_t>(bits));
  }
  const double value = load_as_double(type, at);
  return std::isnan(value) ? "nan" : fmt::format("{}", value);  // a NaN's sign means nothing
}

}  // namespace tunebook
