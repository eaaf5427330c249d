#include "core/expression_compiler.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/dtype.h"
#include "core/expression_lexer.h"
#include "core/json_text.h"

namespace tunebook {
namespace {

using Operation = Instruction::Operation;
using Source = Instruction::Source;

// How tightly an operator binds, as in Python; `!` binds like unary minus, as in C.
enum Binding { kConditional = 1, kOr, kAnd, kNot, kComparison, kSum, kProduct, kUnary, kPower };

struct BinaryOperator {
  std::string_view sign;
  Binding binding;
  Operation operation;
};
constexpr std::array<BinaryOperator, 13> kBinaryOperators = {{
    {"+", kSum, Operation::add},
    {"-", kSum, Operation::subtract},
    {"*", kProduct, Operation::multiply},
    {"/", kProduct, Operation::divide},
    {"//", kProduct, Operation::floor_divide},
    {"%", kProduct, Operation::modulo},
    {"**", kPower, Operation::power},
    {"==", kComparison, Operation::equal},
    {"!=", kComparison, Operation::not_equal},
    {"<", kComparison, Operation::less},
    {"<=", kComparison, Operation::less_equal},
    {">", kComparison, Operation::greater},
    {">=", kComparison, Operation::greater_equal},
}};

struct Function {
  std::string_view name;
  int arguments;  // at least this many if `variadic`
  bool variadic;
  Operation operation;
};
constexpr std::array<Function, 8> kFunctions = {{
    {"min", 2, true, Operation::minimum},
    {"max", 2, true, Operation::maximum},
    {"ceil_div", 2, false, Operation::ceil_div},
    {"round_up", 2, false, Operation::round_up},
    {"abs", 1, false, Operation::absolute},
    {"is_pow2", 1, false, Operation::is_power_of_two},
    {"log2", 1, false, Operation::log2},
    {"sqrt", 1, false, Operation::sqrt},
}};

constexpr std::array<std::string_view, 10> kWords = {"and", "or", "not", "in", "if", "else", "True", "False", "true", "false"};

// A message lists the known names only if they can be taken in at a glance.
constexpr std::size_t kMaxListedNames = 24;

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  const std::string nearest = nearest_word(word, known);
  if (!nearest.empty()) return fmt::format("; did you mean '{}'?", nearest);
  if (known.empty() || known.size() > kMaxListedNames) return "";
  std::string list;
  for (const std::string& name : known) list.append(list.empty() ? "; known: " : ", ").append(name);
  return list;
}

// A precedence-climbing parser that emits code as it goes. No syntax tree: a long sum is a loop here, not a deep recursion.
class Compiler {
 public:
  Compiler(std::string_view text, const Names& names, Expression::Mode mode)
      : names_(names), mode_(mode), tokens_(tokenize(text, mode)) {
    program_.text = text;
  }

  ExpressionProgram compile() {
    parse(kConditional);
    if (token().kind != Token::Kind::end) fail(token(), fmt::format("unexpected {}", describe(token())));
    std::sort(program_.slots.begin(), program_.slots.end());
    for (const int slot : program_.slots) program_.slot_names.push_back(names_.at(slot));
    return std::move(program_);
  }

 private:
  // --- tokens ---
  const Token& token(std::size_t ahead = 0) const { return tokens_[std::min(position_ + ahead, tokens_.size() - 1)]; }

  bool accept(std::string_view sign) {
    if (!token().is(sign)) return false;
    ++position_;
    return true;
  }

  void expect(std::string_view sign) {
    if (!accept(sign)) fail(token(), fmt::format("expected '{}', found {}", sign, describe(token())));
  }

  [[noreturn]] static void fail(const Token& where, const std::string& message) {
    throw ExpressionError(message, where.column);
  }

  // --- code ---
  std::size_t here() const { return program_.code.size(); }

  std::size_t emit(Instruction instruction, const Token& where, int operand_column = 1) {
    program_.code.push_back(instruction);
    program_.places.push_back({where.column, operand_column});
    return here() - 1;
  }

  void pushed() {
    if (++depth_ > kMaxStack) fail(token(), "nested too deeply");
  }
  void popped() { --depth_; }

  void emit_constant(const Scalar& value, const Token& where) {
    program_.constants.push_back(value);
    const auto index = static_cast<std::int32_t>(program_.constants.size() - 1);
    emit({.operation = Operation::push, .source = Source::constant, .operand = index}, where, where.column);
    pushed();
  }

