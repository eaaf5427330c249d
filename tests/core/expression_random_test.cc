// Random expressions: against a second evaluator that shares no code with the first, and as damaged text.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/expression.h"
#include "core/expression_arithmetic.h"
#include "core/random.h"

namespace tunebook {
namespace {

__extension__ using Wide = __int128;

// --- The second evaluator: a tree, walked directly, on 128-bit fractions. ---

struct Error {};

struct Number {
  Wide upper = 0;
  Wide lower = 1;
  bool boolean = false;
  std::string text;  // not empty: a text
};

Number normal(Wide upper, Wide lower) {
  if (lower < 0) {
    upper = -upper;
    lower = -lower;
  }
  Wide x = upper < 0 ? -upper : upper;
  Wide y = lower;
  while (y != 0) {
    const Wide rest = x % y;
    x = y;
    y = rest;
  }
  upper /= x;
  lower /= x;
  if (upper > INT64_MAX || upper < INT64_MIN || lower > INT64_MAX) throw Error();
  return {.upper = upper, .lower = lower};
}

Number boolean(bool value) { return {.upper = value ? 1 : 0, .boolean = true}; }

Wide floor_of(Wide upper, Wide lower) {
  Wide quotient = upper / lower;
  if (quotient * lower != upper && (upper < 0) != (lower < 0)) --quotient;
  return quotient;
}

struct Node;
using Child = std::unique_ptr<Node>;

// `operation` is written as in Python; "number", "name" and "text" are leaves.
struct Node {
  std::string operation;
  std::string word;  // of a leaf
  std::vector<Child> children;
  std::vector<std::string> comparisons;
};

class Evaluator {
 public:
  explicit Evaluator(const std::vector<std::pair<std::string, Number>>& names) : names_(names) {}

  Number of(const Node& node) const {
    const std::string& operation = node.operation;
    if (operation == "number") return {.upper = static_cast<Wide>(std::stoull(node.word))};
    if (operation == "text") return {.text = node.word};
    if (operation == "name") {
      for (const auto& [name, value] : names_) {
        if (name == node.word) return value;
      }
      throw Error();
    }
    if (operation == "if") return truth(of(*node.children[1])) ? of(*node.children[0]) : of(*node.children[2]);
    if (operation == "and" || operation == "or") {
      Number value = of(*node.children[0]);
      return truth(value) == (operation == "or") ? value : of(*node.children[1]);
    }
    if (operation == "compare") return comparison(node);
    if (operation == "in" || operation == "not in") return membership(node);
    std::vector<Number> values;
    for (const Child& child : node.children) values.push_back(of(*child));
    if (operation == "not" || operation == "!") return boolean(!truth(values[0]));
    for (const Number& value : values) require_number(value);
    return values.size() == 1 ? unary(operation, values[0]) : binary(operation, values[0], values[1]);
  }

 private:
  static void require_number(const Number& value) {
    if (!value.text.empty()) throw Error();
  }

  static bool truth(const Number& value) {
    require_number(value);
    return value.upper != 0;
  }

  static bool same(const Number& x, const Number& y) { return x.text == y.text && x.upper == y.upper && x.lower == y.lower; }

  static bool less(const Number& x, const Number& y) {
    require_number(x);
    require_number(y);
    return x.upper * y.lower < y.upper * x.lower;
  }

  Number comparison(const Node& node) const {
    Number left = of(*node.children[0]);
    for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
      Number right = of(*node.children[i + 1]);
      const std::string& sign = node.comparisons[i];
      bool holds = false;
      if (sign == "==") holds = same(left, right);
      if (sign == "!=") holds = !same(left, right);
      if (sign == "<") holds = less(left, right);
      if (sign == ">") holds = less(right, left);
      if (sign == "<=") holds = !less(right, left);
      if (sign == ">=") holds = !less(left, right);
      if (!holds) return boolean(false);
      left = right;
    }
    return boolean(true);
  }

  Number membership(const Node& node) const {
    const Number value = of(*node.children[0]);
    bool found = false;
    for (std::size_t i = 1; i < node.children.size(); ++i) {
      if (same(value, of(*node.children[i]))) found = true;
    }
    return boolean(found == (node.operation == "in"));
  }

