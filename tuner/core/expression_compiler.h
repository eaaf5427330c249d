#pragma once

#include <string_view>

#include "core/expression.h"
#include "core/expression_program.h"

namespace tunebook {

// Parses and compiles; throws ExpressionError. Grammar: expression.md.
ExpressionProgram compile_expression(std::string_view text, const Names& names, Expression::Mode mode);

}  // namespace tunebook
