// The shapes that a region is judged by, and how a plan says it.
#include "sweep/cover_region.h"

#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "core/template_folder.h"
#include "sweep_fixture.h"

namespace tunebook::testing {
namespace {

using Lines = std::vector<std::string>;
using CoverRegionTest = SweepTest;

CoverDimension range(const std::string& name, std::int64_t from, std::int64_t to,
                     bool classes = false) {
  return {name, from, to, {}, classes};
}

CoverRegion region_of(std::vector<CoverDimension> dimensions, std::uint64_t seed = 0) {
  CoverRegion region;
  region.item = item("product", product_problem(1, 1, 1));
  region.item.settings.seed = seed;
  region.dimensions = std::move(dimensions);
  return region;
}

TEST(CoverQuestions, AreInTheRegionEachOnceAndTheSameForTheSameSeed) {
  const CoverRegion region =
      region_of({range("m", 1, 8192), {"n", 1, 1, {4096, 11008}, false}, range("k", 100, 200)});
  const auto questions = draw_questions(region);
  ASSERT_EQ(questions.size(), kDrawnQuestions);
  std::set<std::vector<std::int64_t>> seen;
  std::map<std::int64_t, int> listed;
  std::map<int, int> octaves;
  for (const CoverQuestion& question : questions) {
    EXPECT_TRUE(region.contains(question.sizes));
    EXPECT_TRUE(seen.insert(question.sizes).second);
    EXPECT_EQ(question.weight, 1);
    ++listed[question.sizes[1]];
    ++octaves[static_cast<int>(std::log2(question.sizes[0]))];
  }
  EXPECT_NEAR(listed[4096], 128, 10);
  for (int octave = 1; octave < 12; ++octave) EXPECT_NEAR(octaves[octave], 256 / 13.0, 6) << octave;
  EXPECT_EQ(draw_questions(region), questions);
  EXPECT_NE(draw_questions(region_of(region.dimensions, 1)), questions);
}

TEST(CoverQuestions, EveryClassOfDivisibilityComesEquallyOften) {
  const auto questions = draw_questions(
      region_of({range("m", 1, 8192, true), range("n", 16, 65536, true), range("k", 1, 8192)}));
  std::map<std::int64_t, int> of_m;
  std::set<std::pair<std::int64_t, std::int64_t>> pairs;
  for (const CoverQuestion& question : questions) {
    ++of_m[divisibility_class(question.sizes[0])];
    pairs.emplace(divisibility_class(question.sizes[0]), divisibility_class(question.sizes[1]));
  }
  for (const std::int64_t divisor : {1, 2, 4, 8, 16})
    EXPECT_NEAR(of_m[divisor], 256 / 5.0, 15) << divisor;
  EXPECT_EQ(pairs.size(), 25U);
}

TEST(CoverQuestions, OfASmallRegionAllAndNoMore) {
  EXPECT_EQ(draw_questions(region_of({{"m", 1, 1, {7}, true}})),
            (std::vector<CoverQuestion>{{{7}, 1}}));
  const auto questions = draw_questions(region_of({range("m", 15, 17, true)}));
  std::set<std::int64_t> sizes;
  for (const CoverQuestion& question : questions) sizes.insert(question.sizes[0]);
  EXPECT_EQ(sizes, (std::set<std::int64_t>{15, 16, 17}));
}

TEST(CoverQuestions, WeightedShapesComeFirstAndTheOthersWeighATenthTogether) {
  CoverRegion region = region_of({range("m", 1, 64)});
  region.weights = {{{33}, 6}, {{5}, 4}, {{33}, 10}};
  const auto questions = draw_questions(region);
  EXPECT_EQ(questions[0], (CoverQuestion{{33}, 6}));
  EXPECT_EQ(questions[1], (CoverQuestion{{5}, 4}));
  double others = 0;
  for (std::size_t i = 2; i < questions.size(); ++i) others += questions[i].weight;
  EXPECT_NEAR(others, 0.1 * 20, 1e-9);
}

TEST(CoverQuestions, ClassesAndPercentages) {
  for (const auto& [size, divisor] :
       std::map<std::int64_t, std::int64_t>{{1, 1}, {6, 2}, {12, 4}, {24, 8}, {48, 16}, {64, 16}}) {
    EXPECT_EQ(divisibility_class(size), divisor) << size;
  }
  EXPECT_DOUBLE_EQ(parse_percentage("3%").value(), 0.03);
  EXPECT_DOUBLE_EQ(parse_percentage("0.5%").value(), 0.005);
  for (const char* bad : {"", "%", "3", "0%", "-1%", "101%", "3 %", "nan%", "1e1%"})
    EXPECT_FALSE(parse_percentage(bad)) << bad;
}

TEST_F(CoverRegionTest, OfAPlanEachKernelTypeAndDevice) {
  const SweepPlan read =
      plan(R"({"tunebook": 1, "devices": ["cuda", "cpu"], "budget": 30, "priority": 2, "sessions": [
    {"kernels": "product", "types": ["f16", "f32"], "target_loss": "5%", "most_shapes": 7, "cover": {"k": 64, "n": [32, 8, 32], "m": {"from": 1, "to": 8192}, "math": "ieee"}},
    {"kernels": "plain", "shapes": "5"}]})");
  ASSERT_EQ(read.regions.size(), 4U);
  EXPECT_EQ(read.items.size(), 2U);
  const CoverRegion& region = read.regions[0];
  EXPECT_EQ(region.display(), "product f16 on cuda: m 1..8192, n 8|32, k 64");
  EXPECT_EQ(read.regions[3].display(), "product f32 on cpu: m 1..8192, n 8|32, k 64");
  EXPECT_DOUBLE_EQ(region.target_loss, 0.05);
  EXPECT_EQ(region.most_shapes, 7U);
  EXPECT_EQ(region.item.settings.budget, "30");
  EXPECT_EQ(region.item.settings.priority, 2);
  EXPECT_FALSE(region.dimensions[0].classes) << "nothing divides m with %";
  EXPECT_EQ(region.item_for({5, 8, 64}).display(),
            "product m=5,n=8,k=64,dtype=f16,math=ieee on cuda");
  EXPECT_DOUBLE_EQ(
      plan(
          R"({"tunebook": 1, "devices": "cpu", "sessions": [{"kernels": "plain", "cover": {"n": 3}}]})")
          .regions.at(0)
          .target_loss,
      0.03);
}