  static Number unary(const std::string& operation, const Number& x) {
    if (operation == "-") return x.upper == INT64_MIN ? throw Error() : normal(-x.upper, x.lower);
    if (operation == "+") return normal(x.upper, x.lower);
    if (operation == "abs") return x.upper == INT64_MIN ? throw Error() : normal(x.upper < 0 ? -x.upper : x.upper, x.lower);
    if (x.lower != 1) throw Error();  // is_pow2
    Wide rest = x.upper;
    while (rest > 1 && rest % 2 == 0) rest /= 2;
    return boolean(rest == 1);
  }

  static Number binary(const std::string& operation, const Number& x, const Number& y) {
    if (operation == "+") return normal(x.upper * y.lower + y.upper * x.lower, x.lower * y.lower);
    if (operation == "-") return normal(x.upper * y.lower - y.upper * x.lower, x.lower * y.lower);
    if (operation == "*") return normal(x.upper * y.upper, x.lower * y.lower);
    if (operation == "min") return less(y, x) ? y : x;
    if (operation == "max") return less(x, y) ? y : x;
    if (operation == "**") return power(x, y);
    if (y.upper == 0) throw Error();
    const Wide upper = x.upper * y.lower;
    const Wide lower = x.lower * y.upper;
    if (operation == "/") return normal(upper, lower);
    if (operation == "//") return normal(floor_of(upper, lower), 1);
    if (operation == "ceil_div") return normal(-floor_of(-upper, lower), 1);
    if (operation == "round_up") {
      const Number multiple = normal(-floor_of(-upper, lower), 1);
      return normal(multiple.upper * y.upper, y.lower);
    }
    // x - y * floor(x / y)
    return normal(upper - floor_of(upper, lower) * lower, x.lower * y.lower);
  }

  static Number power(const Number& x, const Number& y) {
    if (y.lower != 1 || y.upper < 0) throw Error();
    Number result = {.upper = 1};
    // After 130 factors only 0, 1 and -1 have not failed, and they repeat with period two.
    const Wide factors = y.upper > 130 ? 130 + y.upper % 2 : y.upper;
    for (Wide i = 0; i < factors; ++i) result = normal(result.upper * x.upper, result.lower * x.lower);
    return result;
  }

  const std::vector<std::pair<std::string, Number>>& names_;
};

// --- Random trees and their text. ---

class Writer {
 public:
  explicit Writer(Random& random) : random_(random) {}

  Child tree(int depth) {
    if (depth == 0 || random_.below(8) == 0) return leaf();
    static const std::vector<std::string> kOperations = {"-",  "+",  "!",       "not", "abs",      "is_pow2",  "+",  "-",  "*", "/",
                                                         "//", "%",  "**",      "*",   "min",      "max",      "if", "if", "//",
                                                         "%",  "/",  "compare", "and", "ceil_div", "round_up", "in", "or", "not in",
                                                         "compare"};
    const std::size_t pick = random_.below(kOperations.size());
    auto node = std::make_unique<Node>();
    node->operation = kOperations[pick];
    std::size_t children = pick < 6 ? 1 : 2;
    if (node->operation == "if") children = 3;
    if (node->operation == "in" || node->operation == "not in") children = 1 + random_.below(4);
    if (node->operation == "compare") {
      static const std::vector<std::string> kSigns = {"==", "!=", "<", "<=", ">", ">="};
      children = 2 + random_.below(3);
      for (std::size_t i = 1; i < children; ++i) node->comparisons.push_back(kSigns[random_.below(kSigns.size())]);
    }
    for (std::size_t i = 0; i < children; ++i) node->children.push_back(tree(depth - 1));
    return node;
  }

  // As sparing with parentheses as Python's precedence allows, but for a few that change nothing.
  std::string text(const Node& node, int least = 0) {
    const int level = level_of(node);
    std::string result = bare(node);
    if (level < least || random_.below(16) == 0) result = "(" + result + ")";
    return random_.below(8) == 0 ? " " + result + "  " : result;
  }

 private:
  Child leaf() {
    static const std::vector<std::string> kNumbers = {"0", "1", "2", "3", "4", "5", "7", "8", "16", "60", "64", "1024",
                                                      "4294967296", "9223372036854775807"};
    static const std::vector<std::string> kNames = {"a", "b", "c", "yes", "no", "zero", "least", "T", "half"};
    auto node = std::make_unique<Node>();
    const std::uint64_t kind = random_.below(30);
    node->operation = kind == 0 ? "text" : kind < 15 ? "number" : "name";
    // The very large ones are rare, or nearly everything overflows.
    node->word = kind == 0    ? "f16"
                 : kind < 15 ? kNumbers[random_.below(random_.below(8) == 0 ? kNumbers.size() : 12)]
                             : kNames[random_.below(random_.below(6) == 0 ? kNames.size() : 6)];
    return node;
  }

