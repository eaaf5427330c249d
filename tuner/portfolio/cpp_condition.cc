#include "portfolio/cpp_condition.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/expression_compiler.h"

namespace tunebook {
namespace {

using Operation = Instruction::Operation;
using Source = Instruction::Source;

// What an instruction works on: a known value, or C++.
struct Term {
  enum class Kind { known, error, code, category };
  Kind kind = Kind::error;
  Scalar scalar;     // known
  std::string code;  // code: of type number; category: of type std::string_view

  bool is_text() const {
    return kind == Kind::category || (kind == Kind::known && scalar.kind == Scalar::Kind::text);
  }
};

Term known(const Scalar& scalar) { return {Term::Kind::known, scalar, ""}; }
Term code(std::string text) { return {Term::Kind::code, {}, std::move(text)}; }

bool is_whole(const Scalar& scalar) {
  return scalar.kind == Scalar::Kind::integer || scalar.kind == Scalar::Kind::boolean;
}

// Runs the bytecode on known values and C++ alike. Jumps lead forwards, and what a jump skips ends
// where it leads, so that code between them is a block with one value.
class Writer {
 public:
  Writer(std::string_view expression, const KernelSpec& spec, const KernelSpec::Scope& scope)
      : spec_(spec),
        scope_(scope),
        program_(compile_expression(expression, spec.names, Expression::Mode::integer)) {}

  CppCondition run() {
    const Term result = block(0, program_.code.size(), {});
    if (result.kind == Term::Kind::code) return {std::nullopt, result.code};
    return {result.kind == Term::Kind::known && truth(result.scalar).value_or(false), ""};
  }

 private:
  [[noreturn]] void refuse(const char* what) const {
    throw InputError(fmt::format("kernel {}: \"{}\" needs {}, which a header cannot have",
                                 spec_.name, program_.text, what));
  }

  Term slot(std::int32_t index) const {
    const auto place = static_cast<std::size_t>(index);
    if (place < spec_.dimensions.size() && spec_.dimensions[place].name != "dtype") {
      const Dimension& dimension = spec_.dimensions[place];
      return {dimension.categorical ? Term::Kind::category : Term::Kind::code,
              {},
              cpp_name(dimension.name)};
    }
    const Scalar& value = scope_.at(place);
    return value.kind == Scalar::Kind::unset ? Term() : known(value);
  }

  // The value that the instructions [first, last) leave on top of the stack.
  Term block(std::size_t first, std::size_t last, std::vector<Term> stack) const {
    std::size_t at = first;
    const auto pop = [&] {
      Term top = std::move(stack.back());
      stack.pop_back();
      return top;
    };
    while (at < last) {
      const Instruction& one = program_.code[at];
      Term right;
      if (one.source == Source::slot)
        right = slot(one.operand);
      else if (one.source == Source::constant)
        right = known(program_.constants[static_cast<std::size_t>(one.operand)]);
      else if (one.source == Source::stack)
        right = pop();
      const std::size_t target = at + static_cast<std::size_t>(one.jump);
      switch (one.operation) {
        case Operation::push:
          stack.push_back(std::move(right));
          break;
        case Operation::jump:
          at = target;
          continue;
        case Operation::chain: {
          const Term holds = binary(one.comparison, pop(), right);
          const std::optional<bool> decided = decision(holds);
          if (holds.kind == Term::Kind::code) {
            stack.push_back(right);
            const Term rest = block(at + 1, target, stack);
            stack.back() = logical(Operation::jump_and, holds, rest);
          } else {
            stack.push_back(decided == true ? right : holds);
          }
          if (decided == true) break;
          at = target;
          continue;
        }
        case Operation::jump_if_false: {
          const Term condition = pop();
          const std::optional<bool> decided = decision(condition);
          if (decided == true) break;
          if (decided == false) {
            at = target;
            continue;
          }
          const std::size_t end =
              target - 1 + static_cast<std::size_t>(program_.code[target - 1].jump);
          stack.push_back(
              condition.kind == Term::Kind::code
                  ? choice(condition, block(at + 1, target - 1, stack), block(target, end, stack))
                  : Term());
          at = end;
          continue;
        }
        case Operation::jump_and:
        case Operation::jump_or: {
          const Term left = pop();
          const std::optional<bool> decided = decision(left);
          if (decided && *decided != (one.operation == Operation::jump_or)) break;
          stack.push_back(left.kind == Term::Kind::code
                              ? logical(one.operation, left, block(at + 1, target, stack))
                          : left.is_text() ? Term()
                                           : left);
          at = target;
          continue;
        }
        case Operation::in_begin:
          stack.push_back(known(Scalar::boolean(false)));
          break;
        case Operation::in_element: {
          if (right.kind == Term::Kind::error) stack.back() = right;
          const Term equal = binary(Operation::equal, stack[stack.size() - 2], right);
          stack.back() = logical(Operation::jump_or, stack.back(), equal);
          break;
        }
        case Operation::in_end:
        case Operation::not_in_end: {
          const Term found = pop();
          stack.back() =
              one.operation == Operation::in_end ? found : unary(Operation::logical_not, found);
          break;
        }
        default:
          stack.back() = one.source == Source::none ? unary(one.operation, stack.back())
                                                    : binary(one.operation, stack.back(), right);
          break;
      }
      ++at;
    }
    return std::move(stack.back());
  }

