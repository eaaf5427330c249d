#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
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
constexpr const char* kTuned = "matmul<float, 32, true>";

TEST_F(LauncherTest, TheBooksConfigurationIsLaunchedWithItsOwnShape) {
  tune(tile(32, true));
  const auto core = launcher();
  const Kernel kernel(core->get("matmul", problem(128)));
  const auto state = kernel.state();
  EXPECT_EQ(state->tier, Tier::exact);
  EXPECT_EQ(state->stale, Stale::no);
  EXPECT_EQ(state->configuration, tile_values(32, true));
  EXPECT_EQ(state->problem, (LookupValues{{"m", std::int64_t{128}}, {"n", std::int64_t{64}}, {"k", std::int64_t{64}}, {"dtype", std::string("f32")}}));
  EXPECT_EQ(state->launches.front().grid, (std::array<std::int64_t, 3>{2, 4, 1}));
  EXPECT_EQ(state->launches.front().block, (std::array<std::int64_t, 3>{32, 4, 1}));
  EXPECT_EQ(state->launches.front().shared_bytes, 4096);
  EXPECT_EQ(state->registers, 40);
  EXPECT_EQ(state->architecture, "sm_90");
  EXPECT_EQ(state->name_expression, kTuned);
  EXPECT_EQ(state->note, "");
  EXPECT_FALSE(kernel.pending());

  float c = 0, a = 0, b = 0;
  kernel(nullptr, &c, static_cast<const float*>(&a), &b, std::int64_t{128});
  EXPECT_EQ(world_.launched, Names{std::string("symbol of ") + kTuned});
  ASSERT_EQ(world_.arguments.size(), 1U);
}

TEST_F(LauncherTest, ANearProblemHasItsOwnLaunchShape) {
  tune(tile(32, true));
  const Kernel kernel(launcher()->get("matmul", problem(160)));
  EXPECT_EQ(kernel.state()->tier, Tier::near);
  EXPECT_GT(kernel.state()->distance, 0);
  EXPECT_EQ(kernel.state()->launches.front().grid, (std::array<std::int64_t, 3>{2, 5, 1}));
}

TEST_F(LauncherTest, TheNearCapIsSettable) {
  tune(tile(32, true));
  LaunchOptions chosen = options();
  chosen.lookup.near_cap = 0.01;
  EXPECT_EQ(Kernel(launcher(chosen)->get("matmul", problem(160))).state()->tier, Tier::far);
}

TEST_F(LauncherTest, WithoutABookThePresetRuns) {
  const Kernel kernel(launcher()->get("matmul", problem(100)));
  EXPECT_EQ(kernel.state()->tier, Tier::preset_default);
  EXPECT_EQ(kernel.state()->name_expression, kDefault);
  EXPECT_EQ(kernel.state()->answer, nullptr);
  EXPECT_EQ(kernel.note(), "");
}

TEST_F(LauncherTest, TheSameProblemIsOneStateHoweverItIsWritten) {
  tune(tile(32, true));
  const auto core = launcher();
  const auto slot = core->get("matmul", problem(128));
  EXPECT_EQ(core->get("matmul", problem(128)), slot);
  EXPECT_EQ(core->get("matmul", {{"dtype", std::string("f32")}, {"k", std::int64_t{64}}, {"n", std::int64_t{64}}, {"m", std::int64_t{128}}}), slot);
  EXPECT_NE(core->get("matmul", problem(256)), slot);
  EXPECT_EQ(world_.compiles(), Names{kTuned});  // both problems by one cubin
}

TEST_F(LauncherTest, AConstraintThatTheProblemBreaksIsNotLaunched) {
  tune(tile(32, true));
  const Kernel kernel(launcher()->get("matmul", problem(33)));  // m % 32 != 0
  EXPECT_EQ(kernel.state()->tier, Tier::preset_default);
  EXPECT_EQ(kernel.state()->name_expression, kDefault);
}

TEST_F(LauncherTest, AValueThatTheTemplateNoLongerDeclaresIsRefused) {
  tune(tile(32, true));
  std::string spec = kSpecText;
  spec.replace(spec.find("[16, 32, 64]"), 12, "[16, 64]    ");
  write_template(spec);
  const Kernel kernel(launcher()->get("matmul", problem(128)));
  EXPECT_EQ(kernel.state()->tier, Tier::preset_default);
  EXPECT_NE(kernel.note().find("the book's configuration (match: exact) is not used"), std::string::npos) << kernel.note();
  EXPECT_NE(kernel.note().find("BM"), std::string::npos) << kernel.note();
  EXPECT_NE(kernel.note().find("the template has changed"), std::string::npos) << kernel.note();
  ASSERT_NE(kernel.state()->answer, nullptr);
  EXPECT_EQ(world_.compiles(), Names{kDefault});
}

