// Refining where it runs, with a compiler and a device that are none.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "launcher_fixture.h"

namespace tunebook::testing {
namespace {

using Names = std::vector<std::string>;
constexpr const char* kDefault = "matmul<float, 16, false>";
constexpr const char* kBook = "matmul<float, 32, true>";
constexpr const char* kOther = "matmul<float, 32, false>";
constexpr const char* kThird = "matmul<float, 64, true>";
// c twice (result, and result to compare with), a, b, and twice the smallest L2.
constexpr std::int64_t kCopyBytes = (2 * 160 * 64 + 160 * 64 + 64 * 64) * 4 + (16 << 20);

class RefineTest : public LauncherTest {
 protected:
  void SetUp() override {
    LauncherTest::SetUp();
    tune(tile(32, true));
    ranked_ = {tile_values(32, true), tile_values(32, false), tile_values(16, false), tile_values(64, true)};
  }
  LaunchOptions refining(int candidates = 4) const {
    LaunchOptions chosen = options();
    chosen.refine.candidates = candidates;
    chosen.refine.learned_file = learned().string();
    return chosen;
  }
  std::filesystem::path learned() const { return folder_ / "learned.jsonl"; }
  std::unique_ptr<LauncherCore> refiner(const LaunchOptions& chosen) {
    const auto ranked = [this](const Query&, std::size_t count) {
      std::vector<Answer> answers;
      for (std::size_t i = 0; i < ranked_.size() && i < count; ++i) {
        Answer answer;
        answer.tier = Tier::predicted;
        answer.configuration = ranked_[i];
        answers.push_back(answer);
      }
      return answers;
    };
    return std::make_unique<LauncherCore>(chosen, std::make_unique<FakeDevice>(world_, some_gpu()), fake_compiler(world_), ranked);
  }
  static void launch(const Kernel& kernel) {
    float c = 0, a = 0, b = 0;
    kernel(nullptr, &c, &a, &b, std::int64_t{160});
  }
  // Launches, as an application does, until refining has ended.
  void launch_until_refined(const Kernel& kernel) {
    for (int i = 0; i < 5000 && kernel.state()->refining; ++i) {
      launch(kernel);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_FALSE(kernel.state()->refining);
  }
  std::vector<std::string> timed() {
    const std::lock_guard lock(world_.mutex);
    return world_.timed;
  }
  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> found;
    std::ifstream file(learned());
    for (std::string line; std::getline(file, line);) found.push_back(nlohmann::json::parse(line));
    return found;
  }

