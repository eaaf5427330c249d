#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cli_support.h"  // first: it means gtest by "testing"
#include "../learn/simulated_kernel.h"

namespace tunebook::test {
namespace {

// Books of a kernel whose times are known; nothing is measured but with --measure, which needs a
// template.
class LearnVerbTest : public CliTest {
 protected:
  std::string write_book(const std::string& name, std::uint64_t seed, std::size_t problems) {
    Random random(seed);
    std::map<std::string, Problem> drawn;
    while (drawn.size() < problems) {
      const Problem one = testing::SimulatedKernel::random_problem(random);
      drawn.emplace(one.canonical(), one);
    }
    std::vector<Problem> list;
    for (const auto& [text, one] : drawn) list.push_back(one);
    const std::string path = (folder() / name).string();
    testing::write_book(testing::simulated_group(list, 40, random), path);
    return path;
  }
};

TEST_F(LearnVerbTest, LearnsOnceAndSaysWhatCameOfIt) {
  const std::string book = write_book("book.db", 1, 10);
  const auto first = run_json({"learn", "--book", book, "--json"});
  ASSERT_EQ(first["models"].size(), 1U);
  EXPECT_EQ(first["models"][0]["state"], "learned");
  EXPECT_EQ(first["models"][0]["problems"], 10);
  EXPECT_GT(first["models"][0]["bytes"], 1000);
  EXPECT_EQ(run_json({"learn", "--book", book, "--json"})["models"][0]["state"], "unchanged");
  const ProgramResult text = run({"learn", "--book", book, "--kernel", "rows"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("unchanged"), std::string::npos) << text.out;
  EXPECT_EQ(run({"learn", "--book", book, "--kernel", "rowz"}).exit_code, 2);
  EXPECT_EQ(run({"learn", "--book", (folder() / "none.db").string()}).exit_code, 2);
  const std::string small = write_book("small.db", 2, 2);
  const ProgramResult none = run({"learn", "--book", small});
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_NE(none.out.find("2 problems with a verified time; 3 are needed"), std::string::npos)
      << none.out;
}

TEST_F(LearnVerbTest, PublishLearnsAndBestAnswersByTheModel) {
  const std::string book = write_book("book.db", 3, 10),
                    published = (folder() / "published.db").string();
  EXPECT_EQ(run_json({"publish", published, "--book", book, "--no-models", "--json"})["models"], 0);
  EXPECT_EQ(run_json({"publish", published, "--book", book, "--json"})["models"], 1);
  EXPECT_EQ(run_json({"learn", "--book", book, "--json"})["models"][0]["state"], "unchanged")
      << "publish wrote it into the book";
  const auto answer = run_json({"best", "rows", "--shape", "m=100,n=1000", "--gpu", "Simulated GPU",
                                "--book", published, "--json"});
  EXPECT_EQ(answer["match"]["tier"], "predicted") << answer.dump();
}

TEST_F(LearnVerbTest, QualityScoresAnswersFromTheBookAndByAnother) {
  const std::string book = write_book("book.db", 4, 24), truth = write_book("truth.db", 5, 12);
  const auto alone = run_json({"quality", "--book", book, "--json"});
  ASSERT_EQ(alone["groups"].size(), 1U);
  EXPECT_EQ(alone["groups"][0]["asked"], 24);
  EXPECT_EQ(alone["groups"][0]["scored"], 24);
  EXPECT_GT(alone["groups"][0]["answered"], 0.85);
  EXPECT_EQ(alone["groups"][0]["questions"].size(), 24U);
  const auto asked = run_json({"quality", "rows", "--book", book, "--truth", truth, "--json"});
  EXPECT_EQ(asked["groups"][0]["asked"], 12);
  EXPECT_GT(asked["groups"][0]["scored"], 0);
  for (const auto& question : asked["groups"][0]["questions"]) EXPECT_NE(question["tier"], "exact");
  // A book asked for its own shapes has tuned them all.
  const ProgramResult own = run({"quality", "--book", book, "--truth", book});
  EXPECT_EQ(own.exit_code, 0);
  EXPECT_NE(own.out.find("every problem of the truth is tuned"), std::string::npos) << own.out;
  EXPECT_EQ(run({"quality", "--book", book, "--truth", truth, "--folds", "3"}).exit_code, 2);
  EXPECT_EQ(run({"quality", "--book", book, "--measure", "--device", "replay:x"}).exit_code, 2);
}

}  // namespace
}  // namespace tunebook::test
