// Headers compile without a warning and pick as the rule does, on random shapes of bundled kernels.

#include "portfolio/portfolio_header.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "book_fixture.h"
#include "core/error.h"
#include "core/random.h"
#include "core/template_folder.h"

namespace tunebook {
namespace {

using HeaderTest = testing::BookTest;

// Some presets of the kernel, and a rule with each kind of question and random orders.
Portfolio some_portfolio(const KernelSpec& spec, const std::string& dtype, Random& random) {
  Portfolio portfolio{&spec, testing::some_gpu(), dtype, {}, {}};
  for (const auto& [name, preset] : spec.presets) {
    if (name != "default") portfolio.configurations.push_back(preset);
  }
  std::vector<std::string> sizes;
  std::vector<RuleCondition> conditions;
  for (const Dimension& dimension : spec.dimensions) {
    if (!dimension.categorical) {
      sizes.push_back(dimension.name);
      conditions.push_back({RuleCondition::Kind::divisible, {dimension.name}, 8, ""});
      conditions.push_back({RuleCondition::Kind::at_least, {dimension.name}, 300, ""});
    } else if (dimension.name != "dtype") {
      conditions.push_back(
          {RuleCondition::Kind::category, {dimension.name}, 0, dimension.values.back()});
    }
  }
  conditions.push_back({RuleCondition::Kind::at_least, sizes, 1000000, ""});
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    portfolio.rule.nodes.push_back({conditions[i], 2 * i + 1, 2 * i + 2, {}});
    portfolio.rule.nodes.push_back({std::nullopt, 0, 0, {}});
  }
  portfolio.rule.nodes.push_back({std::nullopt, 0, 0, {}});
  for (PortfolioRule::Node& node : portfolio.rule.nodes) {
    if (node.condition) continue;
    for (std::size_t i = 0; i < portfolio.configurations.size(); ++i) node.order.push_back(i);
    for (std::size_t i = node.order.size(); i > 1; --i)
      std::swap(node.order[i - 1], node.order[random.below(i)]);
  }
  return portfolio;
}

Problem random_problem(const KernelSpec& spec, const std::string& dtype, Random& random) {
  Problem problem;
  for (const Dimension& dimension : spec.dimensions) {
    if (dimension.name == "dtype") {
      problem.set("dtype", dtype);
    } else if (dimension.categorical) {
      problem.set(dimension.name, dimension.values[random.below(dimension.values.size())]);
    } else {
      // Mostly of sizes that matter, some where products overflow.
      const std::uint64_t most = random.below(20) == 0 ? 36 : 14;
      const std::uint64_t power = std::uint64_t{1} << random.below(most);
      const auto size = static_cast<std::int64_t>(power + random.below(power));
      problem.set(dimension.name, random.below(2) == 0 ? size : (size + 7) / 8 * 8);
    }
  }
  return problem;
}

// Reads sizes and categories, prints the pick and which are valid.
std::string reader_of(const KernelSpec& spec, std::size_t which) {
  std::string code, arguments;
  for (const bool categorical : {false, true}) {
    for (const Dimension& dimension : spec.dimensions) {
      if (dimension.categorical != categorical || dimension.name == "dtype") continue;
      code +=
          fmt::format("    {} {}_v; std::cin >> {}_v;\n", categorical ? "std::string" : "long long",
                      dimension.name, dimension.name);
      arguments += fmt::format("{}{}_v", arguments.empty() ? "" : ", ", dimension.name);
    }
  }
  return fmt::format(
      "  if (which == {0}) {{\n{1}    std::cout << k{0}::pick({2}) << ' ';\n"
      "    for (int i = 0; i < k{0}::kCount; ++i) std::cout << k{0}::valid(i, {2});\n    std::cout "
      "<< '\\n';\n  }}\n",
      which, code, arguments);
}

std::string question(const KernelSpec& spec, std::size_t which, const Problem& problem) {
  std::string text = fmt::format("{}", which);
  for (const bool categorical : {false, true}) {
    for (const Dimension& dimension : spec.dimensions) {
      if (dimension.categorical == categorical && dimension.name != "dtype")
        text += " " + to_text(problem.at(dimension.name));
    }
  }
  return text;
}

std::string answer(const Portfolio& portfolio, const Problem& problem) {
  const std::optional<std::size_t> picked = portfolio.pick(problem);
  std::string text = fmt::format("{} ", picked ? static_cast<int>(*picked) : -1);
  for (std::size_t i = 0; i < portfolio.configurations.size(); ++i)
    text += portfolio.valid(i, problem) ? '1' : '0';
  return text;
}

TEST_F(HeaderTest, PicksAsTheRuleDoes) {
  constexpr int kQuestions = 400;
  Random random(11);
  std::vector<KernelTemplate> kernels;
  std::vector<std::string> dtypes;
  for (const auto& [name, dtype] :
       std::vector<std::pair<std::string, std::string>>{{"matmul", "f32"},
                                                        {"matmul", "bf16"},
                                                        {"softmax", "f32"},
                                                        {"conv2d_nchw", "f32"},
                                                        {"scan", "f64"},
                                                        {"transpose", "u8"}}) {
    kernels.push_back(
        load_template(std::filesystem::path(TUNEBOOK_SOURCE_DIR) / "templates" / name));
    dtypes.push_back(dtype);
  }
  std::vector<Portfolio> portfolios;
  std::string program = "#include <iostream>\n#include <string>\n", body;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    portfolios.push_back(some_portfolio(kernels[i].spec, dtypes[i], random));
    std::ofstream(file(fmt::format("k{}.h", i)))
        << portfolio_header(portfolios[i], fmt::format("k{}", i), {"a header \\", "#error"});
    program += fmt::format("#include \"k{}.h\"\n", i);
    body += reader_of(kernels[i].spec, i);
  }
  std::ofstream(file("main.cc"))
      << program + "int main() {\n  int which;\n  while (std::cin >> which) {\n" + body +
             "  }\n}\n";
  ASSERT_EQ(
      std::system(
          fmt::format("'{}' -std=c++17 -O0 -Wall -Wextra -Wpedantic -Wshadow -Werror '{}' -o '{}'",
                      TUNEBOOK_CXX, file("main.cc").string(), file("program").string())
              .c_str()),
      0);

