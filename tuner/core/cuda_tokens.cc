#include "core/cuda_tokens.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

namespace tunebook {
namespace {

bool starts_identifier(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }
bool continues_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

class Splitter {
 public:
  explicit Splitter(std::string_view source) : source_(source) {}

  std::vector<CudaToken> split() {
    while (position_ < source_.size()) {
      const std::size_t start = position_;
      const CudaToken::Kind kind = advance();
      const std::string_view text = source_.substr(start, position_ - start);
      tokens_.push_back({kind, text, line_});
      line_ += static_cast<int>(std::count(text.begin(), text.end(), '\n'));
      if (kind == CudaToken::Kind::space && text.find('\n') != std::string_view::npos) line_start_ = true;
      if (kind != CudaToken::Kind::space && kind != CudaToken::Kind::comment) line_start_ = false;
    }
    return std::move(tokens_);
  }

 private:
  char at(std::size_t offset) const {
    return position_ + offset < source_.size() ? source_[position_ + offset] : '\0';
  }

  CudaToken::Kind advance() {
    const char c = at(0);
    if (is_space(c) || (c == '\\' && at(1) == '\n')) return space();
    if (c == '/' && at(1) == '/') return line_of(CudaToken::Kind::comment);
    if (c == '/' && at(1) == '*') return block_comment();
    if (c == '#' && line_start_) return line_of(CudaToken::Kind::directive);
    if (c == '"' || c == '\'') return quoted(c);
    if (starts_identifier(c)) return identifier();
    if (std::isdigit(static_cast<unsigned char>(c)) || (c == '.' && std::isdigit(static_cast<unsigned char>(at(1)))))
      return number();
    ++position_;
    return CudaToken::Kind::punctuation;
  }

  CudaToken::Kind space() {
    while (position_ < source_.size() && (is_space(at(0)) || (at(0) == '\\' && at(1) == '\n'))) ++position_;
    return CudaToken::Kind::space;
  }

  // To the end of the line, without its newline; a backslash before the newline continues it, and so does a comment that
  // spans lines.
  CudaToken::Kind line_of(CudaToken::Kind kind) {
    while (position_ < source_.size() && at(0) != '\n') {
      if (at(0) == '\\' && at(1) == '\n') {
        position_ += 2;
      } else if (kind == CudaToken::Kind::directive && at(0) == '/' && at(1) == '*') {
        block_comment();
      } else if (kind == CudaToken::Kind::directive && at(0) == '/' && at(1) == '/') {
        break;
      } else {
        ++position_;
      }
    }
    return kind;
  }

  CudaToken::Kind block_comment() {
    const std::size_t end = source_.find("*/", position_ + 2);
    position_ = end == std::string_view::npos ? source_.size() : end + 2;
    return CudaToken::Kind::comment;
  }

  CudaToken::Kind quoted(char quote) {
    ++position_;
    while (position_ < source_.size() && at(0) != quote && at(0) != '\n') position_ += at(0) == '\\' ? 2 : 1;
    position_ = std::min(position_, source_.size());
    if (at(0) == quote) ++position_;
    return CudaToken::Kind::text;
  }

  CudaToken::Kind raw_string() {
    const std::size_t open = source_.find('(', position_);
    if (open == std::string_view::npos) {
      position_ = source_.size();
      return CudaToken::Kind::text;
    }
    std::string close = ")";
    close += source_.substr(position_ + 1, open - position_ - 1);
    close += '"';
    const std::size_t end = source_.find(close, open);
    position_ = end == std::string_view::npos ? source_.size() : end + close.size();
    return CudaToken::Kind::text;
  }

  CudaToken::Kind identifier() {
    const std::size_t start = position_;
    while (position_ < source_.size() && continues_identifier(at(0))) ++position_;
    const std::string_view name = source_.substr(start, position_ - start);
    if (at(0) == '"' && (name == "R" || name == "LR" || name == "uR" || name == "UR" || name == "u8R")) return raw_string();
    return CudaToken::Kind::identifier;
  }

  // Digit separators and exponents belong to the number.
  CudaToken::Kind number() {
    while (position_ < source_.size()) {
      const char c = at(0);
      const bool exponent_sign = (c == '+' || c == '-') && position_ > 0 &&
                                 std::string_view("eEpP").find(source_[position_ - 1]) != std::string_view::npos;
      const bool separator = c == '\'' && continues_identifier(at(1));
      if (!continues_identifier(c) && c != '.' && !exponent_sign && !separator) break;
      ++position_;
    }
    return CudaToken::Kind::number;
  }

  std::string_view source_;
  std::size_t position_ = 0;
  int line_ = 1;
  bool line_start_ = true;
  std::vector<CudaToken> tokens_;
};

}  // namespace

std::vector<CudaToken> split_cuda_tokens(std::string_view source) { return Splitter(source).split(); }

}  // namespace tunebook
