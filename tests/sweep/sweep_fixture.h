#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "db/session_history.h"
#include "sweep/item.h"
#include "sweep/plan.h"

namespace tunebook::testing {

inline constexpr double kHour = 3600, kDay = 24 * kHour;
inline constexpr double kNow = 1'800'000'000;  // 2027-01-15T08:00:00Z

// A folder with three templates, which are never compiled:
//   product: sizes m, n, k; dtype f32, f16; math ieee, tensor (only with f16); parameters BM, BN
//   add: size n; dtype f32, f16
//   plain: size n, no dtype
// and room for plans, recordings and books. Gone afterwards.
class SweepTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  void write(const std::string& name, const std::string& text) const;
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // The plan, read as FOLDER/plan.json.
  SweepPlan plan(const std::string& text) const;
  // "KERNEL PROBLEM DEVICE" of each item; a recording's path without its folder.
  std::vector<std::string> items(const std::string& text) const;
  // The lines of what reading the plan throws, without "FOLDER/plan.json: "; none if nothing is thrown.
  std::vector<std::string> faults(const std::string& text) const;
  // A recording of a kernel with this problem (JSON), 24 configurations; returns its path without ending.
  std::string record(const std::string& name, const std::string& kernel, const std::string& problem) const;

  std::filesystem::path folder_;
};

// What is thrown, as text; "" if nothing.
template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

Problem product_problem(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& dtype = "f32");
Problem add_problem(std::int64_t n, const std::string& dtype = "f32");
SweepItem item(const std::string& kernel, const Problem& problem, const std::string& device = "cuda:0");
Device gpu(const std::string& name = "GPU");
// A finished session as `item()` asks for on gpu(): hash "hash-1", toolchain "nvrtc 13.0; driver 580.1", method "cold/2", 200 trials in
// 40 s, ended `age` seconds before kNow, winner 50 us against 100 us of the default.
SessionSummary session(const SweepItem& of, double age);

}  // namespace tunebook::testing
