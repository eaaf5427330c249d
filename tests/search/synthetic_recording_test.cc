#include "support/synthetic_recording.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "search/recording.h"
#include "search_fixtures.h"

namespace tunebook {
namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(SyntheticRecording, AHundredThousandConfigurations) {
  const test::TemporaryFolder folder;
  const Recording recording = Recording::load(test::write_synthetic_recording(folder.path(), "big", 1, 100'000));
  EXPECT_EQ(recording.kernel(), "synthetic");
  EXPECT_EQ(recording.size(), 100'000u);
  EXPECT_EQ(recording.space().size(), 100'000u);
  std::uint64_t failed = 0;
  double best = 1e300;
  double worst = 0;
  for (std::uint64_t i = 0; i < recording.size(); ++i) {
    const Recording::Entry entry = recording.entry(i);
    ASSERT_EQ(entry.time_us.has_value(), entry.outcome == Outcome::ok);
    ASSERT_GT(entry.cost_s, 0.3);
    if (!entry.time_us) {
      ++failed;
    } else {
      best = std::min(best, *entry.time_us);
      worst = std::max(worst, *entry.time_us);
    }
  }
  EXPECT_GT(failed, 4'000u);
  EXPECT_LT(failed, 6'000u);
  EXPECT_GT(worst, 3 * best);
}

TEST(SyntheticRecording, SameSeedSameBytes) {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& name, std::uint64_t seed, std::uint64_t size) {
    test::write_synthetic_recording(folder.path(), name, seed, size);
    return content(folder.path() / (name + ".csv"));
  };
  EXPECT_EQ(write("a", 1, 500), write("b", 1, 500));
  EXPECT_NE(write("a", 1, 500), write("b", 2, 500));
  for (const std::uint64_t size : {1u, 2u, 47u, 48u, 49u, 1'000u}) {
    write("c", 3, size);
    EXPECT_EQ(Recording::load(folder.path() / "c").size(), size);
  }
}

}  // namespace
}  // namespace tunebook
