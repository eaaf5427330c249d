// A kernel's baseline through the program, on the cpu device: a copy is timed there, libraries are not.
#include <filesystem>
#include <string>
#include <vector>

#include "cli_support.h"

namespace tunebook::test {
namespace {

using Words = std::vector<std::string>;
namespace fs = std::filesystem;

class BaselineVerb : public CliTest {
 protected:
  // vector_add with this baseline.
  std::string templates_with(const std::string& baseline) {
    const fs::path source = fs::path(user_kernels()) / "vector_add";
    for (const char* name : {"kernel.cu", "reference.cu"}) write(std::string("templates/vector_add/") + name, read_file(source / name));
    nlohmann::ordered_json spec = nlohmann::ordered_json::parse(read_file(source / "kernel.json"));
    spec["baseline"] = nlohmann::ordered_json::parse(baseline);
    write("templates/vector_add/kernel.json", spec.dump());
    return (folder() / "templates").string();
  }
  static Words tune(const std::string& templates, const Words& more = {}, const char* finalists = "2") {
    Words words = {"tune", "vector_add", "--templates", templates, "--shape", "100000", "--device", "cpu", "--budget", "3", "--seed", "1",
                   "--finalists", finalists, "--finalist-processes", "3"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }

  const std::string copy_ = R"({"operation": "copy", "buffers": ["c", "a"]})";
};

TEST_F(BaselineVerb, ACopyIsTimedBesideTheFinalistsAndKept) {
  const std::string templates = templates_with(copy_);
  const auto tuned = run_json(tune(templates, {"--json"}));
  const auto& baseline = tuned["baseline"];
  ASSERT_TRUE(baseline.is_object()) << tuned.dump();
  EXPECT_EQ(baseline["name"], "memcpy");
  EXPECT_EQ(baseline["operation"], "copy");
  EXPECT_EQ(baseline["state"], "ok");
  EXPECT_GT(baseline["median_us"], 0);
  EXPECT_GT(baseline["ratio"], 0);
  EXPECT_LE(baseline["ratio_ci"][0], baseline["ratio"]);
  EXPECT_GE(baseline["ratio_ci"][1], baseline["ratio"]);
  // The session is in the book, and its baseline with it.
  const auto again = run_json(tune(templates, {"--json"}));
  EXPECT_EQ(again["configurations_per_s"], 0);
  EXPECT_EQ(again["baseline"], baseline);
  const ProgramResult text = run(tune(templates));
  EXPECT_NE(text.out.find("memcpy (by all threads): "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find(" times the winner's ("), std::string::npos) << text.out;
}

TEST_F(BaselineVerb, SwitchedOffItIsAnotherSessionWithoutOne) {
  const std::string templates = templates_with(copy_);
  const auto with = run_json(tune(templates, {"--json"}));
  const auto without = run_json(tune(templates, {"--json", "--no-baseline"}));
  EXPECT_TRUE(without["baseline"].is_null());
  EXPECT_NE(without["session"], with["session"]);
  EXPECT_TRUE(run_json(tune(templates, {"--json"}, "0"))["baseline"].is_null());
}

TEST_F(BaselineVerb, ALibraryThatIsNotThereIsSaidOnceAndCostsNothing) {
  const std::string templates =
      templates_with(R"({"operation": "reduce", "buffers": ["c", "a"], "parameters": {"n": "n", "operation": "'sum'"}})");
  const ProgramResult result = run(tune(templates, {"--json"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(count(result.err, "note: no baseline: "), 1u) << result.err;
  EXPECT_NE(result.err.find("the cpu device has no library for the baseline reduce"), std::string::npos) << result.err;
  const auto json = parse_one_line(result.out);
  EXPECT_TRUE(json["winner"].is_object());
  EXPECT_EQ(json["baseline"]["state"], "unavailable");
  EXPECT_TRUE(json["baseline"]["median_us"].is_null());
  EXPECT_TRUE(json["baseline"]["ratio"].is_null());
}

TEST_F(BaselineVerb, AFaultInItIsBadInput) {
  const std::string templates = templates_with(R"({"operation": "copy", "buffers": ["c", "aa"]})");
  expect_bad_input(tune(templates), {"kernel.json: /baseline/buffers/1", "\"aa\"", "a pointer argument (c, a, b)"});
}

TEST_F(BaselineVerb, DoctorSaysWhatThereIs) {
  const auto doctor = parse_one_line(run({"doctor", "--templates", user_kernels(), "--json"}).out);
  bool found = false;
  for (const auto& finding : doctor["findings"]) {
    if (finding["part"] != "baselines") continue;
    found = true;
    EXPECT_NE(finding["state"], "problem");
    EXPECT_FALSE(finding["finding"].get<std::string>().empty());
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace tunebook::test
