#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tunebook {

// A token of C++ as far as rewriting needs it. All tokens together are the whole text.
struct CudaToken {
  enum class Kind { space, comment, directive, identifier, number, text, punctuation };
  Kind kind = Kind::space;
  std::string_view text;
  int line = 1;
  bool is(std::string_view what) const { return text == what; }
};

// Never fails: an unfinished string or comment runs to the end of its line or of the text. Punctuation is one character a token.
std::vector<CudaToken> split_cuda_tokens(std::string_view source);

}  // namespace tunebook
