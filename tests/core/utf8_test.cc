#include "core/utf8.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/random.h"

namespace tunebook {
namespace {

const std::string kBad = "\xEF\xBF\xBD";

TEST(Utf8, ValidTextIsLeftAlone) {
  for (const std::string text : {"", "abc", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(valid_utf8(text), text);
  }
}

TEST(Utf8, EachMaximalPartBecomesOneReplacement) {
  EXPECT_EQ(valid_utf8("a\xFF" "b"), "a" + kBad + "b");
  EXPECT_EQ(valid_utf8("\xC0\xAF"), kBad + kBad);              // overlong
  EXPECT_EQ(valid_utf8("\xE0\x80\xAF"), kBad + kBad + kBad);
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), kBad + kBad + kBad);   // a surrogate
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), kBad + kBad + kBad + kBad);
  EXPECT_EQ(valid_utf8("\xE2\x82"), kBad);                     // cut
  EXPECT_EQ(valid_utf8("\xF0\x9F\x98" "A"), kBad + "A");
  // The example of the Unicode Standard, table 3-8.
  EXPECT_EQ(valid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), kBad + kBad + kBad + kBad + kBad + kBad + kBad + kBad + "A");
}

TEST(Utf8, AnyBytesBecomeWhatAParserTakes) {
  Random random(11);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random.below(12), '\0');
    for (char& c : bytes) c = static_cast<char>(random.below(2) == 0 ? random.below(256) : 0x80 + random.below(0x75));
    const std::string text = valid_utf8(bytes);
    EXPECT_NO_THROW(nlohmann::json(text).dump());
    EXPECT_EQ(valid_utf8(text), text);
    const std::size_t most = random.below(10);
    const std::string_view prefix = utf8_prefix(text, most);
    EXPECT_LE(prefix.size(), most);
    EXPECT_EQ(valid_utf8(prefix), prefix);
  }
}

}  // namespace
}  // namespace tunebook