  std::vector<LookupValues> ranked_;
};

// m = 160 was never tuned; 64 does not divide it.
TEST_F(RefineTest, TheFastestIsLaunchedAndWhatWasLearnedIsKept) {
  world_.us = {{kBook, 12}, {kOther, 7}, {kDefault, 9}};
  const auto core = refiner(refining());
  const Kernel kernel(core->get("matmul", problem(160)));
  EXPECT_EQ(kernel.state()->name_expression, kBook);  // at once, as without refining
  launch_until_refined(kernel);
  const auto state = kernel.state();
  EXPECT_EQ(state->name_expression, kOther) << state->note;
  EXPECT_EQ(state->tier, Tier::predicted);
  EXPECT_NE(state->note.find("refined here: 7 us, 12 us with BM=32,PAD=true (3 configurations timed)"), std::string::npos) << state->note;
  launch(kernel);
  EXPECT_EQ(world_.launched.back(), std::string("symbol of ") + kOther);
  EXPECT_EQ(world_.copied, 1);
  EXPECT_EQ(world_.copy_bytes, kCopyBytes);

  ASSERT_EQ(state->refined.size(), 4U);
  EXPECT_EQ(state->refined[0].configuration, tile_values(32, true));
  EXPECT_EQ(state->refined[0].median_us, 12);
  EXPECT_EQ(state->refined[1].samples_us, std::vector<double>(7, 7.0));
  EXPECT_EQ(state->refined[2].outcome, "ok");
  EXPECT_EQ(state->refined[3].configuration, tile_values(64, true));
  EXPECT_EQ(state->refined[3].outcome, "invalid");
  EXPECT_NE(state->refined[3].message.find("m % BM == 0"), std::string::npos);

  const auto found = lines();
  ASSERT_EQ(found.size(), 3U);  // what is invalid teaches nothing
  EXPECT_EQ(found[1]["kernel"], "matmul");
  EXPECT_EQ(found[1]["kernel_hash"], context().kernel_hash);
  EXPECT_EQ(found[1]["problem"], (nlohmann::json{{"m", 160}, {"n", 64}, {"k", 64}, {"dtype", "f32"}}));
  EXPECT_EQ(found[1]["device"]["name"], "NVIDIA H200");
  EXPECT_EQ(found[1]["device"]["kind"], "cuda");
  EXPECT_EQ(found[1]["objective"], "time");
  EXPECT_EQ(found[1]["method"], "cold/2");
  EXPECT_EQ(found[1]["configuration"], (nlohmann::json{{"BM", 32}, {"PAD", false}}));
  EXPECT_EQ(found[1]["median_us"], 7);
  EXPECT_EQ(found[1]["samples"], 7);
  EXPECT_EQ(found[1]["registers"], 40);
  EXPECT_EQ(found[1]["source"], "launch");
}

TEST_F(RefineTest, OffByDefault) {
  LaunchOptions chosen = options();
  EXPECT_EQ(chosen.refine.candidates, 0);
  chosen.refine.learned_file = learned().string();
  const auto core = refiner(chosen);
  const Kernel kernel(core->get("matmul", problem(160)));
  EXPECT_FALSE(kernel.state()->refining);
  launch(kernel);
  EXPECT_EQ(world_.copied, 0);
  EXPECT_EQ(world_.compiles(), Names{kBook});
  EXPECT_FALSE(std::filesystem::exists(learned()));
}

TEST_F(RefineTest, AnExactAnswerIsNotRefined) {
  const auto core = refiner(refining());
  const Kernel kernel(core->get("matmul", problem(128)));
  EXPECT_EQ(kernel.state()->tier, Tier::exact);
  EXPECT_FALSE(kernel.state()->refining);
  launch(kernel);
  EXPECT_EQ(world_.copied, 0);
}

TEST_F(RefineTest, WrongAndFailingCandidatesArePassedOver) {
  world_.us = {{kBook, 12}, {kOther, 3}, {kDefault, 4}, {kThird, 5}};
  world_.wrong = {kOther};
  world_.failing = {kDefault};
  world_.broken = {kThird};
  const auto core = refiner(refining());
  const Kernel kernel(core->get("matmul", problem(192)));  // 64 divides it
  launch_until_refined(kernel);
  const auto state = kernel.state();
  EXPECT_EQ(state->name_expression, kBook);
  ASSERT_EQ(state->refined.size(), 4U);
  EXPECT_EQ(state->refined[1].outcome, "wrong_result");
  EXPECT_EQ(state->refined[1].message, "c[3] is 1, but 2");
  EXPECT_EQ(state->refined[2].outcome, "launch_error");
  EXPECT_EQ(state->refined[3].outcome, "compile_error");
  EXPECT_EQ(state->refined[3].message.find('\x1b'), std::string::npos);
  const auto found = lines();
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[3]["outcome"], "compile_error");
  EXPECT_TRUE(found[3]["median_us"].is_null());
}

TEST_F(RefineTest, BudgetOfMemory) {
  LaunchOptions chosen = refining();
  chosen.refine.bytes = kCopyBytes - 1;
  const auto core = refiner(chosen);
  const Kernel kernel(core->get("matmul", problem(160)));
  launch_until_refined(kernel);
  EXPECT_NE(kernel.note().find("not refined: copies of the arguments take 16.1 MiB, LaunchOptions::refine.bytes allows 16.1 MiB"), std::string::npos)
      << kernel.note();
  EXPECT_EQ(kernel.state()->name_expression, kBook);
  EXPECT_EQ(world_.copied, 0);
  EXPECT_EQ(world_.compiles(), Names{kBook});  // nothing else was compiled for it
  chosen.refine.bytes = kCopyBytes;
  const auto enough = refiner(chosen);
  const Kernel refined(enough->get("matmul", problem(160)));
  launch_until_refined(refined);
  EXPECT_EQ(refined.note(), "");
  EXPECT_EQ(world_.copied, 1);
}

TEST_F(RefineTest, BudgetOfTimeIsThatOfTheProblem) {
  world_.us = {{kBook, 1000}, {kOther, 500}, {kDefault, 900}};
  LaunchOptions chosen = refining();
  chosen.refine.seconds = 0.0151;
  const auto core = refiner(chosen);
  const Kernel kernel(core->get("matmul", problem(160)));
  launch_until_refined(kernel);
  double spent = 0;
  for (const std::string& name : timed()) spent += world_.us.at(name);
  EXPECT_LE(spent, 15100);
  EXPECT_GT(spent, 15100 - 1000);
  EXPECT_EQ(kernel.state()->name_expression, kOther);
  // The book has another answer by now: what is left does not suffice.
  tune(tile(32, false), 2);
  const Kernel again(core->get("matmul", problem(160)));
  launch_until_refined(again);
  EXPECT_NE(again.note().find("not refined: "), std::string::npos) << again.note();
  spent = 0;
  for (const std::string& name : timed()) spent += world_.us.at(name);
  EXPECT_LE(spent, 15100);
}

TEST_F(RefineTest, ALaunchThatIsCapturedLendsNothing) {
  const auto core = refiner(refining(2));
  const Kernel kernel(core->get("matmul", problem(160)));
  while (world_.compiles().size() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  {
    const std::lock_guard lock(world_.mutex);
    world_.capturing = true;
  }
  for (int i = 0; i < 5000; ++i) {
    launch(kernel);
    const std::lock_guard lock(world_.mutex);
    if (!world_.capturing) break;
  }
  launch_until_refined(kernel);
  EXPECT_EQ(world_.copied, 1);
  EXPECT_EQ(kernel.note(), "");
}

TEST_F(RefineTest, BuffersThatCannotBeCopiedAreNoHarm) {
  world_.copies_error = "the buffers of arguments c and a overlap";
  const auto core = refiner(refining());
  const Kernel kernel(core->get("matmul", problem(160)));
  launch_until_refined(kernel);
  EXPECT_NE(kernel.note().find("not refined: the buffers of arguments c and a overlap"), std::string::npos) << kernel.note();
  EXPECT_EQ(kernel.state()->name_expression, kBook);
  EXPECT_FALSE(world_.launched.empty());
}

TEST_F(RefineTest, AfterAFaultNothingChanges) {
  world_.us = {{kOther, 1}};
  world_.deadly = {kDefault};
  const auto core = refiner(refining());
  const Kernel kernel(core->get("matmul", problem(160)));
  launch_until_refined(kernel);
  EXPECT_EQ(kernel.state()->name_expression, kBook);
  EXPECT_NE(kernel.note().find("illegal memory access"), std::string::npos) << kernel.note();
}

TEST_F(RefineTest, WithABackgroundCompileToo) {
  world_.us = {{kBook, 12}, {kOther, 7}};
  LaunchOptions chosen = refining(2);
  chosen.background = true;
  const auto core = refiner(chosen);
  const Kernel kernel(core->get("matmul", problem(160)));
  kernel.wait();
  for (int i = 0; i < 5000 && kernel.state()->refined.empty(); ++i) {
    launch(kernel);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(kernel.state()->name_expression, kOther);
}

TEST_F(RefineTest, ManyThreadsLaunchOneLends) {
  world_.us = {{kBook, 12}, {kOther, 7}};
  const auto core = refiner(refining());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const Kernel kernel(core->get("matmul", problem(160)));
      launch_until_refined(kernel);
      EXPECT_EQ(kernel.state()->name_expression, kOther);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(world_.copied, 1);
  EXPECT_EQ(lines().size(), 3U);
}

TEST_F(RefineTest, HandlesOutliveTheLauncher) {
  auto core = refiner(refining());
  const Kernel kernel(core->get("matmul", problem(160)));
  while (world_.compiles().size() < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  core.reset();
  for (int i = 0; i < 3; ++i) launch(kernel);
  EXPECT_FALSE(kernel.state()->refining && world_.copied > 0);
  EXPECT_EQ(kernel.state()->name_expression, kBook);
}

TEST_F(RefineTest, WithoutOtherConfigurationsNothingIsCopied) {
  ranked_ = {tile_values(32, true)};
  const auto core = refiner(refining());
  const Kernel kernel(core->get("matmul", problem(160)));
  launch_until_refined(kernel);
  EXPECT_NE(kernel.note().find("no other configuration"), std::string::npos) << kernel.note();
  EXPECT_EQ(world_.copied, 0);
}

TEST_F(RefineTest, OptionsThatContradictAreRefused) {
  const auto refused = [&](const auto& change) {
    LaunchOptions chosen = refining();
    change(chosen);
    return error_of([&] { refiner(chosen); });
  };
  EXPECT_NE(refused([](LaunchOptions& o) { o.architecture = "sm_90"; }).find("touch none"), std::string::npos);
  EXPECT_NE(refused([](LaunchOptions& o) { o.objective = "energy"; }).find("compares times"), std::string::npos);
  EXPECT_NE(refused([](LaunchOptions& o) { o.refine.seconds = 0; }).find(".seconds is 0"), std::string::npos);
  EXPECT_NE(refused([](LaunchOptions& o) { o.refine.seconds = std::numeric_limits<double>::quiet_NaN(); }).find(".seconds"), std::string::npos);
  EXPECT_NE(refused([](LaunchOptions& o) { o.refine.bytes = 0; }).find(".bytes is 0"), std::string::npos);
  EXPECT_NE(refused([](LaunchOptions& o) { o.refine.samples = 0; }).find(".samples is 0"), std::string::npos);
  EXPECT_NE(refused([](LaunchOptions& o) { o.refine.learned_file = "/nowhere/learned.jsonl"; }).find("cannot be written"), std::string::npos);
  EXPECT_EQ(refused([](LaunchOptions&) {}), "");
}

}  // namespace
}  // namespace tunebook::testing
