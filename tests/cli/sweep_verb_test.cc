// tunebook sweep PLAN --dry-run.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli_support.h"
#include "support/synthetic_recording.h"

namespace tunebook::test {
namespace {

using Words = std::vector<std::string>;

class SweepVerb : public CliTest {
 protected:
  SweepVerb() {
    write_synthetic_recording(folder(), "one", 3, 200);
    write_synthetic_recording(folder(), "two", 4, 200);
    plan_ = write("plan.json", R"({"tunebook": 1, "devices": ["replay:one.json", "replay:two.json"], "strategy": "random", "budget": 20, "time": "8h", // the night
                                   "freshness": {"retime": "never"}, "sessions": [{"kernels": "synthetic"}]})").string();
  }
  Words sweep(const Words& more) const {
    Words words = {"sweep", plan_, "--book", book().string(), "--dry-run"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::string plan_;
};

TEST_F(SweepVerb, ADryRunRunsNothingAndSaysWhatWouldRun) {
  const auto json = run_json(sweep({"--json"}));
  EXPECT_EQ(json["sessions"], (nlohmann::ordered_json{{"continue", 0}, {"tune", 2}, {"retime", 0}, {"fresh", 0}}));
  EXPECT_EQ(json["fits"], true);
  EXPECT_EQ(json["time_s"], 8 * 3600.0);
  ASSERT_EQ(json["items"].size(), 2u);
  EXPECT_EQ(json["items"][0]["action"], "tune");
  EXPECT_EQ(json["items"][0]["reason"], "never tuned");
  EXPECT_EQ(json["items"][0]["device"], "replay:" + (folder() / "one.json").string());
  EXPECT_FALSE(std::filesystem::exists(book()));
}

TEST_F(SweepVerb, WhatIsTunedIsFresh) {
  const auto tuned = run_json({"tune", "synthetic", "--device", "replay:" + (folder() / "one.json").string(), "--strategy", "random", "--budget", "20", "--book", book().string(), "--json"});
  const ProgramResult shown = run(sweep({}));
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.out.find("sessions: 1 tune, 1 fresh"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("fits into the 8 h 00 min"), std::string::npos) << shown.out;
  const auto json = run_json(sweep({"--json", "--time", "1s"}));
  EXPECT_EQ(json["items"][1]["action"], "fresh");
  EXPECT_EQ(json["items"][0]["basis"], "1 session of this kind before");
  EXPECT_EQ(json["time_s"], 1);
}

TEST_F(SweepVerb, TheExamplesExpandToWhatTheySay) {
  for (const auto& [name, sessions] : {std::pair("one_gpu", 40U), {"two_gpus", 48U}}) {
    const std::string file = std::string(TUNEBOOK_SOURCE_DIR) + "/tuner/sweep/examples/" + name + ".json";
    const auto json = run_json({"sweep", file, "--book", book().string(), "--dry-run", "--no-ask-devices", "--json", "--time", "7m30s"});
    EXPECT_EQ(json["name"], name);
    EXPECT_EQ(json["sessions"]["tune"], sessions);
    EXPECT_EQ(json["items"].size(), sessions);
  }
}

TEST_F(SweepVerb, BadInput) {
  expect_bad_input(sweep({"--time", "8 hours"}), {"--time: found \"8 hours\", expected a time such as 8h, 90m, 30s or 7m30s"});
  expect_bad_input(sweep({"--until", "25:00"}), {"--until: found \"25:00\""});
  // From a variable that is not set: not a night without end.
  expect_bad_input(sweep({"--until", ""}), {"--until: found \"\""});
  expect_bad_input(sweep({"--time", ""}), {"--time: found \"\""});
  expect_bad_input({"sweep", (folder() / "none.json").string(), "--dry-run", "--book", book().string()}, {"none.json: no such file"});
  write("plan.json", R"({"tunebook": 1, "devises": "cpu", "sessions": [{"kernels": "matmul", "shapes": "8,8,8", "devices": "cpu"}]})");
  expect_bad_input(sweep({}), {"plan.json: /devises: found the unknown key \"devises\"", "did you mean \"devices\"?"});
}

}  // namespace
}  // namespace tunebook::test
