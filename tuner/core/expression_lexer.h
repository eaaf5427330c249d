#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/expression.h"

namespace tunebook {

// One word or sign of an expression. Part of the expression compiler, not for use elsewhere.
struct Token {
  enum class Kind { end, integer, decimal, name, text, sign };
  Kind kind = Kind::end;
  std::string_view text;        // as written; for Kind::text without the quotes
  int column = 1;               // 1-based, in bytes
  std::uint64_t magnitude = 0;  // Kind::integer
  bool too_large = false;       // Kind::integer beyond 64 bits without sign
  double decimal = 0;           // Kind::decimal

  // Is it this operator, bracket or word? ("and" is a name token, "<=" a sign.)
  bool is(std::string_view sign) const { return (kind == Kind::sign || kind == Kind::name) && text == sign; }
};

// The tokens of `text`, the last one Kind::end; they view `text`. Throws ExpressionError for a character, number or quotation
// that is no token, and for decimals in Mode::integer.
std::vector<Token> tokenize(std::string_view text, Expression::Mode mode);

// How a token is named in a message: 'BLOCK', '<=', the end of the expression.
std::string describe(const Token& token);

}  // namespace tunebook
