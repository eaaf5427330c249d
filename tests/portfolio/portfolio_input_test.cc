// From the trials of a book to a matrix; weights from files.

#include "portfolio/portfolio_input.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

#include "book_fixture.h"
#include "core/error.h"
#include "core/random.h"
#include "portfolio/portfolio_shapes.h"

namespace tunebook {
namespace {

using testing::error_of;
using testing::matmul_problem;
using testing::tile;

// Two problems and three configurations; BM must divide m (or be 16), so that 64 is not valid for m
// = 96.
TrainingGroup some_group() {
  TrainingGroup group;
  group.name = "matmul";
  group.spec = KernelSpec::parse(nlohmann::ordered_json::parse(testing::kSpecText), "kernel.json");
  group.device = testing::some_gpu();
  group.dtype = "f32";
  group.method = "cold/2";
  group.problems = {matmul_problem(64, 64, 64), matmul_problem(96, 96, 96),
                    matmul_problem(128, 64, 64)};
  group.configurations = {tile(16), tile(32), tile(64), tile(64, true)};
  group.proved_bad = {false, false, false, true};
  const auto add = [&](std::uint32_t problem, std::uint32_t configuration, double us,
                       Outcome outcome = Outcome::ok) {
    TrainingTrial trial;
    trial.problem = problem;
    trial.configuration = configuration;
    trial.outcome = outcome;
    trial.median_us = us;
    trial.verified = outcome == Outcome::ok;
    group.trials.push_back(trial);
  };
  add(0, 0, 30);
  add(0, 1, 20);
  add(0, 2, 10);
  add(0, 3, 1);  // the fastest, and wrong elsewhere
  add(1, 0, 50);
  add(1, 1, 100, Outcome::abandoned);
  add(2, 2, 0, Outcome::compile_error);
  return group;
}

TEST(PortfolioInput, TimesBecomeCosts) {
  const TrainingGroup group = some_group();
  const PortfolioInput input = portfolio_input(group, nullptr);
  ASSERT_EQ(input.tuned, 2U) << "nothing was timed on the third";
  ASSERT_EQ(input.configurations.size(), 3U) << "what was proved bad is no candidate";
  EXPECT_EQ(input.best_us, (std::vector<double>{10, 50}));
  EXPECT_NEAR(input.matrix.at(0, 0), std::log(3.0), 1e-12);
  EXPECT_NEAR(input.matrix.at(0, 2), 0, 1e-12);
  EXPECT_NEAR(input.matrix.at(1, 1), std::log(2.0), 1e-12) << "abandoned: at least so slow";
  EXPECT_FALSE(input.matrix.is_valid(1, 2)) << "64 does not divide 96";
  EXPECT_EQ(input.measured_share, 1);
}

TEST(PortfolioInput, HolesAreCarefulWithoutAModel) {
  TrainingGroup group = some_group();
  std::erase_if(group.trials, [](const TrainingTrial& trial) {
    return trial.problem == 0 && trial.configuration == 1;
  });
  TrainingTrial elsewhere;  // so that it was verified once
  elsewhere.problem = 2;
  elsewhere.configuration = 1;
  elsewhere.median_us = 40;
  elsewhere.verified = true;
  group.trials.push_back(elsewhere);
  const PortfolioInput input = portfolio_input(group, nullptr);
  EXPECT_NEAR(input.matrix.at(0, 1), std::log(3.0), 1e-12)
      << "as slow as the slowest that was timed";
  EXPECT_EQ(input.matrix.measured[1], 0);
  EXPECT_NEAR(input.measured_share, 0.625, 1e-12);

  // A model whose only tree says that BM >= 32 loses a quarter.
  TimeModel model;
  model.dtype = "f32";
  model.method = "cold/2";
  model.features = {"BM"};
  model.roots = {0};
  model.nodes = {
      {0, 32.0F, 1}, {TimeModel::Node::kLeaf, 0, 0}, {TimeModel::Node::kLeaf, 0, 1 << 18}};
  model.loss = {{}};
  const PortfolioInput predicted = portfolio_input(group, &model);
  EXPECT_NEAR(predicted.matrix.at(0, 1), -std::log(0.75), 1e-9);
  EXPECT_NEAR(predicted.matrix.at(2, 0), 0, 1e-12);
  model.loss.front().predicted_mean = 0.1;
  const PortfolioInput careful = portfolio_input(group, &model);
  EXPECT_NEAR(careful.matrix.at(0, 1), -std::log(0.75), 1e-9);
  EXPECT_NEAR(careful.matrix.at(2, 0), -std::log(0.9), 1e-9)
      << "no prediction is better than the model";
  EXPECT_NEAR(predicted.matrix.at(0, 0), std::log(3.0), 1e-12) << "what was measured counts";
}

TEST(PortfolioInput, ImaginedShapesLieWithinTheBooks) {
  const TrainingGroup group = some_group();
  const PortfolioInput input = portfolio_input(group, nullptr);
  ASSERT_GT(input.problems.size(), input.tuned + 100);
  double of_book = 0, of_others = 0;
  std::int64_t odd = 0;
  for (std::size_t row = 0; row < input.problems.size(); ++row) {
    (row < input.tuned ? of_book : of_others) += input.matrix.weights[row];
    const std::int64_t m = std::get<std::int64_t>(input.problems[row].at("m"));
    EXPECT_TRUE(m == 64 || m == 96) << "a size with few values is one of these";
    odd += m % 2;
    for (std::size_t c = 0; c < input.matrix.configurations; ++c) {
      EXPECT_EQ(input.matrix.is_valid(row, c), m == 64 || c != 2);
    }
  }
  EXPECT_NEAR(of_others, 0.1 * of_book, 1e-9);
  EXPECT_EQ(odd, 0);

  std::vector<Problem> wide;
  for (std::int64_t m = 1; m <= 4096; m *= 4) wide.push_back(matmul_problem(m, m, 64));
  const std::vector<Problem> imagined = imagined_problems(group.spec, wide, 300);
  std::size_t ragged = 0;
  for (const Problem& problem : imagined) {
    const std::int64_t m = std::get<std::int64_t>(problem.at("m"));
    EXPECT_TRUE(m >= 1 && m <= 4096);
    EXPECT_EQ(std::get<std::int64_t>(problem.at("k")), 64);
    ragged += m % 8 != 0 ? 1 : 0;
  }
  EXPECT_GT(ragged, 60U);
  EXPECT_LT(ragged, 150U);
  EXPECT_EQ(imagined, imagined_problems(group.spec, wide, 300)) << "the same each time";
}

using WeightsTest = testing::BookTest;

TEST_F(WeightsTest, EntriesCountForTheNearestShape) {
  const TrainingGroup group = some_group();
  const auto read = [&](const std::string& text) {
    std::ofstream(file("weights")) << text;
    return read_weights(file("weights"), group.spec, "f32");
  };
  const auto asked = read(R"([{"problem": {"m": 100, "n": 90, "k": 80}},
      {"problem": {"m": 64, "n": 64, "k": 64}, "weight": 1.5},
      {"problem": {"k": 64, "n": 64, "m": 64, "dtype": "f32"}},
      {"problem": {"m": 1, "n": 1, "k": 1, "dtype": "f16"}, "weight": 9}])");
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0].weight, 2.5) << "equal ones are put together, the heaviest first";
  EXPECT_EQ(asked[0].problem, matmul_problem(64, 64, 64));
  const PortfolioInput input = portfolio_input(group, nullptr, asked);
  EXPECT_EQ(input.matrix.weights[0], 2.5);
  EXPECT_EQ(input.matrix.weights[1], 1);

  TimeModel model;
  model.features = {"BM"};
  model.roots = {0};
  model.nodes = {{TimeModel::Node::kLeaf, 0, 0}};
  model.loss = {{}};
  const PortfolioInput with_model = portfolio_input(group, &model, asked);
  ASSERT_EQ(with_model.problems.size(), 4U) << "what was asked is there instead of imagined ones";
  EXPECT_EQ(with_model.problems[3], matmul_problem(100, 90, 80));
  EXPECT_NEAR(with_model.matrix.weights[3], 1, 1e-12);

  const auto log = read(
      "{\"kernel\":\"matmul\",\"problem\":{\"k\":9,\"m\":9,\"n\":9,\"dtype\":\"f32\"},\"tier\":"
      "null}\n\n"
      "{\"kernel\":\"softmax\",\"problem\":{\"m\":1,\"n\":1}}\n");
  ASSERT_EQ(log.size(), 1U);
  EXPECT_EQ(log[0].weight, 1);
}