  static int level_of(const Node& node) {
    const std::string& operation = node.operation;
    if (operation == "if") return 1;
    if (operation == "or") return 2;
    if (operation == "and") return 3;
    if (operation == "not") return 4;
    if (operation == "compare" || operation == "in" || operation == "not in") return 5;
    if (node.children.size() == 1 && (operation == "-" || operation == "+" || operation == "!")) return 8;
    if (operation == "+" || operation == "-") return 6;
    if (operation == "*" || operation == "/" || operation == "//" || operation == "%") return 7;
    if (operation == "**") return 9;
    return 10;
  }

  std::string bare(const Node& node) {
    const std::string& operation = node.operation;
    const auto child = [&](std::size_t i, int least) { return text(*node.children[i], least); };
    const int level = level_of(node);
    if (operation == "number" || operation == "name") return node.word;
    if (operation == "text") return random_.below(2) == 0 ? "'" + node.word + "'" : "\"" + node.word + "\"";
    if (operation == "if") {
      if (random_.below(2) == 0) return child(1, 2) + " ? " + child(0, 1) + " : " + child(2, 1);
      return child(0, 2) + " if " + child(1, 2) + " else " + child(2, 1);
    }
    if (operation == "and" || operation == "or") {
      const std::string sign = random_.below(2) == 0 ? operation : operation == "and" ? "&&" : "||";
      return child(0, level) + " " + sign + " " + child(1, level + 1);
    }
    if (operation == "not") return "not " + child(0, 4);
    if (level == 8) return operation + child(0, 8);
    if (operation == "compare") {
      std::string result = child(0, 6);
      for (std::size_t i = 0; i < node.comparisons.size(); ++i) result += node.comparisons[i] + child(i + 1, 6);
      return result;
    }
    if (operation == "in" || operation == "not in") {
      const bool tuple = node.children.size() > 2 && random_.below(2) == 0;
      std::string result = child(0, 6) + " " + operation + (tuple ? " (" : " [");
      for (std::size_t i = 1; i < node.children.size(); ++i) result += (i > 1 ? "," : "") + child(i, 0);
      return result + (tuple ? ")" : "]");
    }
    if (operation == "**") return child(0, 10) + "**" + child(1, 8);
    if (level == 10) {
      std::string result = operation + "(" + child(0, 0);
      if (node.children.size() > 1) result += "," + child(1, 0);
      return result + ")";
    }
    return child(0, level) + operation + child(1, level + 1);
  }

  Random& random_;
};

class ExpressionRandomTest : public ::testing::Test {
 protected:
  ExpressionRandomTest() {
    set("a", {.upper = 6}, Scalar::integer(6));
    set("b", {.upper = 4}, Scalar::integer(4));
    set("c", {.upper = -9}, Scalar::integer(-9));
    set("yes", boolean(true), Scalar::boolean(true));
    set("no", boolean(false), Scalar::boolean(false));
    set("zero", {.upper = 0}, Scalar::integer(0));
    set("least", {.upper = INT64_MIN}, Scalar::integer(INT64_MIN));
    set("T", {.text = "f16"}, Scalar::text("f16"));
    Scalar half = Scalar::integer(1);
    half.kind = Scalar::Kind::rational;
    half.b = 2;
    set("half", {.upper = 1, .lower = 2}, half);
  }

  void set(const std::string& name, const Number& number, const Scalar& scalar) {
    names_.add(name);
    numbers_.emplace_back(name, number);
    values_.push_back(scalar);
  }

