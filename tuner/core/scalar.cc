#include "core/scalar.h"

#include <mutex>
#include <unordered_set>

namespace tunebook {
namespace {

// Equal texts share one string, so that comparing them compares two pointers. Never freed: Scalars hold plain pointers into it,
// and the texts are the few type names and words that specs declare.
const std::string* interned(std::string_view text) {
  static std::mutex mutex;
  static auto* const strings = new std::unordered_set<std::string>();
  const std::lock_guard lock(mutex);
  return &*strings->emplace(text).first;
}

}  // namespace

Scalar Scalar::integer(std::int64_t value) {
  Scalar scalar;
  scalar.kind = Kind::integer;
  scalar.a = value;
  return scalar;
}

Scalar Scalar::boolean(bool value) {
  Scalar scalar;
  scalar.kind = Kind::boolean;
  scalar.a = value ? 1 : 0;
  return scalar;
}

Scalar Scalar::real(double value) {
  Scalar scalar;
  scalar.kind = Kind::real;
  scalar.d = value;
  return scalar;
}

Scalar Scalar::text(std::string_view value) {
  Scalar scalar;
  scalar.kind = Kind::text;
  scalar.s = interned(value);
  return scalar;
}

Scalar Scalar::from(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return integer(*number);
  if (const auto* truth = std::get_if<bool>(&value)) return boolean(*truth);
  return text(std::get<std::string>(value));
}

double Scalar::as_real() const {
  switch (kind) {
    case Kind::integer:
    case Kind::boolean: return static_cast<double>(a);
    case Kind::rational: return static_cast<double>(a) / static_cast<double>(b);
    case Kind::real: return d;
    case Kind::unset:
    case Kind::text: return 0;
  }
  return 0;
}

bool operator==(const Scalar& x, const Scalar& y) {
  using Kind = Scalar::Kind;
  const auto is_number = [](Kind kind) { return kind != Kind::unset && kind != Kind::text; };
  if (!is_number(x.kind) || !is_number(y.kind)) return x.kind == y.kind && (x.kind == Kind::unset || x.s == y.s);
  if (x.kind == Kind::real || y.kind == Kind::real) return x.as_real() == y.as_real();
  return x.a == y.a && x.b == y.b;  // in lowest terms, and 1 for integers and bools
}

}  // namespace tunebook