TEST_F(LauncherTest, ATemplateThatChangedAfterTuningIsSaid) {
  tune(tile(32, true));
  write_template(kSpecText, "c[threadIdx.x] = 0;");
  const Kernel kernel(launcher()->get("matmul", problem(128)));
  EXPECT_EQ(kernel.state()->name_expression, kTuned);
  EXPECT_EQ(kernel.state()->stale, Stale::yes);
  EXPECT_EQ(kernel.note(), "the template has changed since this configuration was tuned: tune it again");
}

TEST_F(LauncherTest, HostileTextOfABookIsNeitherCompiledNorPrinted) {
  tune(tile(32, true));
  // A book in which the declaration lets anything pass, made by someone else.
  const std::string hostile = "1>();\x1b[2J#include \"/etc/passwd\"";
  std::string spec = query_text(file(), "SELECT spec FROM kernel");
  auto json = nlohmann::ordered_json::parse(spec);
  json["parameters"]["PAD"]["values"] = {"x", hostile};
  json["presets"]["default"]["PAD"] = hostile;
  json["presets"].erase("big");
  json["constraints"] = nlohmann::ordered_json::array();
  const std::string configuration = nlohmann::json{{"BM", 32}, {"PAD", hostile}}.dump();
  const auto quoted = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 2) text.insert(at, "'");
    return "'" + text + "'";
  };
  ASSERT_EQ(run_sql(file(), "UPDATE kernel SET spec = " + quoted(json.dump())), "");
  ASSERT_EQ(run_sql(file(), "UPDATE configuration SET json = " + quoted(configuration)), "");
  const Kernel kernel(launcher()->get("matmul", problem(128)));
  ASSERT_NE(kernel.state()->answer, nullptr);
  EXPECT_EQ(kernel.state()->answer->configuration.at(1).second, LookupValue(hostile));  // the attack arrives
  EXPECT_EQ(kernel.state()->name_expression, kDefault);
  EXPECT_EQ(world_.compiles(), Names{kDefault});
  EXPECT_NE(kernel.note(), "");
  EXPECT_EQ(kernel.note().find('\x1b'), std::string::npos);
}

TEST_F(LauncherTest, WhatDoesNotCompileIsReplacedAndSaid) {
  tune(tile(32, true));
  world_.broken = {kTuned};
  const auto core = launcher();
  const Kernel kernel(core->get("matmul", problem(128)));
  EXPECT_EQ(kernel.state()->name_expression, kDefault);
  EXPECT_EQ(kernel.state()->tier, Tier::preset_default);
  EXPECT_NE(kernel.note().find("the book's configuration (match: exact) is not used: compile_error"), std::string::npos) << kernel.note();
  EXPECT_EQ(kernel.note().find('\x1b'), std::string::npos);
  core->get("matmul", problem(256));
  EXPECT_EQ(world_.compiles(), (Names{kTuned, kDefault}));  // tried once
}

TEST_F(LauncherTest, WhatTheDeviceRefusesIsReplacedAndSaid) {
  tune(tile(32, true));
  world_.unloadable = {kTuned};
  const Kernel kernel(launcher()->get("matmul", problem(128)));
  EXPECT_EQ(kernel.state()->name_expression, kDefault);
  EXPECT_NE(kernel.note().find("too many registers"), std::string::npos) << kernel.note();
}

TEST_F(LauncherTest, IfNothingWorksItIsAnError) {
  tune(tile(32, true));
  world_.broken = {kTuned, kDefault};
  const auto core = launcher();
  EXPECT_NE(error_of([&] { core->get("matmul", problem(128)); }).find("the preset default cannot be used: compile_error"), std::string::npos);
  EXPECT_THROW(core->get("matmul", problem(128)), std::runtime_error);
}

