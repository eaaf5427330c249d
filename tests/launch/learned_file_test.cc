// Lines of several threads and processes stay whole.

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../db/book_fixture.h"
#include "launch/learned_file.h"

namespace tunebook::testing {
namespace {

class LearnedFile : public BookTest {
 protected:
  std::string path() const { return (folder_ / "learned.jsonl").string(); }
  static std::string lines(const std::string& kernel, std::size_t count) {
    const RefinedCandidate candidate{{{"BM", std::int64_t{32}}}, "ok", "", 1.5, {1, 1.5, 2}};
    return learned_lines({kernel, "hash", {{"m", std::int64_t{1}}}, {}, "cold/2"}, std::vector(count, candidate), std::vector<std::int64_t>(count, 40));
  }
};

TEST_F(LearnedFile, PiecesOfThreadsAndProcessesStayTogether) {
  constexpr int kProcesses = 3, kThreads = 3, kPieces = 40, kLines = 5;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool ok = true;
      std::vector<std::thread> threads;
      for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
          for (int piece = 0; piece < kPieces; ++piece) {
            const std::string name = std::to_string(process) + "." + std::to_string(thread) + "." + std::to_string(piece);
            if (!append_learned(path(), lines(name, kLines)).empty()) ok = false;
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      _exit(ok ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::ifstream file(path());
  std::map<std::string, int> count;
  std::string last;
  int run = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string kernel = nlohmann::json::parse(line)["kernel"];
    if (kernel != last && run != 0) {
      EXPECT_EQ(run, kLines) << last;
    }
    run = kernel == last ? run + 1 : 1;
    last = kernel;
    ++count[kernel];
  }
  EXPECT_EQ(count.size(), static_cast<std::size_t>(kProcesses * kThreads * kPieces));
  for (const auto& [kernel, lines] : count) EXPECT_EQ(lines, kLines) << kernel;
}

TEST_F(LearnedFile, AfterAnIncompleteLineANewOneBegins) {
  std::ofstream(path()) << "{\"kernel\": \"ad";
  EXPECT_EQ(append_learned(path(), lines("add", 1)), "");
  std::ifstream file(path());
  std::string first, second;
  std::getline(file, first);
  std::getline(file, second);
  EXPECT_EQ(first, "{\"kernel\": \"ad");
  EXPECT_EQ(nlohmann::json::parse(second)["kernel"], "add");
}

TEST_F(LearnedFile, WhatIsNoFileIsRefused) {
  EXPECT_NE(append_learned("/dev/null", "x\n"), "");
  EXPECT_NE(append_learned(folder_.string(), "x\n"), "");
  EXPECT_NE(append_learned((folder_ / "none" / "x").string(), "x\n"), "");
}

}  // namespace
}  // namespace tunebook::testing