  void emit_slot(int slot, const Token& where) {
    if (std::find(program_.slots.begin(), program_.slots.end(), slot) == program_.slots.end()) program_.slots.push_back(slot);
    constant_from_ = here() + 1;
    emit({.operation = Operation::push, .source = Source::slot, .operand = slot}, where, where.column);
    pushed();
  }

  // The operator's right operand is the code from `right_start` on; a plain name or constant moves into the instruction.
  std::size_t emit_binary(Instruction instruction, std::size_t right_start, const Token& where) {
    int operand_column = where.column;
    instruction.source = Source::stack;
    if (right_start + 1 == here() && program_.code.back().operation == Operation::push) {
      instruction.source = program_.code.back().source;
      instruction.operand = program_.code.back().operand;
      operand_column = program_.places.back().operand_column;
      program_.code.pop_back();
      program_.places.pop_back();
    }
    popped();
    return emit(instruction, where, operand_column);
  }

  void jump_to_here(std::size_t jump) { program_.code[jump].jump = static_cast<std::int32_t>(here() - jump); }

  // Replaces code without names by its value. What fails is left to fail when it is reached, if it ever is.
  void fold(std::size_t start) {
    if (constant_from_ > start || here() == start + 1) return;
    Scalar value;
    try {
      value = program_.run(start, here(), {});
    } catch (const ExpressionError&) {
      return;
    }
    const Place place = program_.places[start];
    program_.code.resize(start);
    program_.places.resize(start);
    program_.constants.push_back(value);
    program_.code.push_back({.operation = Operation::push,
                             .source = Source::constant,
                             .operand = static_cast<std::int32_t>(program_.constants.size() - 1)});
    program_.places.push_back(place);
  }

  // --- grammar ---
  // Compiles the longest expression from here whose operators bind at least as tightly as `least`.
  void parse(int least) {
    if (++nesting_ > kMaxNesting) fail(token(), fmt::format("nested too deeply; at most {} levels are allowed", kMaxNesting));
    const std::size_t start = here();
    prefix(least);
    while (infix(start, least)) fold(start);
    --nesting_;
  }

  void prefix(int least) {
    const std::size_t start = here();
    const Token& first = token();
    if (first.is("not") || first.is("!")) {
      const bool word = first.is("not");
      if (word && least > kNot) fail(first, "'not' binds loosely; write (not ...)");
      unary(Operation::logical_not, word ? kNot : kUnary);
    } else if (first.is("-")) {
      if (!least_integer()) unary(Operation::negate, kUnary);
    } else if (first.is("+")) {
      unary(Operation::plus, kUnary);
    } else {
      operand();
    }
    fold(start);
  }

  void unary(Operation operation, Binding binding) {
    const Token& sign = token();
    ++position_;
    parse(binding);
    emit({.operation = operation}, sign);
  }

  // -9223372036854775808 is in range although the number behind the sign is not.
  bool least_integer() {
    constexpr std::uint64_t kMagnitude = std::uint64_t{1} << 63;
    const Token& number = token(1);
    if (number.kind != Token::Kind::integer || number.too_large || number.magnitude != kMagnitude || token(2).is("**")) return false;
    emit_constant(Scalar::integer(std::numeric_limits<std::int64_t>::min()), token());
    position_ += 2;
    return true;
  }

  void operand() {
    const Token& first = token();
    ++position_;
    switch (first.kind) {
      case Token::Kind::integer:
        if (first.too_large || first.magnitude > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
          fail(first, fmt::format("{} does not fit into 64 bits", first.text));
        }
        return emit_constant(Scalar::integer(static_cast<std::int64_t>(first.magnitude)), first);
      case Token::Kind::decimal: return emit_constant(Scalar::real(first.decimal), first);
      case Token::Kind::text: return emit_constant(Scalar::text(first.text), first);
      case Token::Kind::name: return word(first);
      case Token::Kind::sign:
      case Token::Kind::end: break;
    }
    if (first.is("[")) fail(first, "a list may only follow 'in' or 'not in'");
    if (!first.is("(")) fail(first, fmt::format("expected a value, found {}", describe(first)));
    parse(kConditional);
    if (token().is(",")) fail(token(), "a list may only follow 'in' or 'not in'");
    expect(")");
  }