TEST_F(WeightsTest, FaultsAreNamedWithTheirPlace) {
  const TrainingGroup group = some_group();
  const auto read = [&](const std::string& text) {
    std::ofstream(file("weights")) << text;
    return read_weights(file("weights"), group.spec, "f32");
  };
  EXPECT_NE(error_of([&] {
              read("{\"problem\": {\"m\": 1}}\n");
            }).find("weights:1: the problem lacks the size n"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              read("[{\"problem\": {\"m\": 1, \"n\": 1, \"kk\": 1}}]");
            }).find("did you mean k?"),
            std::string::npos);
  for (const char* bad :
       {"{", "[1]", "{\"problem\": 3}", "{\"problem\": {\"m\": 1, \"n\": 1, \"k\": 0}}", "", "[]",
        "{\"problem\": {\"m\": 1, \"n\": 1, \"k\": 1}, \"weight\": 0}",
        "{\"problem\": {\"m\": 1, \"n\": 1, \"k\": 1}, \"weight\": \"x\"}",
        "{\"problem\": {\"m\": 1.5, \"n\": 1, \"k\": 1}}"}) {
    EXPECT_THROW(read(bad), InputError) << bad;
  }
  // Random bytes and mutations of good text are read or refused, never more.
  const std::string good =
      "{\"kernel\": \"matmul\", \"problem\": {\"m\": 1, \"n\": 2, \"k\": 3}, \"weight\": 2}\n";
  Random random(3);
  for (int i = 0; i < 3000; ++i) {
    std::string text = i % 3 == 0 ? "[" + good + "]" : good + good;
    for (std::uint64_t j = 0; j <= random.below(3); ++j) {
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    }
    try {
      for (const WeightedProblem& one : read(text)) EXPECT_GT(one.weight, 0);
    } catch (const InputError&) {
    }
  }
}

}  // namespace
}  // namespace tunebook
