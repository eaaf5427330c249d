// The verb portfolio on a small book of the cpu: JSON, text, header, emitted files, bad input.

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli_support.h"

namespace tunebook::test {
namespace {

class PortfolioVerb : public CliTest {
 protected:
  std::vector<std::string> with(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"portfolio",     "vector_add",  "--book",
                                      book().string(), "--templates", user_kernels()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void tune(const std::string& shape) {
    const ProgramResult tuned =
        run({"tune", "vector_add", "--templates", user_kernels(), "--device", "cpu", "--shape",
             shape, "--budget", "4", "--seed", "1", "--book", book().string()});
    ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  }
};

TEST_F(PortfolioVerb, ChoosesWritesAndEmits) {
  for (const char* shape : {"1000", "4096", "30000"}) tune(shape);
  const auto json = run_json(with({"--size", "2", "--json"}));
  EXPECT_EQ(json["kernel"], "vector_add");
  EXPECT_EQ(json["dtype"], nullptr);
  EXPECT_EQ(json["problems"], 3);
  EXPECT_GE(json["candidates"].get<int>(), 4);
  ASSERT_GE(json["configurations"].size(), 1U);
  ASSERT_LE(json["configurations"].size(), 2U);
  double share = 0;
  for (const auto& one : json["configurations"]) {
    EXPECT_TRUE(one["configuration"].contains("BLOCK_SIZE"));
    share += one["share"].get<double>();
  }
  EXPECT_NEAR(share, 1, 1e-9);
  for (const char* speed : {"best_of", "fitted", "left_out"}) {
    EXPECT_GT(json[speed]["geometric_mean"].get<double>(), 0) << speed;
    EXPECT_LE(json[speed]["worst"].get<double>(),
              json[speed]["geometric_mean"].get<double>() + 1e-9);
  }
  EXPECT_EQ(run_json(with({"--size", "2", "--json"})), json) << "the same each time";

  const std::string header = (folder() / "tuned.h").string();
  const std::string files = (folder() / "files").string();
  const ProgramResult text =
      run(with({"--size", "1", "--header", header, "--namespace", "app::add", "--emit", files}));
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("by the rule, on shapes it was made without:"), std::string::npos);
  EXPECT_NE(text.out.find("100 %"), std::string::npos) << text.out;
  std::ostringstream written;
  written << std::ifstream(header).rdbuf();
  EXPECT_NE(written.str().find("namespace app::add {"), std::string::npos);
  EXPECT_NE(written.str().find("(n <= 2147418112)"), std::string::npos) << written.str();
  for (const char* file : {"kernel.cu", "options.txt", "symbol.txt"}) {
    EXPECT_TRUE(std::filesystem::exists(folder() / "files" / "0" / file)) << file;
  }
  EXPECT_FALSE(std::filesystem::exists(folder() / "files" / "1"));
}

TEST_F(PortfolioVerb, SaysWhatIsMissing) {
  EXPECT_EQ(run(with({})).exit_code, 2) << "no book";
  tune("4096");
  std::vector<std::string> other = with({});
  other[1] = "softmax";
  const ProgramResult nothing = run(other);
  EXPECT_EQ(nothing.exit_code, 3);
  EXPECT_NE(nothing.err.find("has no trials of softmax"), std::string::npos) << nothing.err;
  const auto refused = [&](const std::vector<std::string>& words, const std::string& part) {
    const ProgramResult result = run(with(words));
    EXPECT_EQ(result.exit_code, 2) << part;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  };
  refused({"--gpu", "NVIDIA H200"},
          "the book has no trials of vector_add on 'NVIDIA H200', only on:");
  refused({"--dtype", "f32"}, "--dtype: the book has no trials of vector_add with 'f32'");
  refused({"--size", "0"}, "--size");
  refused({"--weights", write("weights", "[{\"problem\": {\"nn\": 1}}]").string()},
          "has no dimension 'nn'; did you mean n?");
  refused({"--header", (folder() / "missing" / "x.h").string()}, "x.h");
  refused({"--header", (folder() / "x.h").string(), "--namespace", "a b"}, "--namespace: 'a b'");
  EXPECT_FALSE(std::filesystem::exists(folder() / "x.h"));
}

}  // namespace
}  // namespace tunebook::test
