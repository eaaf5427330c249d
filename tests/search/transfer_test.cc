#include "search/transfer.h"

#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "search_fixtures.h"

namespace tunebook {
namespace {

using test::TemporaryFolder;

// A space of 8 x 4 x 2 configurations; `time`: ms by value indices, nothing: it failed.
using Time = std::function<std::optional<double>(int a, int b, int c)>;
Recording record(const TemporaryFolder& folder, const std::string& name, const std::string& gpu, const Time& time,
                 const std::string& problem = "[4096]") {
  std::string rows = "a,b,c,time_ms,status\n";
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < 4; ++b) {
      for (int c = 0; c < 2; ++c) {
        const auto ms = time(a, b, c);
        rows += ms ? fmt::format("{},{},{},{},ok\n", a, b, c, *ms) : fmt::format("{},{},{},,runtime_error\n", a, b, c);
      }
    }
  }
  folder.write(name + ".json", fmt::format(R"({{"kernel": "k", "gpu": "{}", "problem_size": {},
    "parameters": {{"a": [0, 1, 2, 3, 4, 5, 6, 7], "b": [0, 1, 2, 3], "c": [0, 1]}}, "constraints": null}})", gpu, problem));
  folder.write(name + ".csv", rows);
  return Recording::load(folder.path() / (name + ".json"));
}

Configuration configuration(std::int64_t a, std::int64_t b, std::int64_t c) {
  Configuration result;
  result.set("a", a);
  result.set("b", b);
  result.set("c", c);
  return result;
}

double bowl(int a, int b, double centre) { return 1 + 0.1 * (a - centre) * (a - centre) + 0.2 * (b - 2) * (b - 2); }

TEST(GpuVendor, ByName) {
  for (const char* const name : {"NVIDIA A100-PCIE-40GB", "NVIDIA RTX A4000", "GeForce GTX 1080", "convolution__A100", "H200"}) {
    EXPECT_EQ(gpu_vendor(name), "nvidia") << name;
  }
  for (const char* const name : {"AMD Radeon PRO W7800", "dedispersion__MI250X", "gfx90a", "W6600"}) EXPECT_EQ(gpu_vendor(name), "amd") << name;
  EXPECT_EQ(gpu_vendor("Intel Arc A770"), "intel");
  for (const char* const name : {"", "replay", "mine", "gw7"}) EXPECT_EQ(gpu_vendor(name), "") << name;
}

TEST(GpuTransfer, OneDonorOfTheSameShapeIsFollowed) {
  const TemporaryFolder folder;
  const Recording donor = record(folder, "one", "NVIDIA A100", [](int a, int b, int) { return bowl(a, b, 4); });
  const SearchSpace space = donor.space();
  const GpuTransfer transfer(space, "NVIDIA H100", {&donor});
  const auto order = transfer.order();
  ASSERT_EQ(order.size(), 64U);
  EXPECT_EQ(std::set<std::uint64_t>(order.begin(), order.end()).size(), 64U);
  EXPECT_EQ(space.configuration(order[0]).at("a"), Value(std::int64_t{4}));
  EXPECT_EQ(space.configuration(order[0]).at("b"), Value(std::int64_t{2}));
}

// A peak of one configuration, in the midst of slow ones, against a broad region nearly as good.
TEST(GpuTransfer, WithoutKinALonelyPeakIsNotFollowed) {
  const TemporaryFolder folder;
  const auto times = [](int a, int b, int c) -> std::optional<double> {
    if (a == 7 && b == 0 && c == 0) return 0.95;
    return bowl(a, b, 3) + (c == 0 ? 0 : 0.01);
  };
  const Recording donor = record(folder, "one", "NVIDIA A100", times);
  const SearchSpace space = donor.space();
  EXPECT_EQ(space.configuration(GpuTransfer(space, "AMD MI300", {&donor}).order()[0]), configuration(3, 2, 0));
  EXPECT_EQ(space.configuration(GpuTransfer(space, "", {&donor}).order()[0]), configuration(3, 2, 0));
}

