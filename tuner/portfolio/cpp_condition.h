#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/spec.h"

namespace tunebook {

// An expression of a declaration as C++ over the problem's dimensions alone.
struct CppCondition {
  std::optional<bool> constant;  // it is true, or false, whatever the dimensions are
  std::string code;              // else: an expression of type detail::number
};

// Writes the expression for a header that an application compiles. What reads no dimension becomes
// a number: parameters, the data type and the device have their values in `scope`, and what
// short-circuits on them disappears. An error in evaluation makes the condition false.
//
// The code uses kCppConditionRuntime, whose operators have the semantics of the expression
// language. A dimension appears as cpp_name() of it: a `number`, or a std::string_view if it is
// categorical. Throws InputError, naming the expression, where fractions of sizes are needed: they
// have no C++ here.
CppCondition cpp_condition(std::string_view expression, const KernelSpec& spec,
                           const KernelSpec::Scope& scope);

// The dimension's or parameter's name; with a `_` behind it if C++ or the header has its own
// meaning for it.
std::string cpp_name(std::string_view name);

// The text as a C++ string literal: what is not a letter, a digit or harmless is escaped.
std::string cpp_literal(std::string_view text);

// C++17: the struct `number` and functions over it, to be put into a namespace.
extern const char* const kCppConditionRuntime;

}  // namespace tunebook
