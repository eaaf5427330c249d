// The side file of questions that were not answered exactly.

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "book_fixture.h"
#include "db/lookup_limits.h"
#include "db/store.h"
#include "tunebook/lookup.h"

namespace tunebook::testing {
namespace {

class LookupMissesTest : public BookTest {
 protected:
  void SetUp() override {
    BookTest::SetUp();
    Store store(file());
    add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(16), 10);
  }
  LookupOptions recording(const std::string& name) const {
    LookupOptions options;
    options.record_misses = file(name).string();
    options.record_misses_per_second = 1'000'000;
    return options;
  }
  static Query question(std::int64_t m) {
    Query query;
    query.kernel = "matmul";
    query.problem = {{"m", m}, {"n", 64}, {"k", 64}};
    query.device = to_device_key(some_gpu());
    return query;
  }
  std::vector<nlohmann::json> lines(const std::string& name) const {
    std::vector<nlohmann::json> read;
    std::ifstream stream(file(name));
    for (std::string line; std::getline(stream, line);) {
      read.push_back(nlohmann::json::parse(line));
    }
    return read;
  }
};

TEST_F(LookupMissesTest, EachQuestionOnceButNoExactOne) {
  for (int opened = 0; opened < 2; ++opened) {
    const Lookup lookup(file().string(), recording("misses"));
    for (int i = 0; i < 3; ++i) {
      lookup.best(question(64));
      lookup.best(question(65));
      Query unknown = question(1);
      unknown.kernel = "un\"known\n";
      lookup.best(unknown);
    }
  }
  const std::vector<nlohmann::json> read = lines("misses");
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0]["kernel"], "matmul");
  EXPECT_EQ(read[0]["problem"], (nlohmann::json{{"m", 65}, {"n", 64}, {"k", 64}}));
  EXPECT_EQ(read[0]["device"]["name"], "NVIDIA H200");
  EXPECT_EQ(read[0]["device"]["compute_capability"], 90);
  EXPECT_EQ(read[0]["tier"], "near");
  EXPECT_EQ(read[0]["objective"], "time");
  EXPECT_EQ(read[0]["method"], "cold");
  EXPECT_EQ(read[1]["kernel"], "un\"known\n");
  EXPECT_EQ(read[1]["tier"], nullptr);
}

TEST_F(LookupMissesTest, ProcessesShareTheFile) {
  constexpr int kProcesses = 4;
  constexpr std::int64_t kQuestions = 200;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const Lookup lookup(file().string(), recording("shared"));
      for (std::int64_t m = 100; m < 100 + kQuestions; ++m) lookup.best(question(m));
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  std::multiset<int> sizes;
  for (const nlohmann::json& line : lines("shared")) sizes.insert(line["problem"]["m"].get<int>());
  EXPECT_EQ(sizes.size(), kProcesses * static_cast<std::size_t>(kQuestions)) << "every line is whole";
  EXPECT_EQ(sizes.count(100), static_cast<std::size_t>(kProcesses));
}

TEST_F(LookupMissesTest, NotMoreThanSoManyASecond) {
  LookupOptions options = recording("few");
  options.record_misses_per_second = 3;
  const Lookup lookup(file().string(), options);
  for (std::int64_t m = 100; m < 200; ++m) lookup.best(question(m));
  EXPECT_GE(lines("few").size(), 3U);
  EXPECT_LE(lines("few").size(), 9U) << "a few seconds at most have passed";
}

TEST_F(LookupMissesTest, NothingThatGoesWrongConcernsTheLookup) {
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);  // opening it for writing would wait for a reader
  std::filesystem::create_directory(file("folder"));
  for (const char* const name : {"pipe", "folder", "missing/file", ""}) {
    LookupOptions options = recording(name);
    if (*name == '\0') options.record_misses = std::string("nul\0inside", 10);
    EXPECT_EQ(Lookup(file().string(), options).best(question(65))->tier, Tier::near) << name;
  }
  LookupOptions full = recording("");
  full.record_misses = "/dev/full";
  EXPECT_EQ(Lookup(file().string(), full).best(question(65))->tier, Tier::near);
}

TEST_F(LookupMissesTest, ManyThreads) {
  const Lookup lookup(file().string(), recording("threads"));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::int64_t m = 100; m < 150; ++m) lookup.best(question(m));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines("threads").size(), 50U);
}

}  // namespace
}  // namespace tunebook::testing
