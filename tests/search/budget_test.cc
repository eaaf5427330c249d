#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "search_fixtures.h"
#include "search/strategy.h"

namespace tunebook {
namespace {

TEST(Budget, ParsesEachForm) {
  EXPECT_EQ(Budget::parse("200").trials, 200u);
  EXPECT_EQ(Budget::parse("18446744073709551615").trials, UINT64_MAX);
  EXPECT_DOUBLE_EQ(Budget::parse("10%").share.value(), 0.1);
  EXPECT_DOUBLE_EQ(Budget::parse("0.5%").share.value(), 0.005);
  EXPECT_DOUBLE_EQ(Budget::parse("100%").share.value(), 1.0);
  EXPECT_DOUBLE_EQ(Budget::parse("30s").seconds.value(), 30);
  EXPECT_DOUBLE_EQ(Budget::parse("5m").seconds.value(), 300);
  EXPECT_DOUBLE_EQ(Budget::parse("1.5h").seconds.value(), 5400);
  EXPECT_DOUBLE_EQ(Budget::parse("all").share.value(), 1.0);
  EXPECT_EQ(Budget::parse("5m").text, "5m");
  EXPECT_FALSE(Budget::parse("5m").trials);
  EXPECT_TRUE(Budget::parse("auto").automatic);
  EXPECT_FALSE(Budget::parse("all").automatic);
  EXPECT_EQ(Budget::parse("auto").trial_limit(50), 50u);
  EXPECT_EQ(Budget::parse("auto").trial_limit(1'000'000), Budget::kAutoMost);
  EXPECT_FALSE(Budget::parse("200").seconds);
}

TEST(Budget, RejectsEverythingElse) {
  for (const std::string text :
       {"", "0", "-1", "+5", " 5", "5 ", "1.5", "1e3", "0x10", "18446744073709551616", "99999999999999999999999", "0%", "-1%",
        "100.1%", "101%", "nan%", "inf%", "%", "1e1%", "0s", "0.0s", "-5s", "s", "nans", "infs", "infinitys", "1e3s", "1e400h",
        "99999999999999999999h", "600000m", "5d", "5 m", "ten", "ALL", "all ", "5ms", "1.2.3s", ".", ".s", "5\n"}) {
    EXPECT_THROW(Budget::parse(text), InputError) << '"' << text << '"';
  }
  EXPECT_EQ(test::message_of([] { Budget::parse("-5"); }),
            "--budget \"-5\": a budget must be positive; give a number of trials (200), a share of the space (10%), a time (30s, "
            "5m, 2h), \"all\", or \"auto\"");
}

TEST(Budget, LimitsTrials) {
  EXPECT_EQ(Budget::parse("200").trial_limit(1000), 200u);
  EXPECT_EQ(Budget::parse("200").trial_limit(50), 50u);
  EXPECT_EQ(Budget::parse("30s").trial_limit(50), 50u);
  EXPECT_EQ(Budget::parse("all").trial_limit(50), 50u);
  EXPECT_EQ(Budget::parse("10%").trial_limit(0), 0u);
  EXPECT_EQ(Budget::parse("10%").trial_limit(1), 1u);
  EXPECT_EQ(Budget::parse("10%").trial_limit(101), 11u);
  EXPECT_EQ(Budget::parse("0.0000000001%").trial_limit(1000), 1u);
  // Whole percentages of whole hundreds are exact, whatever doubles say.
  for (std::uint64_t percent = 1; percent <= 100; ++percent) {
    for (const std::uint64_t hundreds : {1u, 3u, 7u, 1000u, 1234567u}) {
      EXPECT_EQ(Budget::parse(std::to_string(percent) + "%").trial_limit(hundreds * 100), percent * hundreds);
    }
  }
}

}  // namespace
}  // namespace tunebook
