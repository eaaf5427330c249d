// What conditions in a written header are computed with.

#include "portfolio/cpp_condition.h"

namespace tunebook {

const char* const kCppConditionRuntime =
    R"header(// Integers of 64 bits. What does not fit, or divides by zero, is not good: a condition is then false.
struct number {
  std::int64_t value = 0;
  bool good = true;
  constexpr number(std::int64_t known) : value(known) {}
  constexpr bool holds() const { return good && value != 0; }
};
constexpr number error() {
  number result(0);
  result.good = false;
  return result;
}
constexpr number operator+(number x, number y) {
  std::int64_t sum = 0;
  if (!x.good || !y.good || __builtin_add_overflow(x.value, y.value, &sum)) return error();
  return sum;
}
constexpr number operator-(number x, number y) {
  std::int64_t difference = 0;
  if (!x.good || !y.good || __builtin_sub_overflow(x.value, y.value, &difference)) return error();
  return difference;
}
constexpr number operator*(number x, number y) {
  std::int64_t product = 0;
  if (!x.good || !y.good || __builtin_mul_overflow(x.value, y.value, &product)) return error();
  return product;
}
constexpr number operator-(number x) { return number(0) - x; }
constexpr bool divides(number x, number y) {
  return x.good && y.good && y.value != 0 && !(y.value == -1 && x.value == INT64_MIN);
}
constexpr number floor_div(number x, number y) {
  if (!divides(x, y)) return error();
  const std::int64_t whole = x.value / y.value;
  return x.value % y.value != 0 && (x.value < 0) != (y.value < 0) ? whole - 1 : whole;
}
constexpr number ceil_div(number x, number y) {
  if (!divides(x, y)) return error();
  const std::int64_t whole = x.value / y.value;
  return x.value % y.value != 0 && (x.value < 0) == (y.value < 0) ? whole + 1 : whole;
}
constexpr number round_up(number x, number y) { return ceil_div(x, y) * y; }
constexpr number operator%(number x, number y) {
  if (!x.good || !y.good || y.value == 0) return error();
  if (y.value == -1) return 0;
  const std::int64_t rest = x.value % y.value;
  return rest != 0 && (rest < 0) != (y.value < 0) ? rest + y.value : rest;
}
constexpr number truth(number x, number y, bool result) {
  return x.good && y.good ? number(result) : error();
}
constexpr number operator==(number x, number y) { return truth(x, y, x.value == y.value); }
constexpr number operator!=(number x, number y) { return truth(x, y, x.value != y.value); }
constexpr number operator<(number x, number y) { return truth(x, y, x.value < y.value); }
constexpr number operator<=(number x, number y) { return truth(x, y, x.value <= y.value); }
constexpr number operator>(number x, number y) { return truth(x, y, x.value > y.value); }
constexpr number operator>=(number x, number y) { return truth(x, y, x.value >= y.value); }
// As in Python the operand that decides; an error behind it does not count.
constexpr number operator||(number x, number y) { return !x.good || x.value != 0 ? x : y; }
constexpr number operator&&(number x, number y) { return !x.good || x.value == 0 ? x : y; }
constexpr number operator!(number x) { return x.good ? number(x.value == 0) : x; }
constexpr number choose(number condition, number yes, number no) {
  return !condition.good ? condition : condition.value != 0 ? yes : no;
}
constexpr number least(number x, number y) {
  return !x.good || !y.good ? error() : y.value < x.value ? y : x;
}
constexpr number greatest(number x, number y) {
  return !x.good || !y.good ? error() : y.value > x.value ? y : x;
}
constexpr number absolute(number x) { return x.value < 0 ? -x : x; }
constexpr number is_power_of_two(number x) {
  return x.good ? number(x.value > 0 && (x.value & (x.value - 1)) == 0) : x;
}
constexpr number log2_of(number x) {
  if (!is_power_of_two(x).holds()) return error();
  std::int64_t exponent = 0;
  while ((std::int64_t{1} << exponent) != x.value) ++exponent;
  return exponent;
}
constexpr number power(number x, number exponent) {
  if (!x.good || !exponent.good || exponent.value < 0) return error();
  if (x.value == 0 || x.value == 1) return exponent.value == 0 ? number(1) : x;
  if (x.value == -1) return exponent.value % 2 == 0 ? number(1) : x;
  number result(1);
  for (std::int64_t i = 0; i < exponent.value && result.good; ++i) result = result * x;
  return result;
}
)header";

}  // namespace tunebook
