#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tunebook {

// `bytes` with all that is no UTF-8 (overlong forms, surrogates and what lies beyond U+10FFFF too) replaced by U+FFFD, one for each
// maximal part of a sequence, as the Unicode Standard recommends (section 3.9).
std::string valid_utf8(std::string_view bytes);

// The first part of valid UTF-8 that takes at most `bytes` bytes and splits no code point.
std::string_view utf8_prefix(std::string_view text, std::size_t bytes);

}  // namespace tunebook
