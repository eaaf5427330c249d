#include "core/expression_lexer.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace tunebook {
namespace {

// Longer ones first, so that the first that fits is the longest.
constexpr std::array<std::string_view, 23> kSigns = {"**", "//", "==", "!=", "<=", ">=", "&&", "||", "+", "-", "*", "/",
                                                     "%",  "<",  ">",  "!",  "?",  ":",  "(",  ")",  "[", "]", ","};

// The functions of <cctype> depend on the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Lexer {
 public:
  Lexer(std::string_view text, Expression::Mode mode) : text_(text), mode_(mode) {}

  Token next() {
    while (is_space(peek())) ++position_;
    start_ = position_;
    const char c = peek();
    if (position_ == text_.size()) return token(Token::Kind::end);
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (is_letter(c)) return name();
    if (c == '\'' || c == '"') return quotation(c);
    for (const std::string_view sign : kSigns) {
      if (text_.substr(position_).starts_with(sign)) {
        position_ += sign.size();
        return token(Token::Kind::sign);
      }
    }
    unexpected(c);
  }

 private:
  char peek(std::size_t ahead = 0) const { return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0'; }

  Token token(Token::Kind kind) const {
    Token result;
    result.kind = kind;
    result.text = text_.substr(start_, position_ - start_);
    result.column = static_cast<int>(start_) + 1;
    return result;
  }

  [[noreturn]] void fail(const std::string& message) const { throw ExpressionError(message, static_cast<int>(start_) + 1); }

  [[noreturn]] void unexpected(char c) const {
    switch (c) {
      case '=': fail("'=' is no operator; compare with '=='");
      case '&': fail("'&' is no operator; write 'and' or '&&'");
      case '|': fail("'|' is no operator; write 'or' or '||'");
      case '^': fail("'^' is no operator; a power is written '**'");
      default: break;
    }
    if (c > ' ' && c <= '~') fail(fmt::format("unexpected character '{}'", c));
    fail(fmt::format("unexpected byte 0x{:02x}", static_cast<unsigned char>(c)));
  }

  void skip_digits() {
    while (is_digit(peek())) ++position_;
  }

  Token number() {
    bool decimal = false;
    skip_digits();
    if (peek() == '.') {
      decimal = true;
      ++position_;
      skip_digits();
    }
    const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if ((peek() == 'e' || peek() == 'E') && is_digit(peek(1 + sign))) {
      decimal = true;
      position_ += 1 + sign;
      skip_digits();
    }
    if (is_letter(peek()) || is_digit(peek()) || peek() == '.') {
      while (is_letter(peek()) || is_digit(peek()) || peek() == '.') ++position_;
      fail(fmt::format("'{}' is not a number", text_.substr(start_, position_ - start_)));
    }
    return decimal ? decimal_number() : integer_number();
  }

  Token decimal_number() const {
    Token result = token(Token::Kind::decimal);
    if (mode_ == Expression::Mode::integer) {
      fail(fmt::format("decimal number {} in an integer expression; write a fraction such as 1/2", result.text));
    }
    const char* end = result.text.data() + result.text.size();
    const auto [stop, error] = std::from_chars(result.text.data(), end, result.decimal);
    if (error != std::errc() || stop != end) fail(fmt::format("{} does not fit into a double", result.text));
    return result;
  }

  Token integer_number() const {
    Token result = token(Token::Kind::integer);
    if (result.text.size() > 1 && result.text[0] == '0') {
      fail(fmt::format("'{}' begins with a zero; octal numbers are not known", result.text));
    }
    const char* end = result.text.data() + result.text.size();
    result.too_large = std::from_chars(result.text.data(), end, result.magnitude).ec != std::errc();
    return result;
  }

  Token name() {
    while (is_letter(peek()) || is_digit(peek()) || (peek() == '.' && is_letter(peek(1)))) ++position_;
    return token(Token::Kind::name);
  }

  Token quotation(char quote) {
    const std::size_t close = text_.find(quote, position_ + 1);
    if (close == std::string_view::npos) fail(fmt::format("the closing {} is missing", quote));
    const std::string_view inside = text_.substr(position_ + 1, close - position_ - 1);
    if (inside.find('\\') != std::string_view::npos) fail("a backslash has no meaning in a text; use the other kind of quotes");
    position_ = close + 1;
    Token result = token(Token::Kind::text);
    result.text = inside;
    return result;
  }

  std::string_view text_;
  Expression::Mode mode_;
  std::size_t start_ = 0;
  std::size_t position_ = 0;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text, Expression::Mode mode) {
  std::vector<Token> tokens;
  Lexer lexer(text, mode);
  do {
    tokens.push_back(lexer.next());
  } while (tokens.back().kind != Token::Kind::end);
  return tokens;
}

std::string describe(const Token& token) {
  if (token.kind == Token::Kind::end) return "the end of the expression";
  if (token.kind == Token::Kind::text) return fmt::format("the text '{}'", token.text);
  return fmt::format("'{}'", token.text);
}

}  // namespace tunebook