TEST_F(CoverRegionTest, AConditionLeavesShapesOut) {
  const SweepPlan read = plan(R"({"tunebook": 1, "devices": "cpu", "sessions": [
    {"kernels": "product", "when": "m * n <= 400 and math == 'ieee'",
     "cover": {"k": [4, 9], "n": {"from": 1, "to": 64}, "m": {"from": 1, "to": 64}}}]})");
  const CoverRegion& region = read.regions.at(0);
  EXPECT_TRUE(region.contains({20, 20, 4}));
  EXPECT_FALSE(region.contains({20, 21, 4}));
  EXPECT_FALSE(region.contains({20, 20, 5}));
  const std::vector<CoverQuestion> questions = draw_questions(region);
  EXPECT_GT(questions.size(), 200U);
  for (const CoverQuestion& one : questions) EXPECT_LE(one.sizes[0] * one.sizes[1], 400);
  // What no shape fulfils leaves none.
  const SweepPlan none = plan(R"({"tunebook": 1, "devices": "cpu", "sessions": [
    {"kernels": "plain", "when": "n > 100", "cover": {"n": {"from": 1, "to": 64}}}]})");
  EXPECT_TRUE(draw_questions(none.regions.at(0)).empty());
}

TEST_F(CoverRegionTest, RegionsAreAPartOfThePlansHash) {
  const auto hash = [&](const std::string& rest) {
    return plan(R"({"tunebook": 1, "devices": "cpu", "sessions": [{"kernels": "plain", )" + rest +
                "}]}")
        .hash();
  };
  const std::string one = hash(R"("cover": {"n": {"from": 1, "to": 64}})");
  EXPECT_EQ(hash(R"("cover": {"n": {"to": 64, "from": 1}})"), one);
  EXPECT_NE(hash(R"("cover": {"n": {"from": 1, "to": 65}})"), one);
  EXPECT_NE(hash(R"("cover": {"n": {"from": 1, "to": 64}}, "target_loss": "4%")"), one);
  EXPECT_NE(hash(R"("cover": {"n": {"from": 1, "to": 64}}, "budget": 3)"), one);
  EXPECT_NE(hash(R"("cover": {"n": {"from": 1, "to": 64}}, "when": "n > 3")"), one);
  EXPECT_NE(hash(R"("cover": {"n": {"from": 1, "to": 64}}, "from_book": 3)"), one);
}