TEST(GpuTransfer, KinCountMore) {
  const TemporaryFolder folder;
  const auto at = [](double centre) { return [centre](int a, int b, int) { return std::optional(bowl(a, b, centre)); }; };
  const Recording nvidia = record(folder, "one", "NVIDIA A100", at(1)), amd = record(folder, "two", "AMD MI250X", at(6));
  const SearchSpace space = nvidia.space();
  const auto first_a = [&](const char* gpu) {
    return std::get<std::int64_t>(space.configuration(GpuTransfer(space, gpu, {&nvidia, &amd}).order()[0]).at("a"));
  };
  EXPECT_LT(first_a("NVIDIA H100"), 4);
  EXPECT_GT(first_a("AMD MI300X"), 3);
}

TEST(GpuTransfer, TrialsFindWhatTheDonorsDoNotKnow) {
  const TemporaryFolder folder;
  const auto times = [](double centre, double penalty) {
    return [=](int a, int b, int c) { return std::optional(bowl(a, b, centre) + (c == 1 ? penalty : 0)); };
  };
  const Recording one = record(folder, "one", "NVIDIA A100", times(4, 0.3)), two = record(folder, "two", "AMD W7800", times(4, 1.0));
  const Recording target = record(folder, "three", "NVIDIA H100", times(5, -0.6));
  const TransferScore score = score_transfer(target, {&one, &two}, 10);
  EXPECT_EQ(score.target, "three");
  EXPECT_EQ(score.donors, (std::vector<std::string>{"one", "two"}));
  ASSERT_EQ(score.best_after.size(), 10U);
  EXPECT_EQ(score.answered, score.best_after.front());
  EXPECT_LT(score.answered, 0.5);
  EXPECT_NEAR(score.similar_winner, 0.4 / 1.1, 1e-9);
  EXPECT_EQ(score.best_after.back(), 1);
  for (std::size_t i = 1; i < score.best_after.size(); ++i) EXPECT_GE(score.best_after[i], score.best_after[i - 1]);
}

TEST(GpuTransfer, FailuresEverywhereEndWithTheSpace) {
  const TemporaryFolder folder;
  const Recording donor = record(folder, "one", "NVIDIA A100", [](int a, int b, int) { return bowl(a, b, 4); });
  const SearchSpace space = donor.space();
  GpuTransfer transfer(space, "H100", {&donor});
  std::set<std::uint64_t> tried;
  while (const auto next = transfer.next(100)) {
    EXPECT_TRUE(tried.insert(*next).second);
    transfer.tell(*next, std::nullopt);
  }
  EXPECT_EQ(tried.size(), 64U);
}

TEST(GpuTransfer, ConfigurationsThatADonorLacksComeLast) {
  const TemporaryFolder folder;
  const auto times = [](int a, int b, int) -> std::optional<double> {
    if (a == 4) return std::nullopt;
    return bowl(a, b, 4);
  };
  const Recording donor = record(folder, "one", "NVIDIA A100", times);
  const SearchSpace space = donor.space();
  const auto order = GpuTransfer(space, "H100", {&donor}).order();
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NE(space.configuration(order[i]).at("a"), Value(std::int64_t{4}));
}

TEST(GpuTransfer, WhatTellsNothingIsRefused) {
  const TemporaryFolder folder;
  const Recording empty = record(folder, "none", "NVIDIA A100", [](int, int, int) { return std::optional<double>(); });
  const SearchSpace space = empty.space();
  EXPECT_THROW(GpuTransfer(space, "H100", {}), InputError);
  EXPECT_THROW(GpuTransfer(space, "H100", {&empty}), InputError);
}

TEST(TransferGroups, AreOfOneKernelAndProblem) {
  const TemporaryFolder folder;
  const auto time = [](int a, int b, int) { return std::optional(bowl(a, b, 4)); };
  std::vector<Recording> all;
  all.push_back(record(folder, "one", "NVIDIA A100", time));
  all.push_back(record(folder, "two", "NVIDIA H100", time, "[8192]"));
  all.push_back(record(folder, "three", "AMD W7800", time));
  EXPECT_EQ(transfer_groups(all), (std::vector<std::vector<std::size_t>>{{0, 2}}));
}

}  // namespace
}  // namespace tunebook
