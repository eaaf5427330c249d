// Lookups in a merged book, published or not, are those that the rules give for the winners of all books together.

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "book_fixture.h"
#include "db/merge.h"
#include "db/publish.h"
#include "lookup_model.h"
#include "random_book.h"

namespace tunebook::testing {
namespace {

using MergeLookupTest = BookTest;

// Books written one after the other: what the second one saw first was seen after what the first one saw.
ModelBook together(const ModelBook& first, const ModelBook& second) {
  ModelBook both = first;
  both.winners.insert(both.winners.end(), second.winners.begin(), second.winners.end());
  const auto add = [](auto& known, const auto& more) {
    for (const auto& one : more) {
      if (std::find(known.begin(), known.end(), one) == known.end()) known.push_back(one);
    }
  };
  add(both.hashes, second.hashes);
  add(both.devices, second.devices);
  return both;
}

TEST_F(MergeLookupTest, AnswersAreThoseOfAllWinnersTogether) {
  constexpr int kRounds = 8, kQuestions = 80;
  int answered_by_second = 0;
  for (int round = 0; round < kRounds; ++round) {
    Dice dice(static_cast<std::uint64_t>(1000 + round));
    const std::filesystem::path first = file(fmt::format("first{}.db", round)), second = file(fmt::format("second{}.db", round));
    ModelBook of_first = random_book(dice, first);
    ModelBook of_second = random_book(dice, second);
    set_times(dice, first, of_first);
    set_times(dice, second, of_second);
    const ModelBook model = together(of_first, of_second);
    const std::filesystem::path merged = file(fmt::format("merged{}.db", round)), published = file(fmt::format("published{}.db", round));
    if (round % 2 == 0) {
      merge_books({first, second}, merged);
    } else {
      merge_books({second, first}, merged);
    }
    publish_book(merged, published);
    const Lookup working(merged.string()), sealed(published.string());
    for (int i = 0; i < kQuestions; ++i) {
      const Query query = random_query(dice, model);
      const std::optional<ModelAnswer> expected = model_best(model, query, kNearCap);
      ASSERT_EQ(describe(as_model(working.best(query))), describe(expected)) << describe(query) << ", round " << round;
      ASSERT_EQ(describe(as_model(sealed.best(query))), describe(expected)) << "published; " << describe(query) << ", round " << round;
      for (const ModelWinner& winner : of_second.winners) {
        if (expected && winner.session == expected->session) {
          ++answered_by_second;
          break;
        }
      }
    }
  }
  EXPECT_GT(answered_by_second, 50);
}

}  // namespace
}  // namespace tunebook::testing
