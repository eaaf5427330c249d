#include "core/expression_arithmetic.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "core/dtype.h"

namespace tunebook::arithmetic {
namespace {

// Products of two 64-bit numbers, and sums of two such products, are exact in it.
__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void fail(std::string message) { throw Fault{std::move(message)}; }

bool is_exact(const Scalar& x) { return is_whole(x) || x.kind == Scalar::Kind::rational; }

// Both are numbers from here on; true if the exact path applies.
bool both_exact(const Scalar& x, const Scalar& y, std::string_view operation) {
  require_number(x, operation);
  require_number(y, operation);
  return is_exact(x) && is_exact(y);
}

Scalar real(double value) {
  if (!std::isfinite(value)) fail("the result is not a finite number");
  return Scalar::real(value);
}

bool fits(Wide value) { return value >= kMin && value <= kMax; }

UnsignedWide magnitude(Wide value) { return value < 0 ? -static_cast<UnsignedWide>(value) : static_cast<UnsignedWide>(value); }

UnsignedWide greatest_common_divisor(UnsignedWide x, UnsignedWide y) {
  constexpr UnsignedWide kWord = std::numeric_limits<std::uint64_t>::max();
  while (y != 0) {
    if (x <= kWord && y <= kWord) return std::gcd(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y));
    const UnsignedWide rest = x % y;
    x = y;
    y = rest;
  }
  return x;
}

// numerator / denominator in lowest terms; the operands are for the message.
Scalar fraction(Wide numerator, Wide denominator, std::string_view operation, const Scalar& x, const Scalar& y) {
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  const auto divisor = static_cast<Wide>(greatest_common_divisor(magnitude(numerator), magnitude(denominator)));
  numerator /= divisor;
  denominator /= divisor;
  if (!fits(numerator) || !fits(denominator)) fail_overflow(operation, x, y);
  Scalar result = Scalar::integer(static_cast<std::int64_t>(numerator));
  if (denominator != 1) {
    result.kind = Scalar::Kind::rational;
    result.b = static_cast<std::int64_t>(denominator);
  }
  return result;
}

Scalar whole(Wide value, std::string_view operation, const Scalar& x, const Scalar& y) {
  if (!fits(value)) fail_overflow(operation, x, y);
  return Scalar::integer(static_cast<std::int64_t>(value));
}

void require_divisor(const Scalar& y, std::string_view operation) {
  if (y.as_real() == 0) fail(operation == "%" ? "modulo by zero" : "division by zero");
}

// x / y as a quotient of two wide integers, the lower one positive.
struct Quotient {
  Quotient(const Scalar& x, const Scalar& y) : upper(static_cast<Wide>(x.a) * y.b), lower(static_cast<Wide>(x.b) * y.a) {
    if (lower < 0) {
      upper = -upper;
      lower = -lower;
    }
  }
  Wide floor() const { return upper / lower - (upper % lower < 0 ? 1 : 0); }
  Wide ceiling() const { return upper / lower + (upper % lower > 0 ? 1 : 0); }

  Wide upper;
  Wide lower;
};

// Python's divmod of floats: the remainder is exact and has the sign of y, the quotient fits to it.
double real_modulo(double x, double y) {
  const double rest = std::fmod(x, y);
  if (rest == 0) return std::copysign(0.0, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}

double real_floor_divide(double x, double y) { return std::round((x - real_modulo(x, y)) / y); }

std::int64_t whole_power(std::int64_t base, std::int64_t exponent, const Scalar& x, const Scalar& y) {
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  std::int64_t result = 1;  // overflows within 64 steps
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) fail_overflow("**", x, y);
  }
  return result;
}

std::int64_t require_integer(const Scalar& x, std::string_view function) {
  if (!is_whole(x)) fail(fmt::format("{} needs an integer, found {}", function, describe(x)));
  return x.a;
}

