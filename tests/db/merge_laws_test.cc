// Merging random books is the union of their content: idempotent, commutative, associative.

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "book_content.h"
#include "book_fixture.h"
#include "db/merge.h"
#include "db/sqlite.h"
#include "db/store.h"
#include "growing_book.h"

namespace tunebook::testing {
namespace {

using Paths = std::vector<std::filesystem::path>;

class MergeLawsTest : public BookTest {
 protected:
  // Copies of one book that grew apart, and one that has nothing in common with them.
  Paths random_books(Dice& dice, int round) const {
    const std::filesystem::path base = file(fmt::format("{}-base.db", round));
    grow_book(dice, base, static_cast<int>(1 + dice.below(6)));
    Paths books;
    for (int i = 0; i < 3; ++i) {
      books.push_back(file(fmt::format("{}-{}.db", round, i)));
      copy_book(base, books.back());
      grow_book(dice, books.back(), static_cast<int>(dice.below(6)));
    }
    if (dice.chance(50)) {  // a later copy of one of them
      books.push_back(file(fmt::format("{}-later.db", round)));
      copy_book(books.front(), books.back());
      grow_book(dice, books.back(), static_cast<int>(dice.below(4)));
    }
    books.push_back(file(fmt::format("{}-other.db", round)));
    grow_book(dice, books.back(), static_cast<int>(dice.below(5)));
    return books;
  }
  std::filesystem::path new_book() { return file(fmt::format("merged-{}.db", ++merged_)); }
  std::filesystem::path merge(const Paths& books) {
    const std::filesystem::path target = new_book();
    MergeOptions options;
    options.rows_per_transaction = 20 + 7 * (merged_ % 10);
    merge_books(books, target, options);
    return target;
  }

 private:
  int merged_ = 0;
};

BookContent union_of_all(const Paths& books) {
  BookContent all;
  for (const std::filesystem::path& book : books) {
    all = union_of(all, read_content(book));
  }
  return all;
}

void shuffle(Dice& dice, Paths& books) {
  for (std::size_t i = books.size(); i > 1; --i) {
    std::swap(books[i - 1], books[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(i)))]);
  }
}

// What is read of each session, newest measurements and all.
std::map<std::string, std::string> answers(const std::filesystem::path& path, const BookContent& content) {
  const Store store(path);
  std::map<std::string, std::string> result;
  for (const auto& [uid, session] : content.sessions) {
    std::string& text = result[uid];
    for (const TrialRecord& trial : store.session_trials(uid)) {
      text += fmt::format("{} {} {} {} {}\n", trial.order, trial.configuration.canonical(), outcome_name(trial.outcome), trial.median_us.value_or(0),
                          trial.resources.registers);
    }
    for (const auto& [outcome, count] : store.session_outcomes(uid)) {
      text += fmt::format("{} {}\n", outcome_name(outcome), count);
    }
    if (const auto winner = store.session_winner(uid)) {
      text += fmt::format("{} {} {}\n", winner->configuration.canonical(), winner->objective, winner->median_us);
    }
    for (const ProfileRecord& profile : store.session_profiles(uid)) {
      text += fmt::format("{} {}\n", profile.order, profile.metrics.dump());
    }
  }
  return result;
}

TEST_F(MergeLawsTest, TheMergedBookIsTheUnionInAnyOrderAndGrouping) {
  constexpr int kRounds = 6;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    Dice dice(static_cast<std::uint64_t>(round));
    Paths books = random_books(dice, round);
    std::vector<std::string> before;
    for (const std::filesystem::path& book : books) {
      before.push_back(file_bytes(book));
    }
    const BookContent expected = union_of_all(books);
    const std::filesystem::path in_order = merge(books);
    ASSERT_EQ(difference(read_content(in_order), expected), "");
    EXPECT_TRUE(Store(in_order).check().problems.empty());
    for (std::size_t i = 0; i < books.size(); ++i) {
      EXPECT_EQ(file_bytes(books[i]), before[i]) << "a source was changed: " << books[i];
    }

    // Again: nothing is new.
    EXPECT_EQ(merge_books(books, in_order).added, MergeCounts());
    EXPECT_EQ(merge_books({in_order}, in_order).added, MergeCounts());
    ASSERT_EQ(difference(read_content(in_order), expected), "");

    const auto said = answers(in_order, expected);
    for (int i = 0; i < 2; ++i) {
      // In another order, one after the other, some into a book that is a source's copy.
      shuffle(dice, books);
      const std::filesystem::path other = new_book();
      copy_book(books.front(), other);
      for (const std::filesystem::path& book : books) {
        merge_books({book}, other);
      }
      ASSERT_EQ(difference(read_content(other), expected), "");
      ASSERT_EQ(answers(other, expected), said) << "which measurement counts depends on the order of merging";
      // Grouped: the merged book of some with the merged book of the others, which overlap.
      const auto middle = books.begin() + 1 + dice.below(static_cast<std::int64_t>(books.size()) - 1);
      ASSERT_EQ(difference(read_content(merge({merge(Paths(books.begin(), middle)), merge(Paths(middle - 1, books.end()))})), expected), "");
    }
  }
}

TEST_F(MergeLawsTest, TheModelNoticesWhatAMergeMightGetWrong) {
  Dice dice(1);
  grow_book(dice, file(), 10);
  const BookContent whole = read_content(file());
  for (const char* const harm :
       {"DELETE FROM profile; DELETE FROM trial WHERE id = (SELECT max(id) FROM trial WHERE id NOT IN (SELECT coalesce(trial_id, 0) FROM winner))",
        "UPDATE trial SET samples_us = x'' WHERE id = (SELECT max(id) FROM trial WHERE samples_us != x'')", "UPDATE session SET wall_seconds = wall_seconds + 1 WHERE id = 1",
        "UPDATE session SET finished_utc = NULL", "INSERT INTO winner SELECT NULL, session_id, trial_id, configuration_id, objective, median_us, "
        "ci_low_us, ci_high_us, gflops, gbps, energy_j, registers, shared_bytes, recorded_utc FROM winner LIMIT 1",
        "UPDATE device SET json = '{}' WHERE id = 1", "DELETE FROM requirement", "UPDATE trial SET environment_id = 3 - environment_id WHERE environment_id < 3"}) {
    copy_book(file(), file("harmed.db"));
    ASSERT_EQ(run_sql(file("harmed.db"), harm), "") << harm;
    EXPECT_NE(difference(read_content(file("harmed.db")), whole), "") << harm;
  }
}

// A table that is added to the schema has to be merged: by whom and by what rule is decided when this fails.
// Models are derived and left out.
TEST_F(MergeLawsTest, EveryTableOfTheSchemaIsKnown) {
  { const Store store(file()); }
  EXPECT_EQ(query_text(file(), "SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name)"),
            "baseline,ceiling,configuration,device,environment,finalist,kernel,model,problem,profile,publication,requirement,session,trial,winner");
}

}  // namespace
}  // namespace tunebook::testing
