#include <cstdio>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "book_fixture.h"
#include "db/store.h"

namespace tunebook::testing {
namespace {

using ExampleTest = BookTest;

std::pair<std::string, int> run_example(const std::filesystem::path& book, const std::string& arguments) {
  const std::string command = fmt::format("'{}' '{}' {} 2>&1", TUNEBOOK_LOOKUP_EXAMPLE, book.string(), arguments);
  std::FILE* const pipe = popen(command.c_str(), "r");
  std::string output;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) {
    output += static_cast<char>(c);
  }
  return {output, pclose(pipe) / 256};
}

TEST_F(ExampleTest, TheExampleProgramAsksABook) {
  {
    Store store(file());
    add_finished_session(store, some_context(), matmul_problem(128, 64, 64), tile(32, true), 10);
  }
  EXPECT_EQ(run_example(file(), "matmul 128 64 64"), (std::pair<std::string, int>("exact BM=32 PAD=true\n", 0)));
  EXPECT_EQ(run_example(file(), "matmul 33 64 64"), (std::pair<std::string, int>("default BM=16 PAD=false\n", 0)));
  EXPECT_EQ(run_example(file(), "softmax 1 1 1").second, 3);
}

}  // namespace
}  // namespace tunebook::testing
