#include "session/remeasure.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

// On the cpu device, with a kernel of the tests.
class Remeasure : public testing::Test {
 protected:
  Remeasure() {
    ::setenv("TUNEBOOK_WORKER_DIR", TUNEBOOK_BIN_DIR, 1);
    std::string folder = (std::filesystem::temp_directory_path() / "tunebook-remeasure-XXXXXX").string();
    folder_ = ::mkdtemp(folder.data());
    ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  ~Remeasure() override {
    ::unsetenv("XDG_CACHE_HOME");
    ::unsetenv("TUNEBOOK_WORKER_DIR");
    std::filesystem::remove_all(folder_);
  }

  static KernelTemplate load(const std::string& path) { return load_template(std::string(TUNEBOOK_SOURCE_DIR) + "/tests/" + path); }

  static RemeasureAnswer ask(const KernelTemplate& kernel, const RemeasureQuestion& question) {
    DeviceExecutorOptions options;
    options.device = DeviceChoice::parse("cpu");
    options.compile_workers = 2;
    DeviceExecutor executor(kernel, options);
    return remeasure(kernel, question, executor);
  }

  static RemeasureQuestion question_of(const KernelTemplate& kernel, const std::string& shape, const std::string& base, const std::string& candidate) {
    return {kernel.spec.parse_shape(shape), kernel.spec.parse_configuration(base), kernel.spec.parse_configuration(candidate), 3, {}, {}};
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(Remeasure, TwoWinnersInEachProcess) {
  const KernelTemplate kernel = load("data/user_kernels/vector_add");
  const RemeasureAnswer answer =
      ask(kernel, question_of(kernel, "20000", "BLOCK_SIZE=256,ITEMS_PER_THREAD=1", "BLOCK_SIZE=64,ITEMS_PER_THREAD=4"));
  EXPECT_EQ(answer.failure, "");
  ASSERT_EQ(answer.base_us.size(), 3u);
  ASSERT_EQ(answer.candidate_us.size(), 3u);
  for (const double time_us : answer.base_us) EXPECT_GT(time_us, 0);
  for (const double time_us : answer.candidate_us) EXPECT_GT(time_us, 0);
}

TEST_F(Remeasure, OneWinnerAgainstItself) {
  const KernelTemplate kernel = load("data/user_kernels/vector_add");
  const std::string winner = "BLOCK_SIZE=128,ITEMS_PER_THREAD=2";
  const RemeasureAnswer answer = ask(kernel, question_of(kernel, "20000", winner, winner));
  EXPECT_EQ(answer.failure, "");
  EXPECT_EQ(answer.base_us.size(), 3u);
  EXPECT_EQ(answer.candidate_us.size(), 3u);
}

TEST_F(Remeasure, WhatTheTemplateDoesNotDeclareIsNotRun) {
  const KernelTemplate kernel = load("data/user_kernels/vector_add");
  const std::string winner = "BLOCK_SIZE=128,ITEMS_PER_THREAD=2";
  RemeasureQuestion question = question_of(kernel, "20000", winner, winner);
  question.candidate.set("BLOCK_SIZE", std::int64_t{77});
  RemeasureAnswer answer = ask(kernel, question);
  EXPECT_NE(answer.failure.find("candidate"), std::string::npos) << answer.failure;
  EXPECT_NE(answer.failure.find("77"), std::string::npos) << answer.failure;
  EXPECT_TRUE(answer.base_us.empty());

  question = question_of(kernel, "20000", winner, winner);
  question.problem = {};
  question.problem.set("rows", std::int64_t{5});
  answer = ask(kernel, question);
  EXPECT_NE(answer.failure, "");
}

TEST_F(Remeasure, AWrongWinnerIsNotTimed) {
  const KernelTemplate kernel = load("faults/element_unwritten");
  const RemeasureAnswer answer = ask(kernel, question_of(kernel, "65536", "BLOCK=256,WASTE=0,BAD=0", "BLOCK=256,WASTE=0,BAD=1"));
  EXPECT_NE(answer.failure.find("the winner of the candidate"), std::string::npos) << answer.failure;
  EXPECT_NE(answer.failure.find("wrong_result"), std::string::npos) << answer.failure;
  EXPECT_TRUE(answer.candidate_us.empty());
}

TEST_F(Remeasure, FasterThanTheDeviceIsNotRight) {
  const KernelTemplate kernel = load("data/user_kernels/vector_add");
  const std::string winner = "BLOCK_SIZE=128,ITEMS_PER_THREAD=2";
  RemeasureQuestion question = question_of(kernel, "20000", winner, winner);
  question.ceilings = {{.what = "copy", .bytes = 240000, .method = "cold/cpu1", .rate = 1e-3, .low = 1e-3, .high = 1e-3}};
  EXPECT_NE(ask(kernel, question).failure.find("wrong_result"), std::string::npos);
}

TEST_F(Remeasure, Stops) {
  const KernelTemplate kernel = load("data/user_kernels/vector_add");
  const std::string winner = "BLOCK_SIZE=128,ITEMS_PER_THREAD=2";
  RemeasureQuestion question = question_of(kernel, "20000", winner, winner);
  question.processes = 100;
  int asked = 0;
  question.stop = [&] { return ++asked > 3; };
  const RemeasureAnswer answer = ask(kernel, question);
  EXPECT_EQ(answer.failure, "interrupted");
  EXPECT_TRUE(answer.base_us.empty());
}

}  // namespace
}  // namespace tunebook
