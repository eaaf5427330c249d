#include "core/expression.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/expression_arithmetic.h"

namespace tunebook {
namespace {

using Mode = Expression::Mode;

// A few names with values, as a spec would give them.
class ExpressionTest : public ::testing::Test {
 protected:
  ExpressionTest() {
    set("a", Scalar::integer(7));
    set("b", Scalar::integer(3));
    set("zero", Scalar::integer(0));
    set("negative", Scalar::integer(-5));
    set("yes", Scalar::boolean(true));
    set("T", Scalar::text("f16"));
    set("BLOCK", Scalar::integer(64));
    set("KWG", Scalar::integer(32));
    set("MDIMC", Scalar::integer(16));
    set("NDIMC", Scalar::integer(8));
    set("MDIMA", Scalar::integer(32));
    set("INPUT", Scalar::integer(128));
    set("L", Scalar::integer(4));
    set("N", Scalar::integer(16));
    set("least", Scalar::integer(INT64_MIN));
    set("most", Scalar::integer(INT64_MAX));
    set("eps", Scalar::real(0x1p-24));
    set("infinite", Scalar::real(HUGE_VAL));
    set("device.shared_bytes", Scalar::integer(49152));
    set("absent", Scalar{});
  }

  void set(const std::string& name, const Scalar& value) {
    names_.add(name);
    values_.push_back(value);
  }

  // The value as messages show it; its kind is part of that.
  std::string value_of(const std::string& text, Mode mode = Mode::integer) const {
    return arithmetic::describe(Expression::compile(text, names_, mode).evaluate(values_));
  }

  // "COLUMN: message"
  std::string error_of(const std::string& text, Mode mode = Mode::integer) const {
    try {
      return "no error, but " + value_of(text, mode);
    } catch (const ExpressionError& error) {
      return std::to_string(error.column) + ": " + error.what();
    }
  }