TEST_F(LauncherTest, BadQuestionsAreRefused) {
  const auto core = launcher();
  EXPECT_THROW(core->get("matmull", problem(128)), std::invalid_argument);
  EXPECT_THROW(core->get("matmul", {{"m", std::int64_t{1}}}), std::invalid_argument);
  EXPECT_THROW(core->get("matmul", {{"m", std::int64_t{1}}, {"n", std::int64_t{1}}, {"k", std::int64_t{1}}, {"q", std::int64_t{1}}}), std::invalid_argument);
  EXPECT_THROW(core->get("matmul", problem(-1)), std::invalid_argument);
  EXPECT_THROW(core->get("matmul", {{"m", std::int64_t{1}}, {"n", std::int64_t{1}}, {"k", std::int64_t{1}}, {"dtype", std::string("f32, 1>();")}}),
               std::invalid_argument);
}

TEST_F(LauncherTest, ANewAnswerOfTheBookIsTakenOverByAllHandles) {
  tune(tile(32, true));
  const auto core = launcher();
  const Kernel kernel(core->get("matmul", problem(128)));
  EXPECT_EQ(kernel.state()->name_expression, kTuned);
  tune(tile(64, false), 2);
  core->get("matmul", problem(128));
  EXPECT_EQ(kernel.state()->name_expression, "matmul<float, 64, false>");
  EXPECT_EQ(kernel.state()->launches.front().grid, (std::array<std::int64_t, 3>{1, 2, 1}));
}

TEST_F(LauncherTest, InTheBackgroundThePresetRunsMeanwhile) {
  tune(tile(32, true));
  std::promise<void> gate;
  world_.gate = gate.get_future().share();
  world_.gated = kTuned;
  LaunchOptions chosen = options();
  chosen.background = true;
  const auto core = launcher(chosen);
  const Kernel kernel(core->get("matmul", problem(128)));
  EXPECT_TRUE(kernel.pending());
  EXPECT_EQ(kernel.state()->name_expression, kDefault);
  EXPECT_EQ(kernel.state()->tier, Tier::preset_default);
  float c = 0, a = 0;
  kernel(nullptr, &c, &a, &a, std::int64_t{128});
  gate.set_value();
  kernel.wait();
  EXPECT_FALSE(kernel.pending());
  EXPECT_EQ(kernel.state()->name_expression, kTuned);
  kernel(nullptr, &c, &a, &a, std::int64_t{128});
  EXPECT_EQ(world_.launched, (Names{std::string("symbol of ") + kDefault, std::string("symbol of ") + kTuned}));

  // What is in the cache needs no preset.
  world_.compiled.clear();
  const auto second = launcher(chosen);
  const Kernel cached(second->get("matmul", problem(128)));
  EXPECT_FALSE(cached.pending());
  EXPECT_TRUE(cached.state()->cached);
  EXPECT_EQ(cached.state()->name_expression, kTuned);
  EXPECT_EQ(world_.compiles(), Names{});
}

TEST_F(LauncherTest, AFailureInTheBackgroundLeavesThePresetRunning) {
  tune(tile(32, true));
  world_.broken = {kTuned};
  LaunchOptions chosen = options();
  chosen.background = true;
  const auto core = launcher(chosen);
  const Kernel kernel(core->get("matmul", problem(128)));
  kernel.wait();
  EXPECT_EQ(kernel.state()->name_expression, kDefault);
  EXPECT_NE(kernel.note().find("compile_error"), std::string::npos) << kernel.note();
}

TEST_F(LauncherTest, ALauncherThatGoesEndsWhatIsPending) {
  tune(tile(32, true));
  std::promise<void> gate;
  world_.gate = gate.get_future().share();
  world_.gated = kTuned;
  LaunchOptions chosen = options();
  chosen.background = true;
  auto core = launcher(chosen);
  const Kernel kernel(core->get("matmul", problem(128)));
  while (!world_.at_gate) std::this_thread::yield();
  const Kernel behind(core->get("matmul", problem(256)));  // its configuration waits for the first, get() does not
  EXPECT_TRUE(behind.pending());
  std::thread opener([&] { gate.set_value(); });
  core.reset();
  opener.join();
  kernel.wait();
  behind.wait();
  EXPECT_FALSE(kernel.pending());
  if (behind.state()->name_expression == kDefault) {
    EXPECT_NE(behind.note().find("the Launcher is gone"), std::string::npos) << behind.note();
  }
  float c = 0, a = 0;
  kernel(nullptr, &c, &a, &a, std::int64_t{128});  // handles outlive the Launcher
  EXPECT_EQ(world_.launched.size(), 1U);
}

