#include "core/utf8.h"

namespace tunebook {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// What may follow the first byte: how many bytes, and which range the first of them must be in (table 3-7 of the Unicode Standard).
struct Sequence {
  int following = -1;  // -1: no first byte
  unsigned char low = 0x80, high = 0xBF;
};

Sequence sequence_of(unsigned char first) {
  if (first < 0x80) return {0};
  if (first >= 0xC2 && first <= 0xDF) return {1};
  if (first == 0xE0) return {2, 0xA0, 0xBF};
  if (first == 0xED) return {2, 0x80, 0x9F};
  if (first >= 0xE1 && first <= 0xEF) return {2};
  if (first == 0xF0) return {3, 0x90, 0xBF};
  if (first >= 0xF1 && first <= 0xF3) return {3};
  if (first == 0xF4) return {3, 0x80, 0x8F};
  return {};
}

}  // namespace

std::string valid_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const Sequence sequence = sequence_of(static_cast<unsigned char>(bytes[at]));
    std::size_t end = at + 1;
    int missing = sequence.following;
    for (; missing > 0 && end < bytes.size(); --missing, ++end) {
      const auto next = static_cast<unsigned char>(bytes[end]);
      const bool second = end == at + 1;
      if (next < (second ? sequence.low : 0x80) || next > (second ? sequence.high : 0xBF)) break;
    }
    text += missing == 0 ? bytes.substr(at, end - at) : kReplacement;
    at = end;
  }
  return text;
}

std::string_view utf8_prefix(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

}  // namespace tunebook
