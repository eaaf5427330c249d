#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/scalar.h"

namespace tunebook {

// Bytecode of an expression for a stack machine; part of the expression language, not for use elsewhere.
// An operator of two operands finds the left one on the stack and the right one there too, or (saving a push) in a slot or a
// constant. A jump is relative to its own instruction, so that the code of a subexpression can be moved as a whole.
struct Instruction {
  enum class Operation : std::uint8_t {
    push,  // the right operand
    add, subtract, multiply, divide, floor_divide, modulo, power, power_real,
    equal, not_equal, less, less_equal, greater, greater_equal,
    minimum, maximum, ceil_div, round_up,
    // Of the top of the stack alone.
    negate, plus, logical_not, absolute, is_power_of_two, log2, log2_real, sqrt, size_of,
    // A comparison with more behind it: if it holds, its right operand stays, as the left one of the next; else false, and jump.
    chain,
    jump, jump_if_false,  // the latter pops
    jump_and, jump_or,    // keeps the top and jumps if that decides `and`, `or`; else pops
    in_begin,             // pushes false, the answer so far
    in_element,           // compares the value below the answer with the right operand
    in_end, not_in_end,   // leaves the answer, or its opposite
  };
  enum class Source : std::uint8_t { none, stack, slot, constant };

  Operation operation = Operation::push;
  Operation comparison = Operation::equal;  // of `chain`
  Source source = Source::none;             // of the right operand
  std::int32_t operand = 0;                 // slot or index of the constant
  std::int32_t jump = 0;                    // distance
};

// Where in the text an instruction and its right operand stand, 1-based.
struct Place {
  int column = 1;
  int operand_column = 1;
};

// The limit on recursion while compiling, and from it the largest stack that code can need: each level leaves at most two values
// waiting (`in`: the value and the answer so far), and the deepest pushes two.
inline constexpr int kMaxNesting = 200;
inline constexpr int kMaxStack = 2 * kMaxNesting + 2;
// In bytes. Generated constraints list values by the thousand; anything longer is not an expression that someone meant.
inline constexpr std::size_t kMaxExpressionLength = std::size_t{1} << 16;

struct ExpressionProgram {
  std::string text;
  std::vector<Instruction> code;
  std::vector<Place> places;  // of each instruction
  std::vector<Scalar> constants;
  std::vector<int> slots;               // read by the code, ascending
  std::vector<std::string> slot_names;  // of each of them

  // Runs the instructions [first, last), which leave one value. Throws ExpressionError. Allocates nothing unless it fails.
  Scalar run(std::size_t first, std::size_t last, std::span<const Scalar> values) const;
};

}  // namespace tunebook
