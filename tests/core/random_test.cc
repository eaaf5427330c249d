#include "core/random.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

// From an implementation in Python that also reproduces the published vectors of both parts: SplitMix64 from 1234567 begins with
// 6457827717110365317, and xoshiro256** from the state 1, 2, 3, 4 with 11520, 0, 1509978240, 1215971899390074240.
TEST(Random, GivesTheKnownSequence) {
  const std::vector<std::pair<std::uint64_t, std::array<std::uint64_t, 5>>> known = {
      {0, {11091344671253066420U, 13793997310169335082U, 1900383378846508768U, 7684712102626143532U, 13521403990117723737U}},
      {1234567, {3504822795582309479U, 1819558768956484042U, 1250851346055027673U, 16940231675099994102U, 11585879347611423030U}},
      {std::numeric_limits<std::uint64_t>::max(),
       {10328197420357168392U, 14156678507024973869U, 9357971779955476126U, 13791585006304312367U, 10463432026814718762U}}};
  for (const auto& [seed, sequence] : known) {
    Random random(seed);
    for (const std::uint64_t expected : sequence) EXPECT_EQ(random.next(), expected) << seed;
  }
}

TEST(Random, BelowStaysBelow) {
  Random random(1);
  for (const std::uint64_t bound : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{7}, std::uint64_t{1} << 63,
                                    (std::uint64_t{1} << 63) + 1, std::numeric_limits<std::uint64_t>::max()}) {
    for (int i = 0; i < 1000; ++i) EXPECT_LT(random.below(bound), bound);
  }
}

TEST(Random, BelowIsUnbiased) {
  // Of [0, 3 * 2^62) a plain remainder would hit the lower third twice as often as the others.
  constexpr std::uint64_t kThird = std::uint64_t{1} << 62;
  constexpr int kDraws = 30000;
  Random random(2);
  std::array<int, 3> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts[random.below(3 * kThird) / kThird];
  // Five standard deviations of a binomial count.
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 3, 5 * std::sqrt(kDraws * 2.0 / 9.0));
}

TEST(Random, UniformAndNormalHaveTheirMoments) {
  constexpr int kDraws = 100000;
  Random random(3);
  double sum = 0;
  double normal_sum = 0;
  double normal_squares = 0;
  int within_one = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double uniform = random.uniform();
    ASSERT_GE(uniform, 0.0);
    ASSERT_LT(uniform, 1.0);
    sum += uniform;
    const double normal = random.normal();
    normal_sum += normal;
    normal_squares += normal * normal;
    within_one += std::abs(normal) < 1 ? 1 : 0;
  }
  const double root = std::sqrt(static_cast<double>(kDraws));
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * std::sqrt(1.0 / 12) / root);
  EXPECT_NEAR(normal_sum / kDraws, 0.0, 5 / root);
  EXPECT_NEAR(normal_squares / kDraws, 1.0, 5 * std::sqrt(2.0) / root);
  EXPECT_NEAR(static_cast<double>(within_one) / kDraws, 0.6826894921, 5 * 0.4655 / root);
}

}  // namespace
}  // namespace tunebook