TEST_F(LauncherTest, ThreadsAskAndLaunchWhileKernelsChange) {
  tune(tile(32, true));
  LaunchOptions chosen = options();
  chosen.background = true;
  const auto core = launcher(chosen);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      float c = 0, a = 0;
      for (int i = 0; i < 50; ++i) {
        const Kernel kernel(core->get("matmul", problem(32 * (1 + (i + thread) % 8))));
        kernel(nullptr, &c, &a, &a, std::int64_t{128});
        kernel.note();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(world_.launched.size(), 200U);
  EXPECT_LE(world_.compiles().size(), 2U);  // each configuration once
}

TEST_F(LauncherTest, ACubinIsUsedWithoutACompilerAndThatIsSaidIfItHasGone) {
  tune(tile(32, true));
  launcher()->get("matmul", problem(128));
  world_.compiler_error = "no compiler was found";
  // Still installed: it need not be opened.
  EXPECT_EQ(Kernel(launcher()->get("matmul", problem(128))).note(), "");
  std::filesystem::remove(world_.compiler_file());
  const Kernel kernel(launcher()->get("matmul", problem(128)));
  EXPECT_EQ(kernel.state()->name_expression, kTuned);
  EXPECT_EQ(kernel.note(), "the cubin was compiled by fake 1.0, which is not here any more: no compiler was found");
  // What is not in the cache is missing.
  EXPECT_NE(error_of([&] { launcher()->get("matmul", problem(33)); }).find("no compiler was found"), std::string::npos);
  // Another compiler compiles anew.
  write(world_.compiler_file(), "another compiler");
  world_.compiler_error.clear();
  world_.compiled.clear();
  EXPECT_EQ(Kernel(launcher()->get("matmul", problem(128))).note(), "");
  EXPECT_EQ(world_.compiles(), Names{kTuned});
}

TEST_F(LauncherTest, OnlyTheCubin) {
  tune(tile(32, true));
  const Cubin cubin = launcher()->cubin("matmul", problem(128));
  EXPECT_EQ(cubin.bytes, std::string("cubin of ") + kTuned + " for sm_90");
  EXPECT_EQ(cubin.about.symbol, std::string("symbol of ") + kTuned);
  EXPECT_EQ(cubin.about.launches.front().grid, (std::array<std::int64_t, 3>{2, 4, 1}));
}

TEST_F(LauncherTest, ArgumentsAreCheckedAgainstTheDeclaration) {
  const Kernel kernel(launcher()->get("matmul", problem(128)));
  float c = 0;
  const float a = 0;
  double wide = 0;
  const std::int64_t m = 128;
  void* const untyped = &c;
  const auto refusal = [&](const auto&... arguments) { return error_of([&] { kernel(nullptr, arguments...); }); };
  EXPECT_EQ(refusal(&c, &a, &a, m), "");
  EXPECT_EQ(refusal(untyped, untyped, static_cast<const void*>(&a), m), "");
  EXPECT_EQ(refusal(&c, &a, &a, static_cast<unsigned long>(m)), "");
  EXPECT_EQ(refusal(&c, &a, &a), "kernel matmul: 3 arguments given, expected 4: f32* c, const f32* a, const f32* b, i64 m");
  EXPECT_EQ(refusal(&c, &a, &a, 128), "kernel matmul: argument 4 (m) is an integer of 4 bytes, expected i64");
  EXPECT_EQ(refusal(&c, &a, &a, 128.0), "kernel matmul: argument 4 (m) is a floating-point number of 8 bytes, expected i64");
  EXPECT_EQ(refusal(&a, &a, &a, m), "kernel matmul: argument 1 (c) is a pointer to const, to a floating-point number of 4 bytes, expected f32*");
  EXPECT_EQ(refusal(&c, &wide, &a, m), "kernel matmul: argument 2 (a) is a pointer to a floating-point number of 8 bytes, expected const f32*");
  EXPECT_EQ(refusal(c, &a, &a, m), "kernel matmul: argument 1 (c) is a floating-point number of 4 bytes, expected f32*");
  EXPECT_EQ(world_.launched.size(), 3U);

  LookupValues half = problem(128);
  half.emplace_back("dtype", std::string("f16"));
  const Kernel narrow(launcher()->get("matmul", half));
  struct Half {
    std::uint16_t bits;
  } h{};
  EXPECT_EQ(error_of([&] { narrow(nullptr, &h, &h, &h, m); }), "");
  EXPECT_NE(error_of([&] { narrow(nullptr, &c, &h, &h, m); }), "");
}

}  // namespace
}  // namespace tunebook::testing