void require_exact(const Scalar& x, const Scalar& y, std::string_view function) {
  if (!both_exact(x, y, function)) fail(fmt::format("{} needs exact numbers, found {}", function, describe(is_exact(x) ? y : x)));
}

}  // namespace

std::string describe(const Scalar& x) {
  switch (x.kind) {
    case Scalar::Kind::unset: return "no value";
    case Scalar::Kind::integer: return std::to_string(x.a);
    case Scalar::Kind::boolean: return x.a != 0 ? "true" : "false";
    case Scalar::Kind::rational: return fmt::format("{}/{}", x.a, x.b);
    case Scalar::Kind::real: return fmt::format("{}", x.d);
    case Scalar::Kind::text: return fmt::format("'{}'", *x.s);
  }
  return "?";
}

void fail_overflow(std::string_view operation, const Scalar& x, const Scalar& y) {
  const bool is_function = operation[0] >= 'a' && operation[0] <= 'z';
  const std::string term = is_function ? fmt::format("{}({}, {})", operation, describe(x), describe(y))
                                       : fmt::format("{} {} {}", describe(x), operation, describe(y));
  fail(term + " does not fit into 64 bits");
}

void require_number(const Scalar& x, std::string_view operation) {
  if (x.kind == Scalar::Kind::text || x.kind == Scalar::Kind::unset) {
    fail(fmt::format("'{}' needs numbers, found {}", operation, describe(x)));
  }
}

Scalar add(const Scalar& x, const Scalar& y) {
  if (!both_exact(x, y, "+")) return real(x.as_real() + y.as_real());
  return fraction(static_cast<Wide>(x.a) * y.b + static_cast<Wide>(y.a) * x.b, static_cast<Wide>(x.b) * y.b, "+", x, y);
}

Scalar subtract(const Scalar& x, const Scalar& y) {
  if (!both_exact(x, y, "-")) return real(x.as_real() - y.as_real());
  return fraction(static_cast<Wide>(x.a) * y.b - static_cast<Wide>(y.a) * x.b, static_cast<Wide>(x.b) * y.b, "-", x, y);
}

Scalar multiply(const Scalar& x, const Scalar& y) {
  if (!both_exact(x, y, "*")) return real(x.as_real() * y.as_real());
  return fraction(static_cast<Wide>(x.a) * y.a, static_cast<Wide>(x.b) * y.b, "*", x, y);
}

Scalar divide(const Scalar& x, const Scalar& y) {
  const bool exact = both_exact(x, y, "/");
  require_divisor(y, "/");
  if (!exact) return real(x.as_real() / y.as_real());
  return fraction(static_cast<Wide>(x.a) * y.b, static_cast<Wide>(x.b) * y.a, "/", x, y);
}

Scalar floor_divide(const Scalar& x, const Scalar& y) {
  const bool exact = both_exact(x, y, "//");
  require_divisor(y, "//");
  if (!exact) return real(real_floor_divide(x.as_real(), y.as_real()));
  return whole(Quotient(x, y).floor(), "//", x, y);
}

Scalar modulo(const Scalar& x, const Scalar& y) {
  const bool exact = both_exact(x, y, "%");
  require_divisor(y, "%");
  if (!exact) return real(real_modulo(x.as_real(), y.as_real()));
  // x - y * floor(x / y), over the common denominator.
  const Quotient quotient(x, y);
  Wide rest = quotient.upper % quotient.lower;
  if (rest < 0) rest += quotient.lower;
  return fraction(y.a < 0 ? -rest : rest, static_cast<Wide>(x.b) * y.b, "%", x, y);
}

Scalar power(const Scalar& x, const Scalar& y, bool reals) {
  const bool exact = both_exact(x, y, "**");
  if (exact && is_whole(y) && y.a >= 0) {
    const std::int64_t upper = whole_power(x.a, y.a, x, y);
    return fraction(upper, whole_power(x.b, y.a, x, y), "**", x, y);
  }
  if (exact && !reals) fail(fmt::format("'**' needs a non-negative integer exponent, found {}", describe(y)));
  return real(std::pow(x.as_real(), y.as_real()));
}