  Names names_;
  std::vector<std::pair<std::string, Number>> numbers_;
  std::vector<Scalar> values_;
};

std::string show(const Number& number) {
  if (!number.text.empty()) return "'" + number.text + "'";
  if (number.boolean) return number.upper != 0 ? "true" : "false";
  const std::string upper = std::to_string(static_cast<std::int64_t>(number.upper));
  return number.lower == 1 ? upper : upper + "/" + std::to_string(static_cast<std::int64_t>(number.lower));
}

TEST_F(ExpressionRandomTest, AgreesWithASecondEvaluator) {
  Random random(20240607);
  Writer writer(random);
  const Evaluator evaluator(numbers_);
  int errors = 0;
  constexpr int kExpressions = 20000;
  for (int i = 0; i < kExpressions; ++i) {
    const Child tree = writer.tree(1 + static_cast<int>(random.below(5)));
    const std::string text = writer.text(*tree);
    std::string expected = "error";
    try {
      expected = show(evaluator.of(*tree));
    } catch (const Error&) {
      ++errors;
    }
    std::string found = "error";
    std::string message;
    // Whatever the tree, its text is right, so that only the evaluation may fail.
    const Expression expression = Expression::compile(text, names_);
    try {
      found = arithmetic::describe(expression.evaluate(values_));
    } catch (const ExpressionError& error) {
      message = error.what();
      EXPECT_GE(error.column, 1);
      EXPECT_LE(error.column, static_cast<int>(text.size()));
    }
    ASSERT_EQ(found, expected) << text << "\n" << message;
  }
  // Enough of both kinds, or the test would show little.
  EXPECT_GT(errors, kExpressions / 20);
  EXPECT_LT(errors, kExpressions / 2);
}

// Only ExpressionError may come out, with a column inside the text or just behind it.
void compile_and_evaluate(const std::string& text, const Names& names, const std::vector<Scalar>& values) {
  for (const auto mode : {Expression::Mode::integer, Expression::Mode::real}) {
    try {
      const Expression expression = Expression::compile(text, names, mode);
      expression.evaluate(values);
      expression.evaluate_real(values);
    } catch (const ExpressionError& error) {
      ASSERT_GE(error.column, 1) << text;
      ASSERT_LE(error.column, static_cast<int>(text.size()) + 1) << text;
      ASSERT_NE(std::string(error.what()), "") << text;
    }
  }
}

TEST_F(ExpressionRandomTest, SurvivesRandomBytesAndTokens) {
  Random random(1);
  static const std::vector<std::string> kTokens = {
      "a",  "b",    "T",  "least", "half", "0",   "1",     "7",       "9223372036854775807", "0.5", "1e300", "'f16'", "\"", "'", "(",  ")",
      "[",  "]",    ",",  "+",     "-",    "*",   "/",     "//",      "%",                   "**",  "==",    "!=",    "<",  "<=", ">",  ">=",
      "!",  "?",    ":",  "&&",    "||",   "and", "or",    "not",     "in",                  "if",  "else",  "True",  "min(", "max(",
      "abs(", "sizeof(", "log2(", "sqrt(", "ceil_div(", "round_up(", "is_pow2(", " ", "zero", "1e", ".", "\xff", "9223372036854775808"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    const std::uint64_t length = random.below(24);
    for (std::uint64_t j = 0; j < length; ++j) {
      if (i % 4 == 0) {
        text.push_back(static_cast<char>(random.below(256)));
      } else {
        text += kTokens[random.below(kTokens.size())] + (random.below(2) == 0 ? " " : "");
      }
    }
    compile_and_evaluate(text, names_, values_);
  }
}

TEST_F(ExpressionRandomTest, SurvivesDamagedExpressions) {
  Random random(2);
  Writer writer(random);
  const std::vector<Scalar> extremes = {Scalar{},           Scalar::integer(INT64_MIN), Scalar::integer(INT64_MAX), Scalar::text("f32"),
                                        Scalar::real(1e308), Scalar::real(-0.0),         Scalar::integer(-1),        Scalar::boolean(true)};
  for (int i = 0; i < 20000; ++i) {
    std::string text = writer.text(*writer.tree(1 + static_cast<int>(random.below(4))));
    const std::uint64_t damages = random.below(4);
    for (std::uint64_t j = 0; j < damages && !text.empty(); ++j) {
      const std::size_t at = random.below(text.size());
      switch (random.below(4)) {
        case 0: text.erase(at, 1 + random.below(3)); break;
        case 1: text[at] = static_cast<char>(random.below(128)); break;
        case 2: text.insert(at, text.substr(random.below(text.size()), 1 + random.below(8))); break;
        default: text.insert(at, 1, static_cast<char>(random.below(256))); break;
      }
    }
    std::vector<Scalar> values = values_;
    for (Scalar& value : values) {
      if (random.below(4) == 0) value = extremes[random.below(extremes.size())];
    }
    compile_and_evaluate(text, names_, values);
  }
}

}  // namespace
}  // namespace tunebook
