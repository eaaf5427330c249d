#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tunebook {

// 128-bit content hash (XXH3) as 32 lower-case hex digits. Not cryptographic: identity, not protection.
std::string content_hash(std::string_view bytes);

// Hash of several parts with their boundaries: {"ab","c"} and {"a","bc"} differ.
class HashBuilder {
 public:
  HashBuilder& add(std::string_view part);
  std::string hex() const;

 private:
  std::string buffer_;
};

}  // namespace tunebook
