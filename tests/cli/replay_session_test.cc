// Sessions on a recording: no template, no worker, and many configurations.
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli_support.h"
#include "db/store.h"
#include "support/synthetic_recording.h"

namespace tunebook::test {
namespace {

using Words = std::vector<std::string>;

constexpr std::uint64_t kSeed = 7;
#ifdef TUNEBOOK_SANITIZED
constexpr std::uint64_t kSize = 10000;
#else
constexpr std::uint64_t kSize = 100000;
#endif

class ReplaySession : public CliTest {
 protected:
  ReplaySession() : recording_(write_synthetic_recording(folder(), "large", kSeed, kSize)) {}

  double best_us() const { return 1000 * nlohmann::json::parse(read_file(recording_.string() + ".json"))["best_ms"].get<double>(); }
  Words tune(const Words& more) const {
    Words words = {"tune", "synthetic", "--device", "replay:" + recording_.string(), "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::int64_t trials_of(const nlohmann::ordered_json& tuned) {
    std::int64_t all = 0;
    for (const auto& [outcome, count] : tuned["trials"].items()) all += count.get<std::int64_t>();
    return all;
  }

 private:
  std::filesystem::path recording_;
};

TEST_F(ReplaySession, ExhaustiveFindsTheBestInLittleMemory) {
  const ProgramResult result = run(tune({"--strategy", "exhaustive", "--budget", "all"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto tuned = parse_one_line(result.out);
  EXPECT_EQ(trials_of(tuned), static_cast<std::int64_t>(kSize));
  EXPECT_NEAR(tuned["winner"]["median_us"].get<double>(), best_us(), 1e-6 * best_us());
#ifndef TUNEBOOK_SANITIZED
  EXPECT_LT(result.peak_memory_bytes, std::int64_t{200} << 20);
#endif

  const auto again = run_json(tune({"--strategy", "exhaustive", "--budget", "all"}));
  EXPECT_EQ(again["session"], tuned["session"]);
  EXPECT_EQ(again["winner"], tuned["winner"]);
  EXPECT_EQ(again["trials"], tuned["trials"]);
  EXPECT_EQ(Store(book()).check().trials, static_cast<std::int64_t>(kSize));
}

TEST_F(ReplaySession, AShareOfTheSpaceIsExact) {
  const auto tuned = run_json(tune({"--strategy", "random", "--budget", "10%", "--seed", "3"}));
  EXPECT_EQ(trials_of(tuned), static_cast<std::int64_t>(kSize / 10));
  EXPECT_GE(tuned["winner"]["median_us"].get<double>(), best_us() * (1 - 1e-6));
}

TEST_F(ReplaySession, TheSameSeedIsTheSameSession) {
  const Words words = tune({"--budget", "500", "--seed", "5"});
  const auto one = run_json(words);
  set_environment("TUNEBOOK_BOOK", (folder() / "other.db").string());
  const auto two = run_json(words);
  const auto without_session = [](nlohmann::ordered_json winner) {
    winner.erase("session");
    return winner;
  };
  EXPECT_EQ(without_session(one["winner"]), without_session(two["winner"]));
  EXPECT_EQ(one["trials"], two["trials"]);
  EXPECT_NE(one["session"], two["session"]);
}

TEST_F(ReplaySession, BadQuestions) {
  expect_bad_input(tune({"--shape", "1,2"}), {"problem not recorded", "4096"});
  Words other = tune({});
  other[1] = "matmul";
  expect_bad_input(other, {"a recording of kernel 'synthetic', not of 'matmul'"});
  expect_bad_input(tune({"--where", "BLOCK_X > 100000"}), {"search space", "is empty"});
  expect_bad_input(tune({"--where", "BLOK_X > 1"}), {"did you mean 'BLOCK_X'?"});
}

}  // namespace
}  // namespace tunebook::test