  static std::optional<bool> truth(const Scalar& scalar) {
    if (is_whole(scalar) || scalar.kind == Scalar::Kind::rational) return scalar.a != 0;
    return std::nullopt;
  }
  static std::optional<bool> decision(const Term& term) {
    return term.kind == Term::Kind::known ? truth(term.scalar) : std::nullopt;
  }

  std::string number(const Term& term) const {
    if (term.kind == Term::Kind::code) return term.code;
    if (term.kind == Term::Kind::error || term.is_text()) return "error()";
    if (!is_whole(term.scalar)) refuse("a fraction");
    if (term.scalar.a == std::numeric_limits<std::int64_t>::min()) return "number(INT64_MIN)";
    return term.scalar.a < 0 ? fmt::format("({})", term.scalar.a)
                             : fmt::format("{}", term.scalar.a);
  }

  static std::string text(const Term& term) {
    if (term.kind == Term::Kind::category) return term.code;
    return fmt::format("std::string_view({}, {})", cpp_literal(*term.scalar.s),
                       term.scalar.s->size());
  }

  Term logical(Operation operation, const Term& left, const Term& right) const {
    const bool decides = operation == Operation::jump_or;
    if (left.kind == Term::Kind::error || left.is_text()) return {};
    if (const std::optional<bool> decided = decision(left))
      return *decided == decides ? left : right;
    return code(fmt::format("({} {} {})", number(left), decides ? "||" : "&&", number(right)));
  }

  Term choice(const Term& condition, const Term& yes, const Term& no) const {
    return code(fmt::format("choose({}, {}, {})", number(condition), number(yes), number(no)));
  }

  Term unary(Operation operation, const Term& term) const {
    if (term.kind == Term::Kind::error || term.kind == Term::Kind::category) return {};
    if (term.kind == Term::Kind::known) return computed(operation, term.scalar, nullptr);
    static constexpr std::array<std::pair<Operation, const char*>, 6> kWritten = {
        {{Operation::negate, "(-{})"},
         {Operation::plus, "{}"},
         {Operation::logical_not, "(!{})"},
         {Operation::absolute, "absolute({})"},
         {Operation::is_power_of_two, "is_power_of_two({})"},
         {Operation::log2, "log2_of({})"}}};
    for (const auto& [known_operation, format] : kWritten) {
      if (known_operation == operation) return code(fmt::format(fmt::runtime(format), term.code));
    }
    return {};  // sizeof a number
  }

  Term binary(Operation operation, const Term& left, const Term& right) const {
    if (left.kind == Term::Kind::error || right.kind == Term::Kind::error) return {};
    if (left.kind == Term::Kind::known && right.kind == Term::Kind::known) {
      return computed(operation, left.scalar, &right.scalar);
    }
    const bool equality = operation == Operation::equal || operation == Operation::not_equal;
    if (left.is_text() || right.is_text()) {
      if (!equality) return {};
      const bool equal = operation == Operation::equal;
      if (!left.is_text() || !right.is_text()) return known(Scalar::boolean(!equal));
      return code(fmt::format("number({} {} {})", text(left), equal ? "==" : "!=", text(right)));
    }
    if (operation == Operation::divide) refuse("a division into fractions");
    static constexpr std::array<std::pair<Operation, const char*>, 16> kWritten = {
        {{Operation::add, "({} + {})"},
         {Operation::subtract, "({} - {})"},
         {Operation::multiply, "({} * {})"},
         {Operation::floor_divide, "floor_div({}, {})"},
         {Operation::modulo, "({} % {})"},
         {Operation::power, "power({}, {})"},
         {Operation::equal, "({} == {})"},
         {Operation::not_equal, "({} != {})"},
         {Operation::less, "({} < {})"},
         {Operation::less_equal, "({} <= {})"},
         {Operation::greater, "({} > {})"},
         {Operation::greater_equal, "({} >= {})"},
         {Operation::minimum, "least({}, {})"},
         {Operation::maximum, "greatest({}, {})"},
         {Operation::ceil_div, "ceil_div({}, {})"},
         {Operation::round_up, "round_up({}, {})"}}};
    for (const auto& [known_operation, format] : kWritten) {
      if (known_operation == operation)
        return code(fmt::format(fmt::runtime(format), number(left), number(right)));
    }
    return {};
  }

