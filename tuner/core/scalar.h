#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/value.h"

namespace tunebook {

// What an expression works on: small, trivially copyable, no allocation.
// Integers and bools are `a`; a rational is a/b in lowest terms with b > 1 (b == 1 is normalised to integer);
// text is an interned string (equal strings have equal pointers, kept for the program's life; thread-safe).
struct Scalar {
  enum class Kind : std::uint8_t { unset, integer, boolean, rational, real, text };
  Kind kind = Kind::unset;
  union {
    std::int64_t a = 0;
    double d;
    const std::string* s;
  };
  std::int64_t b = 1;

  static Scalar integer(std::int64_t value);
  static Scalar boolean(bool value);
  static Scalar real(double value);
  static Scalar text(std::string_view value);
  static Scalar from(const Value& value);
  double as_real() const;  // integer, boolean, rational, real; 0 for text
};

bool operator==(const Scalar& x, const Scalar& y);

}  // namespace tunebook
