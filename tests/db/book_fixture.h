#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/device.h"
#include "core/problem.h"
#include "db/store.h"

namespace tunebook::testing {

// The small kernel of these tests: sizes m, n, k and a dtype; BM may be 16, 32 or 64 and divide m.
extern const char* const kSpecText;

Device some_gpu();
Problem matmul_problem(std::int64_t m, std::int64_t n, std::int64_t k);
Configuration tile(std::int64_t bm, bool pad = false);
TrialContext some_context();
SessionRecord some_session(std::uint64_t seed = 1);
TrialRecord timed_trial(std::int64_t order, const Configuration& configuration, double median_us);
TrialRecord failed_trial(std::int64_t order, const Configuration& configuration, Outcome outcome);
WinnerRecord some_winner(const std::string& session, const Configuration& configuration, double median_us);
// A session with one trial and this winner; returns its id.
std::string add_finished_session(Store& store, const TrialContext& context, const Problem& problem,
                                 const Configuration& configuration, double median_us, std::uint64_t seed = 1);

// Runs SQL on a file through a plain connection, as another program would; returns SQLite's error text, or "".
std::string run_sql(const std::filesystem::path& path, const std::string& sql);
// The first column of the first row, as text.
std::string query_text(const std::filesystem::path& path, const std::string& sql);

// Runs `body` as a user who may not write what root owns, and returns its text; permissions do not bind root itself.
std::string as_other_user(const std::function<std::string()>& body);

std::string file_bytes(const std::filesystem::path& path);

// What `body` throws, as text; "" if nothing.
template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

// A fresh folder per test, gone afterwards.
class BookTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  std::filesystem::path file(const std::string& name = "book.db") const { return folder_ / name; }

  std::filesystem::path folder_;
};

}  // namespace tunebook::testing