  Names names_;
  std::vector<Scalar> values_;
};

struct Answer {
  const char* text;
  const char* value;
};

TEST_F(ExpressionTest, GivesTheKnownAnswers) {
  for (const auto& [text, value] : std::vector<Answer>{
           // Arithmetic as in Python.
           {"1 + 2 * 3", "7"}, {"(1 + 2) * 3", "9"}, {"10 - 4 - 3", "3"}, {"a - b", "4"}, {"+a", "7"}, {"- -a", "7"},
           {"7 / 2", "7/2"}, {"8 / 2", "4"}, {"a / b * b", "7"}, {"a / b + 2 / b", "3"}, {"-7 / 2", "-7/2"}, {"7 / -2", "-7/2"},
           {"6 / 4 - 1 / 2", "1"}, {"1 / 3 + 1 / 6", "1/2"}, {"(1 / 2) ** 3", "1/8"}, {"(-2) ** 3", "-8"},
           {"7 // 2", "3"}, {"-7 // 2", "-4"}, {"7 // -2", "-4"}, {"-7 // -2", "3"}, {"6 // -2", "-3"}, {"3 / 2 // (1 / 4)", "6"},
           {"7 % 3", "1"}, {"-7 % 3", "2"}, {"7 % -3", "-2"}, {"-7 % -3", "-1"}, {"6 % -3", "0"}, {"-7 / 2 % (3 / 4)", "1/4"},
           {"2 ** 10", "1024"}, {"2 ** 3 ** 2", "512"}, {"-2 ** 2", "-4"}, {"zero ** 0", "1"}, {"2 ** 62 - 1 + 2 ** 62", "9223372036854775807"},
           {"(-1) ** 9223372036854775807", "-1"}, {"1 ** most", "1"}, {"2 * -3", "-6"},
           // The ends of the range.
           {"-9223372036854775808", "-9223372036854775808"}, {"9223372036854775807", "9223372036854775807"},
           {"least % -1", "0"}, {"least // 1", "-9223372036854775808"}, {"least + most", "-1"}, {"(-2) ** 63", "-9223372036854775808"},
           {"least / least", "1"}, {"most / most", "1"}, {"least / 2 * 2 == least", "true"}, {"max(least, most)", "9223372036854775807"},
           // Comparisons.
           {"a < 8", "true"}, {"a <= 7", "true"}, {"a > 7", "false"}, {"a >= 7", "true"}, {"a == 7", "true"}, {"a != 7", "false"},
           {"1 / 3 < 1 / 2", "true"}, {"2 / 4 == 1 / 2", "true"}, {"a / b > 2", "true"}, {"-1 / 2 < 0", "true"},
           {"most / (most - 1) > 1", "true"}, {"1 < 2 < 3", "true"}, {"1 < 3 < 3", "false"}, {"3 > 2 > 1 != 0", "true"},
           {"1 == True", "true"}, {"yes + yes", "2"}, {"-yes", "-1"}, {"+True", "1"}, {"true", "true"}, {"False", "false"},
           {"T == 'f16'", "true"}, {"T != \"f32\"", "true"}, {"'7' == 7", "false"}, {"T == a", "false"},
           {"T in ['f32', 'f16']", "true"}, {"a in [1, 7]", "true"}, {"a in (1, 2)", "false"}, {"a not in [1, 2]", "true"},
           {"a in []", "false"}, {"a in (7,)", "true"}, {"a in [b + 4,]", "true"}, {"14 / 2 in [7]", "true"}, {"0 < b in [1, 3]", "true"},
           {"not a in [7]", "false"}, {"(a in [7]) == True", "true"},
           // Logic: as in Python the deciding operand is the value.
           {"a and b", "3"}, {"zero and a", "0"}, {"a or zero", "7"}, {"zero or b", "3"}, {"zero or False", "false"},
           {"not zero", "true"}, {"!a", "false"}, {"not a == 7", "false"}, {"!zero == 1", "true"}, {"not not a", "true"},
           {"1 or 0 and 0", "1"}, {"true && false || true", "true"}, {"zero and 1 or 2 and 5", "5"},
           {"a ? b : 1", "3"}, {"zero ? b : 1", "1"}, {"b if a > 3 else 1", "3"}, {"b if a < 3 else 1", "1"},
           {"1 if zero else 2 if zero else 3", "3"}, {"zero ? 1 : zero ? 2 : 3", "3"}, {"a ? zero ? 1 : 2 : 3", "2"},
           {"1 + 1 if a else 5", "2"}, {"(1 if a else 2) + 1", "2"}, {"a or b if zero else 9", "9"}, {"T if a else 0", "'f16'"},
           // What is not reached cannot fail.
           {"zero and 1 / zero", "0"}, {"a or 1 / 0", "7"}, {"zero ? 1 / 0 : 5", "5"}, {"5 if a else absent", "5"}, {"1 > 2 > 1 / 0", "false"},
           {"zero != 0 and a % zero == 0", "false"}, {"False and 99999999999 * 99999999999", "false"},
           // Functions.
           {"min(a, b)", "3"}, {"max(a, b, BLOCK, 1)", "64"}, {"min(1 / 2, 1 / 3)", "1/3"}, {"abs(negative)", "5"}, {"abs(-1 / 2)", "1/2"},
           {"ceil_div(7, 2)", "4"}, {"ceil_div(-7, 2)", "-3"}, {"ceil_div(8, 2)", "4"}, {"ceil_div(7, -2)", "-3"}, {"ceil_div(7 / 2, 1)", "4"},
           {"round_up(7, 4)", "8"}, {"round_up(8, 4)", "8"}, {"round_up(-7, 4)", "-4"}, {"round_up(1, 3 / 2)", "3/2"},
           {"is_pow2(64)", "true"}, {"is_pow2(0)", "false"}, {"is_pow2(-4)", "false"}, {"is_pow2(12)", "false"}, {"is_pow2(2 ** 62)", "true"},
           {"log2(1)", "0"}, {"log2(BLOCK)", "6"}, {"sizeof(T)", "2"}, {"sizeof(f64) * a", "56"}, {"sizeof(bool)", "1"},
           {"device.shared_bytes // 1024", "48"}, {" \t\n1+1 ", "2"}, {"a<b", "false"}, {"a--b", "10"},
           // Restrictions of kernels that are tuned with Kernel Tuner.
           {"KWG % ((MDIMC * NDIMC)/MDIMA) == 0", "true"}, {"KWG % ((MDIMC * N)/(MDIMA * 5)) == 0", "true"}, {"32 <= a * b <= 1024", "false"},
           {"32 <= BLOCK * b <= 1024", "true"}, {"(INPUT / L) % N == 0", "true"}, {"(INPUT / a) % N == 0", "false"},
           {"BLOCK==64 or BLOCK==128", "true"}, {"BLOCK*b*4 < device.shared_bytes/2", "true"}}) {
    try {
      EXPECT_EQ(value_of(text), value) << text;
    } catch (const ExpressionError& error) {
      ADD_FAILURE() << text << " failed at " << error.column << ": " << error.what();
    }
  }
}

TEST_F(ExpressionTest, RealModeGivesTheKnownAnswers) {
  for (const auto& [text, value] : std::vector<std::pair<const char*, double>>{
           {"0.5", 0.5}, {".5", 0.5}, {"2.", 2}, {"1e-3", 1e-3}, {"2E+2", 200}, {"1 / 3", 1.0 / 3}, {"2 * eps", 0x1p-23}, {"sqrt(16)", 4},
           {"sqrt(BLOCK) * eps * 2.5", 2.5 * 8 * 0x1p-24}, {"log2(10)", 3.321928094887362}, {"log2(8)", 3}, {"log2(0.5)", -1},
           {"2 ** -1", 0.5}, {"2 ** 0.5", 1.4142135623730951}, {"4 ** (1 / 2)", 2}, {"2 ** 10", 1024}, {"7.5 // 2", 3}, {"-7.5 // 2", -4},
           {"7.5 % 2", 1.5}, {"-7.5 % 2", 0.5}, {"7.5 % -2", -0.5}, {"0.1 + 0.2", 0.1 + 0.2}, {"-eps", -0x1p-24}, {"abs(-0.5)", 0.5},
           {"min(0.5, 1 / 3)", 1.0 / 3}, {"max(0.5, 1)", 1}, {"0.5 == 1 / 2", 1}, {"0.5 < a < 7.5", 1}, {"0.0 or 3.5", 3.5}, {"not 0.5", 0},
           {"1.5 ? 2 : 3", 2}, {"0.5 in [1 / 2]", 1}, {"2 * a ** 3 / 1e9", 686e-9}}) {
    EXPECT_EQ(Expression::compile(text, names_, Mode::real).evaluate_real(values_), value) << text;
  }
}

TEST_F(ExpressionTest, IntegersStayExactInRealMode) {
  EXPECT_EQ(value_of("7 / 2 * 2", Mode::real), "7");
  EXPECT_EQ(value_of("2 ** 62 + 1", Mode::real), "4611686018427387905");
  EXPECT_EQ(error_of("most * 2", Mode::real), "6: 9223372036854775807 * 2 does not fit into 64 bits");
}

struct Failure {
  const char* text;
  const char* error;
};

TEST_F(ExpressionTest, ErrorsNameTheColumn) {
  for (const auto& [text, error] : std::vector<Failure>{
           // Overflow.
           {"99999999999 * 99999999999 > 1", "13: 99999999999 * 99999999999 does not fit into 64 bits"},
           {"a + most", "3: 7 + 9223372036854775807 does not fit into 64 bits"},
           {"least - 1", "7: -9223372036854775808 - 1 does not fit into 64 bits"},
           {"least // -1", "7: -9223372036854775808 // -1 does not fit into 64 bits"},
           {"least / -1", "7: -9223372036854775808 / -1 does not fit into 64 bits"},
           {"-least", "1: -(-9223372036854775808) does not fit into 64 bits"},
           {"1 + abs(least)", "5: abs(-9223372036854775808) does not fit into 64 bits"},
           {"a ** most", "3: 7 ** 9223372036854775807 does not fit into 64 bits"}, {"2 ** 63", "3: 2 ** 63 does not fit into 64 bits"},
           {"(1 / most) * (1 / 2)", "12: 1/9223372036854775807 * 1/2 does not fit into 64 bits"},
           {"1 / least", "3: 1 / -9223372036854775808 does not fit into 64 bits"},
           {"round_up(most, 2)", "1: round_up(9223372036854775807, 2) does not fit into 64 bits"},
           {"ceil_div(least, -1)", "1: ceil_div(-9223372036854775808, -1) does not fit into 64 bits"},
           {"9223372036854775808", "1: 9223372036854775808 does not fit into 64 bits"},
           {"a + 99999999999999999999999", "5: 99999999999999999999999 does not fit into 64 bits"},
           {"-9223372036854775808 ** 1", "2: 9223372036854775808 does not fit into 64 bits"},
           // Division by zero.
           {"1 / 0", "3: division by zero"}, {"a // zero", "3: division by zero"}, {"a % (b - 3)", "3: modulo by zero"},
           {"ceil_div(a, 0)", "1: division by zero"}, {"round_up(a, zero)", "1: division by zero"}, {"1 in [1, 1 / 0]", "12: division by zero"},
           // Wrong types.
           {"T + 1", "3: '+' needs numbers, found 'f16'"}, {"a * T", "3: '*' needs numbers, found 'f16'"},
           {"T < 'g'", "3: '<' needs numbers, found 'f16'; texts are compared by ==, != and in"},
           {"1 < 2 <= T", "7: '<=' needs numbers, found 'f16'; texts are compared by ==, != and in"},
           {"min(a, T)", "1: 'min' needs numbers, found 'f16'; texts are compared by ==, != and in"}, {"-T", "1: '-' needs numbers, found 'f16'"},
           {"+T", "1: '+' needs numbers, found 'f16'"}, {"not T", "1: expected true or false, found 'f16'"},
           {"a and T and 1", "9: expected true or false, found 'f16'"}, {"T ? 1 : 2", "3: expected true or false, found 'f16'"},
           {"1 if T else 2", "3: expected true or false, found 'f16'"}, {"2 ** -1", "3: '**' needs a non-negative integer exponent, found -1"},
           {"2 ** (1 / 2)", "3: '**' needs a non-negative integer exponent, found 1/2"}, {"log2(10)", "1: log2(10) is not an integer"},
           {"log2(0)", "1: log2 needs a positive number, found 0"}, {"log2(1 / 2)", "1: log2 needs an integer, found 1/2"},
           {"is_pow2(1 / 2)", "1: is_pow2 needs an integer, found 1/2"}, {"abs(T)", "1: 'abs' needs numbers, found 'f16'"},
           {"sizeof(a)",
            "1: sizeof needs an element type, found 7; types: f16, bf16, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64, bool"},
           {"absent + 1", "1: 'absent' has no value here"}, {"1 + absent", "5: 'absent' has no value here"},
           {"infinite > 1", "1: 'infinite' is not a finite number"},
           // Unknown names.
           {"a * BLOKC", "5: unknown name 'BLOKC'; did you mean 'BLOCK'?"},
           {"device.shared_byte", "1: unknown name 'device.shared_byte'; did you mean 'device.shared_bytes'?"},
           {"T == f32", "6: unknown name f32; the name of a type is written in quotes: 'f32'"},
           {"1 + mim(a, b)", "5: unknown function 'mim'; did you mean 'min'?"},
           {"sizeof(f99)", "8: unknown type 'f99'; types: f16, bf16, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64, bool, or a name whose "
                           "value is one"},
           // Syntax.
           {"", "1: expected a value, found the end of the expression"}, {"a +", "4: expected a value, found the end of the expression"},
           {"a b", "3: unexpected 'b'"}, {"(a", "3: expected ')', found the end of the expression"}, {"a)", "2: unexpected ')'"},
           {"a * * b", "5: expected a value, found '*'"}, {"a == not b", "6: 'not' binds loosely; write (not ...)"},
           {"a if b", "7: expected 'else', found the end of the expression"}, {"a ? b", "6: expected ':', found the end of the expression"},
           {"a in b", "6: expected a list [..] after 'in', found 'b'"}, {"a in (7)", "6: expected a list after 'in'; one element is written [x]"},
           {"a in [1 2]", "9: expected ',' or ']', found '2'"}, {"a in [,]", "7: expected a value, found ','"},
           {"a in [1] == b", "10: a list cannot be compared; write parentheses"}, {"[1, 2]", "1: a list may only follow 'in' or 'not in'"},
           {"(1, 2)", "3: a list may only follow 'in' or 'not in'"}, {"and", "1: expected a value, found 'and'"}, {"a not 3", "3: unexpected 'not'"},
           {"min(a)", "1: min takes at least 2 arguments, found 1"}, {"min()", "1: min takes at least 2 arguments, found 0"},
           {"abs(1, 2)", "1: abs takes 1 argument, found 2"}, {"ceil_div(1, 2, 3)", "1: ceil_div takes 2 arguments, found 3"},
           {"abs(1", "6: expected ',', found the end of the expression"}, {"sizeof('f32')", "8: sizeof needs the name of a type, found the text 'f32'"},
           {"a = 3", "3: '=' is no operator; compare with '=='"}, {"a & b", "3: '&' is no operator; write 'and' or '&&'"},
           {"a | b", "3: '|' is no operator; write 'or' or '||'"}, {"a ^ b", "3: '^' is no operator; a power is written '**'"},
           {"a + @", "5: unexpected character '@'"}, {"a + \xc3\xa9", "5: unexpected byte 0xc3"}, {"T == 'f16", "6: the closing ' is missing"},
           {"T == 'a\\n'", "6: a backslash has no meaning in a text; use the other kind of quotes"}, {"3x", "1: '3x' is not a number"},
           {"1 + 0x10", "5: '0x10' is not a number"}, {"1 + 1.2.3", "5: '1.2.3' is not a number"},
           {"1 + 010", "5: '010' begins with a zero; octal numbers are not known"},
           // Real mode only.
           {"0.5 * a", "1: decimal number 0.5 in an integer expression; write a fraction such as 1/2"},
           {"a > 1e3", "5: decimal number 1e3 in an integer expression; write a fraction such as 1/2"},
           {"sqrt(a)", "1: sqrt gives no integer; compare squares"}}) {
    EXPECT_EQ(error_of(text), error) << text;
  }
}

TEST_F(ExpressionTest, RealModeErrorsNameTheColumn) {
  for (const auto& [text, error] : std::vector<Failure>{
           {"1 / 0.0", "3: division by zero"}, {"1.5 % 0", "5: modulo by zero"}, {"1e300 * 1e300", "7: the result is not a finite number"},
           {"2 * sqrt(negative)", "5: sqrt needs a non-negative number, found -5"}, {"(-8) ** 0.5", "6: the result is not a finite number"},
           {"log2(0.0)", "1: log2 needs a positive number, found 0"}, {"1e999", "1: 1e999 does not fit into a double"},
           {"eps * infinite", "7: 'infinite' is not a finite number"}, {"zero ** -1", "6: the result is not a finite number"},
           {"ceil_div(1.5, 2)", "1: ceil_div needs exact numbers, found 1.5"}, {"is_pow2(2.0)", "1: is_pow2 needs an integer, found 2"}}) {
    EXPECT_EQ(error_of(text, Mode::real), error) << text;
  }
}

TEST_F(ExpressionTest, ResultsOfTheWrongTypeAreErrors) {
  const auto compiled = [&](const char* text) { return Expression::compile(text, names_); };
  EXPECT_EQ(compiled("a > b").evaluate_integer(values_), 1);
  EXPECT_EQ(compiled("a * b").evaluate_integer(values_), 21);
  EXPECT_THROW(compiled("a / b").evaluate_integer(values_), ExpressionError);
  EXPECT_THROW(compiled("T").evaluate_integer(values_), ExpressionError);
  EXPECT_TRUE(compiled("a / b").evaluate_bool(values_));
  EXPECT_FALSE(compiled("zero").evaluate_bool(values_));
  EXPECT_THROW(compiled("T").evaluate_bool(values_), ExpressionError);
  EXPECT_DOUBLE_EQ(compiled("a / b").evaluate_real(values_), 7.0 / 3);
  EXPECT_THROW(compiled("T").evaluate_real(values_), ExpressionError);
}

TEST_F(ExpressionTest, KnowsItsTextAndSlots) {
  const Expression expression = Expression::compile("BLOCK * a <= 1024 and a > b if zero else a == 1 or sizeof(T) > 2", names_);
  EXPECT_EQ(expression.slots(), (std::vector<int>{0, 1, 2, 5, 6}));
  EXPECT_EQ(expression.text(), "BLOCK * a <= 1024 and a > b if zero else a == 1 or sizeof(T) > 2");
  EXPECT_FALSE(expression.empty());
  EXPECT_TRUE(Expression::compile("1 + 1", names_).slots().empty());
  const Expression none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.text(), "");
  EXPECT_THROW(none.evaluate(values_), std::logic_error);
  EXPECT_THROW(expression.evaluate(std::span(values_).first(6)), std::logic_error);
}

TEST_F(ExpressionTest, NamesFindTheNearest) {
  EXPECT_EQ(names_.find("BLOCK"), 6);
  EXPECT_EQ(names_.find("BLOC"), std::nullopt);
  EXPECT_EQ(names_.nearest("BLOC"), "BLOCK");
  EXPECT_EQ(names_.nearest("something_else_entirely"), std::nullopt);
  EXPECT_THROW(names_.add("BLOCK"), std::logic_error);
}

std::string repeated(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

TEST_F(ExpressionTest, NestingHasALimit) {
  EXPECT_EQ(value_of(repeated("(", 150) + "a" + repeated(")", 150)), "7");
  EXPECT_EQ(value_of(repeated("a in [", 199) + "a" + repeated("]", 199)), "false");
  EXPECT_EQ(value_of(repeated("zero + (", 99) + "a" + repeated(")", 99)), "7");
  EXPECT_EQ(value_of(repeated("zero ? 1 : ", 199) + "a"), "7");
  EXPECT_EQ(value_of(repeated("1 if zero else ", 199) + "a"), "7");
  const std::string limit = "nested too deeply; at most 200 levels are allowed";
  EXPECT_EQ(error_of(repeated("(", 100000 / 2) + "a"), "201: " + limit);
  EXPECT_EQ(error_of(repeated("-", 60000) + "a"), "201: " + limit);
  EXPECT_EQ(error_of(repeated("!", 60000)), "201: " + limit);
  EXPECT_EQ(error_of(repeated("a**", 10000) + "1"), "601: " + limit);
  EXPECT_EQ(error_of(repeated("abs(", 10000)), "801: " + limit);
  EXPECT_EQ(error_of(repeated("a in [", 10000)), "1201: " + limit);
}

TEST_F(ExpressionTest, LongExpressionsAreFineUpToALimit) {
  EXPECT_EQ(value_of("a" + repeated("+a", 20000)), "140007");
  EXPECT_EQ(value_of("1" + repeated("+1", 20000)), "20001");
  EXPECT_EQ(value_of("zero" + repeated(" or zero", 5000)), "0");
  EXPECT_EQ(value_of("a in [" + repeated("1,", 20000) + "7]"), "true");
  EXPECT_EQ(value_of("max(1" + repeated(",a", 20000) + ")"), "7");
  EXPECT_EQ(value_of("1" + repeated("<=a", 15000)), "true");
  EXPECT_EQ(error_of("1/0" + repeated("+1", 20000)), "2: division by zero");
  EXPECT_EQ(error_of("a" + repeated("+a", 40000)), "65537: the expression has 80001 bytes; at most 65536 are allowed");
}

TEST_F(ExpressionTest, IsSharedBetweenThreads) {
  const Expression expression = Expression::compile("BLOCK * a + (1 if b in [1, 2, 3] else 0)", names_);
  std::vector<std::int64_t> sums(4, 0);
  {
    std::vector<std::jthread> threads;
    for (std::int64_t& sum : sums) {
      threads.emplace_back([&sum, expression, values = values_]() mutable {
        for (std::int64_t i = 0; i < 1000; ++i) {
          values[0] = Scalar::integer(i);
          sum += expression.evaluate_integer(values);
        }
      });
    }
  }
  for (const std::int64_t sum : sums) EXPECT_EQ(sum, 64 * 999 * 500 + 1000);
}

}  // namespace
}  // namespace tunebook