Scalar ceil_div(const Scalar& x, const Scalar& y) {
  require_exact(x, y, "ceil_div");
  require_divisor(y, "ceil_div");
  return whole(Quotient(x, y).ceiling(), "ceil_div", x, y);
}

Scalar round_up(const Scalar& x, const Scalar& y) {
  require_exact(x, y, "round_up");
  require_divisor(y, "round_up");
  const Wide multiple = Quotient(x, y).ceiling();
  if (!fits(multiple)) fail_overflow("round_up", x, y);
  return fraction(multiple * y.a, y.b, "round_up", x, y);
}

Scalar negate(const Scalar& x) {
  require_number(x, "-");
  if (!is_exact(x)) return Scalar::real(-x.d);
  if (x.a == kMin) fail(fmt::format("-({}) does not fit into 64 bits", describe(x)));
  Scalar result = x;
  result.a = -x.a;
  if (x.kind == Scalar::Kind::boolean) result.kind = Scalar::Kind::integer;
  return result;
}

Scalar absolute(const Scalar& x) {
  require_number(x, "abs");
  if (!is_exact(x)) return Scalar::real(std::fabs(x.d));
  if (x.a == kMin) fail(fmt::format("abs({}) does not fit into 64 bits", describe(x)));
  Scalar result = x;
  result.a = x.a < 0 ? -x.a : x.a;
  if (x.kind == Scalar::Kind::boolean) result.kind = Scalar::Kind::integer;
  return result;
}

Scalar is_power_of_two(const Scalar& x) {
  const std::int64_t value = require_integer(x, "is_pow2");
  return Scalar::boolean(value > 0 && std::has_single_bit(static_cast<std::uint64_t>(value)));
}

Scalar log2(const Scalar& x, bool reals) {
  require_number(x, "log2");
  if (x.as_real() <= 0) fail(fmt::format("log2 needs a positive number, found {}", describe(x)));
  if (reals) return real(std::log2(x.as_real()));
  const auto value = static_cast<std::uint64_t>(require_integer(x, "log2"));
  if (!std::has_single_bit(value)) fail(fmt::format("log2({}) is not an integer", describe(x)));
  return Scalar::integer(std::countr_zero(value));
}

Scalar sqrt(const Scalar& x) {
  require_number(x, "sqrt");
  if (x.as_real() < 0) fail(fmt::format("sqrt needs a non-negative number, found {}", describe(x)));
  return real(std::sqrt(x.as_real()));
}

Scalar size_of(const Scalar& x) {
  const auto type = x.kind == Scalar::Kind::text ? parse_dtype(*x.s) : std::nullopt;
  if (!type) fail(fmt::format("sizeof needs an element type, found {}; types: {}", describe(x), dtype_names()));
  return Scalar::integer(static_cast<std::int64_t>(dtype_size(*type)));
}

bool truth(const Scalar& x) {
  if (is_exact(x)) return x.a != 0;
  if (x.kind == Scalar::Kind::real) return x.d != 0;
  fail(fmt::format("expected true or false, found {}", describe(x)));
}

int compare(const Scalar& x, const Scalar& y, std::string_view operation) {
  if (x.kind == Scalar::Kind::text || y.kind == Scalar::Kind::text) {
    fail(fmt::format("'{}' needs numbers, found {}; texts are compared by ==, != and in", operation,
                     describe(x.kind == Scalar::Kind::text ? x : y)));
  }
  if (both_exact(x, y, operation)) {
    const Wide left = static_cast<Wide>(x.a) * y.b;
    const Wide right = static_cast<Wide>(y.a) * x.b;
    return left < right ? -1 : (left > right ? 1 : 0);
  }
  const double left = x.as_real();
  const double right = y.as_real();
  return left < right ? -1 : (left > right ? 1 : 0);
}

}  // namespace tunebook::arithmetic
