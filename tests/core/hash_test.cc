#include "core/hash.h"

#include <set>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

TEST(Hash, IsXxh128) {
  // XXH3's 128-bit hash of nothing, as its author publishes it: stored hashes must not change with a release.
  EXPECT_EQ(content_hash(""), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, DistinguishesContents) {
  std::set<std::string> hashes;
  for (const std::string& text : {std::string("a"), std::string("b"), std::string("ab"), std::string("a\0", 2), std::string(1000, 'x'),
                                  std::string(1001, 'x')}) {
    const std::string hash = content_hash(text);
    EXPECT_EQ(hash.size(), 32U);
    EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_EQ(hash, content_hash(text));
    EXPECT_TRUE(hashes.insert(hash).second);
  }
}

TEST(Hash, KeepsTheBoundariesOfParts) {
  const auto hash_of = [](std::initializer_list<std::string_view> parts) {
    HashBuilder builder;
    for (const std::string_view part : parts) builder.add(part);
    return builder.hex();
  };
  const std::set<std::string> hashes = {hash_of({"ab", "c"}), hash_of({"a", "bc"}), hash_of({"abc"}),      hash_of({"ab", "c", ""}),
                                        hash_of({}),          hash_of({""}),        hash_of({"1:a", "b"}), hash_of({"1:a1:b"})};
  EXPECT_EQ(hashes.size(), 8U);
  EXPECT_EQ(hash_of({"ab", "c"}), hash_of({"ab", "c"}));
}

}  // namespace
}  // namespace tunebook