  void word(const Token& first) {
    if (first.is("True") || first.is("true")) return emit_constant(Scalar::boolean(true), first);
    if (first.is("False") || first.is("false")) return emit_constant(Scalar::boolean(false), first);
    if (std::find(kWords.begin(), kWords.end(), first.text) != kWords.end()) {
      fail(first, fmt::format("expected a value, found {}", describe(first)));
    }
    if (token().is("(")) return first.text == "sizeof" ? size_of(first) : call(first);
    if (const auto slot = names_.find(first.text)) return emit_slot(*slot, first);
    fail_unknown(first);
  }

  [[noreturn]] void fail_unknown(const Token& name) const {
    if (parse_dtype(name.text)) {
      fail(name, fmt::format("unknown name {0}; the name of a type is written in quotes: '{0}'", name.text));
    }
    std::vector<std::string> known;
    for (std::size_t slot = 0; slot < names_.size(); ++slot) known.push_back(names_.at(static_cast<int>(slot)));
    fail(name, fmt::format("unknown name '{}'{}", name.text, suggestion(name.text, known)));
  }

  void size_of(const Token& function) {
    expect("(");
    const Token& name = token();
    if (name.kind != Token::Kind::name) fail(name, fmt::format("sizeof needs the name of a type, found {}", describe(name)));
    ++position_;
    if (const auto slot = names_.find(name.text)) {
      emit_slot(*slot, name);
    } else if (parse_dtype(name.text)) {
      emit_constant(Scalar::text(name.text), name);
    } else {
      fail(name, fmt::format("unknown type '{}'; types: {}, or a name whose value is one", name.text, dtype_names()));
    }
    expect(")");
    emit({.operation = Operation::size_of}, function);
  }