  std::vector<std::string> asked, expected;
  std::ofstream questions(file("questions"));
  int picked = 0;
  for (int i = 0; i < kQuestions; ++i) {
    const std::size_t which = random.below(kernels.size());
    const Problem problem = random_problem(kernels[which].spec, dtypes[which], random);
    asked.push_back(question(kernels[which].spec, which, problem));
    questions << asked.back() << '\n';
    expected.push_back(answer(portfolios[which], problem));
    picked += expected.back()[0] != '-' ? 1 : 0;
  }
  questions.close();
  ASSERT_EQ(std::system(fmt::format("'{}' < '{}' > '{}'", file("program").string(),
                                    file("questions").string(), file("answers").string())
                            .c_str()),
            0);
  std::ifstream answers(file("answers"));
  std::size_t count = 0, wrong = 0;
  for (std::string line; std::getline(answers, line); ++count) {
    ASSERT_LT(count, expected.size());
    if (line != expected[count] && ++wrong <= 5)
      ADD_FAILURE() << asked[count] << "\n  rule:   " << expected[count] << "\n  header: " << line;
  }
  EXPECT_EQ(count, expected.size());
  EXPECT_GE(picked, kQuestions / 2);
}

TEST_F(HeaderTest, BadNamespacesAreRefused) {
  const KernelSpec spec =
      KernelSpec::parse(nlohmann::ordered_json::parse(testing::kSpecText), "kernel.json");
  Random random(1);
  const Portfolio portfolio = some_portfolio(spec, "f32", random);
  EXPECT_NE(portfolio_header(portfolio, "app::tuned", {}).find("namespace app::tuned {"),
            std::string::npos);
  for (const char* bad : {"", "1a", "a::", "::a", "a b", "a{", "_A", "a__b", "class", "a;int x"}) {
    EXPECT_THROW(portfolio_header(portfolio, bad, {}), InputError) << bad;
  }
}

}  // namespace
}  // namespace tunebook
