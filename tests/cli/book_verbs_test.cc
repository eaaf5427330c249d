// What is asked of a book and written from it: best --explain, export. The stored book has one winner, of vector_add for n=4096 on a cpu.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli_support.h"

namespace tunebook::test {
namespace {

class BookVerbsTest : public CliTest {
 protected:
  BookVerbsTest() { std::filesystem::copy_file(TUNEBOOK_SOURCE_DIR "/tests/data/books/version_1.db", book()); }
  std::vector<std::string> best(const std::string& shape, const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"best", "vector_add", "--shape", shape, "--gpu", "NVIDIA H200", "--book", book().string()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(BookVerbsTest, ExplainNamesEachCandidateAndWhyItWasPassedOver) {
  const ProgramResult result = run(best("n=5000", {"--explain"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("BLOCK_SIZE=256,ITEMS_PER_THREAD=1\n")) << result.out;
  EXPECT_NE(result.out.find("the answer"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("n=4096"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("tuned on AMD EPYC, another architecture"), std::string::npos) << result.out;

  const nlohmann::json json = run_json(best("n=5000", {"--explain", "--json"}));
  EXPECT_EQ(json["match"]["tier"], "default");
  ASSERT_EQ(json["explanation"]["considered"].size(), 2U);
  EXPECT_EQ(json["explanation"]["considered"][0]["obstacle"], "none");
  EXPECT_EQ(json["explanation"]["considered"][1]["obstacle"], "other device");
  EXPECT_EQ(json["explanation"]["considered"][1]["tier"], nullptr);
  EXPECT_EQ(run_json(best("n=5000", {"--explain", "--json", "--most", "1"}))["explanation"]["left_out"], 1);
  EXPECT_FALSE(run_json(best("n=5000", {"--json"})).contains("explanation"));
}

TEST_F(BookVerbsTest, TheNearCapIsADistance) {
  EXPECT_EQ(run(best("n=5000", {"--near-cap", "inf"})).exit_code, 0);
  for (const char* bad : {"-1", "nan", "far"}) {
    const ProgramResult result = run(best("n=5000", {"--near-cap", bad}));
    EXPECT_EQ(result.exit_code, 2) << bad;
    EXPECT_NE(result.err.find("--near-cap"), std::string::npos) << result.err;
  }
}

TEST_F(BookVerbsTest, ExportWritesAHeader) {
  const std::filesystem::path header = folder() / "tuned.h";
  const std::vector<std::string> words = {"export", "--format", "header", "--output", header.string(), "--book", book().string()};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return more;
  };
  const nlohmann::json json = run_json(with({"--namespace", "app::tuned", "--kernel", "vector_add", "--json"}));
  EXPECT_EQ(json["winners"], 1);
  EXPECT_EQ(json["kernels"], 1);
  std::ostringstream text;
  text << std::ifstream(header).rdbuf();
  EXPECT_EQ(static_cast<std::size_t>(json["bytes"]), text.str().size());
  EXPECT_NE(text.str().find("namespace app::tuned {"), std::string::npos);
  for (const std::vector<std::string>& bad : {std::vector<std::string>{"--namespace", "a b"}, {"--kernel", "vector_ad"}, {"--format", "xml"}}) {
    EXPECT_EQ(run(with(bad)).exit_code, 2) << bad[1];
  }
  EXPECT_NE(run(with({"--kernel", "vector_ad"})).err.find("vector_add"), std::string::npos);
}

TEST_F(BookVerbsTest, PublishSaysWhenThereIsNoWinner) {
  const std::string empty = (folder() / "empty.db").string(), published = (folder() / "published.db").string();
  run({"tune", "vector_add", "--templates", user_kernels(), "--shape", "4096", "--device", "cpu", "--time-limit", "0.001", "--book", empty});
  const ProgramResult nothing = run({"publish", published, "--book", empty});
  EXPECT_EQ(nothing.exit_code, 0) << nothing.err;
  EXPECT_NE(nothing.err.find("no winner yet"), std::string::npos) << nothing.err;
  const ProgramResult one = run({"publish", published, "--book", book().string()});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(one.err.find("no winner yet"), std::string::npos) << one.err;
}

}  // namespace
}  // namespace tunebook::test