TEST_F(CoverRegionTest, WeightsComeFromAFileOrFromMisses) {
  write("asked.txt", "5 2.5\nn=7,dtype=f32\n100 3  # outside\n# nothing\n9,dtype=f16 8\n");
  const SweepPlan read = plan(R"({"tunebook": 1, "devices": "cpu", "sessions": [
    {"kernels": "add", "cover": {"n": {"from": 1, "to": 64}}, "weights": {"from_file": "asked.txt"}}]})");
  EXPECT_EQ(read.regions.at(0).weights, (std::vector<WeightedShape>{{{5}, 2.5}, {{7}, 1}}));
  write("asked.txt", "5 x\n5,6 2\n7 -1\n");
  EXPECT_EQ(faults(R"({"tunebook": 1, "devices": "cpu", "sessions": [
    {"kernels": "add", "cover": {"n": {"from": 1, "to": 64}}, "weights": {"from_file": "asked.txt"}}]})")
                .size(),
            3U);
}

TEST_F(CoverRegionTest, DivisionInAConstraintTellsClassesApart) {
  const KernelSpec product = load_template(path("templates/product")).spec;
  EXPECT_FALSE(tells_classes_apart(product, "m"));
  KernelSpec with = product;
  with.constraints.push_back(Expression::compile("m % BM == 0 or k < 5", with.names));
  EXPECT_TRUE(tells_classes_apart(with, "m"));
  EXPECT_FALSE(tells_classes_apart(with, "n"));
  EXPECT_FALSE(tells_classes_apart(with, "nothing"));
}

TEST_F(CoverRegionTest, WhatIsWrongIsToldWithItsPlace) {
  const auto fault = [&](const std::string& rest) {
    return faults(R"({"tunebook": 1, "devices": "cpu", "sessions": [{"kernels": "plain", )" + rest +
                  "}]}");
  };
  EXPECT_EQ(fault(R"("cover": {"n": 5}, "shapes": "5")"),
            (Lines{"/sessions/0: found \"cover\" and \"shapes\", expected one of them; give each "
                   "an entry of its own"}));
  EXPECT_EQ(fault(R"("when": "n > 3")"),
            (Lines{"/sessions/0: found \"when\" without \"cover\", expected both"}));
  EXPECT_EQ(fault(R"("cover": {"n": 5}, "when": 3)"),
            (Lines{"/sessions/0/when: found 3, expected an expression over the sizes such as "
                   "\"m * n <= 2 ** 28\""}));
  for (const char* const bad : {R"("n >")", R"("what > 3")", R"("BLOCK > 3")"}) {
    const Lines lines = fault(std::string(R"("cover": {"n": 5}, "when": )") + bad);
    ASSERT_EQ(lines.size(), 1U) << bad;
    EXPECT_TRUE(lines[0].starts_with("/sessions/0/cover: \"when\": ")) << lines[0];
  }
  EXPECT_EQ(fault(R"("cover": {"n": 5}, "from_book": 0)").size(), 1U);
  EXPECT_EQ(fault(R"("target_loss": "3%")"),
            (Lines{"/sessions/0: found \"target_loss\" without \"cover\", expected both"}));
  EXPECT_EQ(fault(R"("cover": {"n": 5}, "target_loss": 3)"),
            (Lines{"/sessions/0/target_loss: found 3, expected a percentage such as \"3%\""}));
  EXPECT_EQ(fault(R"("cover": {"n": {"from": 5, "to": 4}})"),
            (Lines{"/sessions/0/cover/n: found sizes from 5 to 4, expected \"from\" to be the "
                   "smaller one"}));
  EXPECT_EQ(fault(R"("cover": {"nn": 5, "n": 4})"),
            (Lines{"/sessions/0/cover/nn: found the unknown dimension \"nn\", expected kernel "
                   "plain to have n; did you mean \"n\"?"}));
  EXPECT_EQ(fault(R"("cover": {"n": 0})"),
            (Lines{"/sessions/0/cover/n: found 0, expected an integer from 1 to 68719476736"}));
  EXPECT_EQ(fault(R"("cover": {"n": {"from": 1, "to": 4, "step": 2}})").size(), 1U);
  EXPECT_EQ(fault(R"("cover": 4)").size(), 1U);
  EXPECT_EQ(fault(R"("cover": {})").empty(), false);
  EXPECT_EQ(fault(R"("cover": {"n": 5}, "weights": "asked.txt")"),
            (Lines{"/sessions/0/weights: found \"asked.txt\", expected {\"from_file\": PATH} or "
                   "{\"from_misses\": PATH}"}));
  record("recorded/one", "plain", R"({"n": 4096})");
  EXPECT_EQ(fault(R"("cover": {"n": 5}, "devices": "replay:recorded")"),
            (Lines{"/sessions/0: \"cover\" cannot be had on a recording, which has its own "
                   "problems; give cuda, cuda:N or cpu"}));
}

}  // namespace
}  // namespace tunebook::testing
