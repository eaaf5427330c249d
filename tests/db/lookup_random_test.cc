// Random books and questions, answered by the library and by a slow, plain model of its rules.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "book_fixture.h"
#include "db/publish.h"
#include "lookup_model.h"
#include "random_book.h"

namespace tunebook::testing {
namespace {

using LookupRandomTest = BookTest;

TEST_F(LookupRandomTest, AnswersAreTheModels) {
  constexpr int kBooks = 60, kQuestions = 120;
  std::vector<int> tiers(static_cast<std::size_t>(Tier::preset_default) + 1);
  for (int round = 0; round < kBooks; ++round) {
    Dice dice(static_cast<std::uint64_t>(round));
    const std::filesystem::path path = file(fmt::format("book{}.db", round));
    ModelBook book = random_book(dice, path);
    set_times(dice, path, book);
    if (round % 4 != 0) add_random_models(dice, path, book);
    LookupOptions options;
    options.near_cap = dice.chance(50) ? kNearCap : static_cast<double>(dice.below(6));
    const Lookup working(path.string(), options);
    std::unique_ptr<const Lookup> published;
    if (round % 4 == 0) {
      publish_book(path, file("published.db"));
      published = std::make_unique<const Lookup>(file("published.db").string(), options);
    }
    for (int i = 0; i < kQuestions; ++i) {
      const Query query = random_query(dice, book);
      const std::optional<ModelAnswer> expected = model_best(book, query, options.near_cap);
      const std::string right = describe(expected);
      ASSERT_EQ(describe(as_model(working.best(query))), right) << describe(query) << ", book " << round << ", cap " << options.near_cap;
      ASSERT_EQ(describe(as_model(working.best(query))), right) << "repeated";
      if (i < 15) {
        ASSERT_EQ(describe(as_model(Lookup(path.string(), options).best(query))), right) << "as the first question";
      }
      if (published) {
        ASSERT_EQ(describe(as_model(published->best(query))), right) << "published; " << describe(query);
      }
      if (i % 10 == 0) {
        const Explanation explanation = working.explain(query);
        ASSERT_EQ(describe(as_model(explanation.answer)), right) << "explained";
        for (const Consideration& one : explanation.considered) {
          ASSERT_EQ(one.obstacle == Obstacle::none, expected && one.candidate == *explanation.answer) << one.reason;
          ASSERT_EQ(one.reason.empty(), one.obstacle == Obstacle::none);
        }
      }
      if (expected) ++tiers[static_cast<std::size_t>(expected->tier)];
    }
  }
  for (std::size_t tier = 0; tier < tiers.size(); ++tier) {
    if (static_cast<Tier>(tier) == Tier::shipped) continue;  // lookup_predicted_test.cc asks such books
    EXPECT_GT(tiers[tier], 50) << "the questions should reach each tier: " << tier_name(static_cast<Tier>(tier));
  }
}

}  // namespace
}  // namespace tunebook::testing
