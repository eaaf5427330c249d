#include "core/hash.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tunebook {

std::string content_hash(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

HashBuilder& HashBuilder::add(std::string_view part) {
  // The length in front marks where a part ends.
  buffer_.append(std::to_string(part.size())).push_back(':');
  buffer_.append(part);
  return *this;
}

std::string HashBuilder::hex() const { return content_hash(buffer_); }

}  // namespace tunebook