  void call(const Token& name) {
    const auto* const function =
        std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& known) { return known.name == name.text; });
    if (function == kFunctions.end()) {
      std::vector<std::string> known = {"sizeof"};
      for (const Function& candidate : kFunctions) known.emplace_back(candidate.name);
      fail(name, fmt::format("unknown function '{}'{}", name.text, suggestion(name.text, known)));
    }
    const Operation operation = in_this_mode(function->operation, name);
    expect("(");
    int count = 0;
    while (!token().is(")")) {
      if (count > 0) expect(",");
      const std::size_t argument = here();
      parse(kConditional);
      if (++count > 1) emit_binary({.operation = operation}, argument, name);
    }
    if (count < function->arguments || (count > function->arguments && !function->variadic)) {
      fail(name, fmt::format("{} takes {}{} argument{}, found {}", name.text, function->variadic ? "at least " : "",
                             function->arguments, function->arguments == 1 ? "" : "s", count));
    }
    expect(")");
    if (function->arguments == 1) emit({.operation = operation}, name);
  }

  Operation in_this_mode(Operation operation, const Token& where) const {
    const bool real = mode_ == Expression::Mode::real;
    if (operation == Operation::sqrt && !real) fail(where, "sqrt gives no integer; compare squares");
    if (operation == Operation::log2 && real) return Operation::log2_real;
    if (operation == Operation::power && real) return Operation::power_real;
    return operation;
  }

  // Compiles an operator at least as tight as `least`, whose left operand is the code from `start` on; false if none is next.
  bool infix(std::size_t start, int least) {
    const Token& sign = token();
    if (least <= kConditional && accept("?")) return conditional(sign), true;
    if (least <= kConditional && accept("if")) return reversed_conditional(start, sign), true;
    if (least <= kOr && (sign.is("or") || sign.is("||"))) return logical(Operation::jump_or, kOr, "or", "||"), true;
    if (least <= kAnd && (sign.is("and") || sign.is("&&"))) return logical(Operation::jump_and, kAnd, "and", "&&"), true;
    if (least <= kComparison && is_comparison()) return comparisons(), true;
    const BinaryOperator* const binary = binary_operator();
    if (binary == nullptr || binary->binding == kComparison || binary->binding < least) return false;
    ++position_;
    const std::size_t right = here();
    // A power groups from the right, and its exponent may have a sign.
    parse(binary->binding == kPower ? kUnary : binary->binding + 1);
    emit_binary({.operation = in_this_mode(binary->operation, sign)}, right, sign);
    return true;
  }

  const BinaryOperator* binary_operator() const {
    const auto* const found = std::find_if(kBinaryOperators.begin(), kBinaryOperators.end(),
                                           [&](const BinaryOperator& known) { return token().is(known.sign); });
    return found == kBinaryOperators.end() ? nullptr : found;
  }

  // condition ? yes : no
  void conditional(const Token& sign) {
    const std::size_t skip_yes = emit({.operation = Operation::jump_if_false}, sign);
    popped();
    parse(kConditional);
    const std::size_t skip_no = emit({.operation = Operation::jump}, sign);
    popped();
    jump_to_here(skip_yes);
    expect(":");
    parse(kConditional);
    jump_to_here(skip_no);
  }

  // yes if condition else no: `yes` is there already, so the code of the condition is moved in front of it.
  void reversed_conditional(std::size_t start, const Token& sign) {
    const std::size_t condition = here();
    popped();
    parse(kOr);
    const std::size_t skip_yes = emit({.operation = Operation::jump_if_false}, sign);
    popped();
    const auto move_to_front = [&](auto& list) {
      const auto begin = list.begin();
      std::rotate(begin + static_cast<std::ptrdiff_t>(start), begin + static_cast<std::ptrdiff_t>(condition), list.end());
    };
    move_to_front(program_.code);
    move_to_front(program_.places);
    if (constant_from_ > start) constant_from_ = here();
    const std::size_t skip_no = emit({.operation = Operation::jump}, sign);
    jump_to_here(start + (skip_yes - condition));
    expect("else");
    parse(kConditional);
    jump_to_here(skip_no);
  }

  // a and b and c: each operand that decides jumps to the end.
  void logical(Operation operation, Binding binding, std::string_view word, std::string_view sign) {
    std::vector<std::size_t> jumps;
    while (token().is(word) || token().is(sign)) {
      jumps.push_back(emit({.operation = operation}, token()));
      popped();
      ++position_;
      parse(binding + 1);
    }
    for (const std::size_t jump : jumps) jump_to_here(jump);
  }

  bool is_membership() const { return token().is("in") || (token().is("not") && token(1).is("in")); }

  bool is_comparison() const {
    const BinaryOperator* const binary = binary_operator();
    return is_membership() || (binary != nullptr && binary->binding == kComparison);
  }

  // a < b <= c is (a < b) and (b <= c), with b computed once.
  void comparisons() {
    std::vector<std::size_t> jumps;
    while (is_comparison()) {
      if (is_membership()) {
        membership();
        if (is_comparison()) fail(token(), "a list cannot be compared; write parentheses");
        break;
      }
      const Token& sign = token();
      const Operation comparison = binary_operator()->operation;
      ++position_;
      const std::size_t right = here();
      parse(kComparison + 1);
      if (is_comparison()) {
        jumps.push_back(emit_binary({.operation = Operation::chain, .comparison = comparison}, right, sign));
      } else {
        emit_binary({.operation = comparison}, right, sign);
      }
    }
    for (const std::size_t jump : jumps) jump_to_here(jump);
  }

  // value in [a, b], value not in (a, b)
  void membership() {
    const Token& sign = token();
    const bool negated = accept("not");
    expect("in");
    const Token& open = token();
    if (!open.is("[") && !open.is("(")) fail(open, fmt::format("expected a list [..] after 'in', found {}", describe(open)));
    const std::string_view close = open.is("[") ? "]" : ")";
    ++position_;
    emit({.operation = Operation::in_begin}, sign);
    pushed();
    int count = 0;
    bool comma = false;
    while (!token().is(close)) {
      const std::size_t element = here();
      parse(kConditional);
      emit_binary({.operation = Operation::in_element}, element, sign);
      ++count;
      comma = accept(",");
      if (!comma) break;
    }
    if (!token().is(close)) fail(token(), fmt::format("expected ',' or '{}', found {}", close, describe(token())));
    if (open.is("(") && count == 1 && !comma) fail(open, "expected a list after 'in'; one element is written [x]");
    ++position_;
    emit({.operation = negated ? Operation::not_in_end : Operation::in_end}, sign);
    popped();
  }

  const Names& names_;
  Expression::Mode mode_;
  std::vector<Token> tokens_;
  std::size_t position_ = 0;
  ExpressionProgram program_;
  int nesting_ = 0;
  int depth_ = 0;                 // values on the stack when the code so far has run
  std::size_t constant_from_ = 0;  // no instruction from here on reads a slot
};

}  // namespace

ExpressionProgram compile_expression(std::string_view text, const Names& names, Expression::Mode mode) {
  if (text.size() > kMaxExpressionLength) {
    throw ExpressionError(fmt::format("the expression has {} bytes; at most {} are allowed", text.size(), kMaxExpressionLength),
                          static_cast<int>(kMaxExpressionLength) + 1);
  }
  return Compiler(text, names, mode).compile();
}

}  // namespace tunebook