  // By the language's own evaluator.
  static Term computed(Operation operation, const Scalar& left, const Scalar* right) {
    ExpressionProgram small;
    small.constants = {left};
    small.code = {{.operation = Operation::push, .source = Source::constant},
                  {.operation = operation}};
    small.places.resize(2);
    if (right != nullptr) {
      small.constants.push_back(*right);
      small.code[1].source = Source::constant;
      small.code[1].operand = 1;
    }
    try {
      return known(small.run(0, 2, {}));
    } catch (const ExpressionError&) {
      return {};
    }
  }

  const KernelSpec& spec_;
  const KernelSpec::Scope& scope_;
  const ExpressionProgram program_;
};

// Words of C++, and those that the header uses itself.
constexpr std::string_view kTaken[] = {"alignas",
                                       "alignof",
                                       "and",
                                       "and_eq",
                                       "asm",
                                       "auto",
                                       "bitand",
                                       "bitor",
                                       "bool",
                                       "break",
                                       "case",
                                       "catch",
                                       "char",
                                       "char16_t",
                                       "char32_t",
                                       "char8_t",
                                       "class",
                                       "co_await",
                                       "co_return",
                                       "co_yield",
                                       "compl",
                                       "concept",
                                       "const",
                                       "const_cast",
                                       "consteval",
                                       "constexpr",
                                       "constinit",
                                       "continue",
                                       "decltype",
                                       "default",
                                       "delete",
                                       "do",
                                       "double",
                                       "dynamic_cast",
                                       "else",
                                       "enum",
                                       "explicit",
                                       "export",
                                       "extern",
                                       "false",
                                       "float",
                                       "for",
                                       "friend",
                                       "goto",
                                       "if",
                                       "inline",
                                       "int",
                                       "long",
                                       "mutable",
                                       "namespace",
                                       "new",
                                       "noexcept",
                                       "not",
                                       "not_eq",
                                       "nullptr",
                                       "operator",
                                       "or",
                                       "or_eq",
                                       "private",
                                       "protected",
                                       "public",
                                       "register",
                                       "reinterpret_cast",
                                       "requires",
                                       "return",
                                       "short",
                                       "signed",
                                       "sizeof",
                                       "static",
                                       "static_assert",
                                       "static_cast",
                                       "struct",
                                       "switch",
                                       "template",
                                       "this",
                                       "thread_local",
                                       "throw",
                                       "true",
                                       "try",
                                       "typedef",
                                       "typeid",
                                       "typename",
                                       "union",
                                       "unsigned",
                                       "using",
                                       "virtual",
                                       "void",
                                       "volatile",
                                       "wchar_t",
                                       "while",
                                       "xor",
                                       "xor_eq",
                                       "absolute",
                                       "ceil_div",
                                       "divides",
                                       "truth",
                                       "choose",
                                       "detail",
                                       "error",
                                       "floor_div",
                                       "greatest",
                                       "INT64_MIN",
                                       "is_power_of_two",
                                       "kConfigurations",
                                       "least",
                                       "log2_of",
                                       "number",
                                       "pick",
                                       "power",
                                       "round_up",
                                       "std",
                                       "valid",
                                       "configuration",
                                       "index",
                                       "NULL",
                                       "errno",
                                       "assert",
                                       "linux",
                                       "unix"};

}  // namespace

CppCondition cpp_condition(std::string_view expression, const KernelSpec& spec,
                           const KernelSpec::Scope& scope) {
  return Writer(expression, spec, scope).run();
}

std::string cpp_name(std::string_view name) {
  const bool taken = std::find(std::begin(kTaken), std::end(kTaken), name) != std::end(kTaken);
  return std::string(name) + (taken ? "_" : "");
}

std::string cpp_literal(std::string_view text) {
  constexpr std::string_view kPlain = " _.,:;+-*/=()[]<>#@";
  std::string out = "\"";
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       kPlain.find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  return out + "\"";
}

}  // namespace tunebook
