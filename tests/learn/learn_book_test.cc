#include "learn/learn_book.h"

#include <map>

#include <gtest/gtest.h>

#include "core/error.h"
#include "db/merge.h"
#include "db/publish.h"
#include "db/sqlite.h"
#include "simulated_kernel.h"

namespace tunebook::learn {
namespace {

using testing::Folder;
using testing::simulated_group;
using testing::SimulatedKernel;
using State = LearnedGroup::State;

TrainingGroup group_of(std::uint64_t seed, int problems = 6) {
  Random random(seed);
  std::map<std::string, Problem> drawn;
  while (drawn.size() < static_cast<std::size_t>(problems)) {
    const Problem one = SimulatedKernel::random_problem(random);
    drawn.emplace(one.canonical(), one);
  }
  std::vector<Problem> list;
  for (const auto& [text, one] : drawn) list.push_back(one);
  return simulated_group(list, 30, random);
}

// Learns, records, and tells what came of the only group.
LearnedGroup learn_once(const std::filesystem::path& book) {
  const LearnedBook learned = learn_from_book(book);
  if (learned.changed()) Store(book).replace_models(learned.fresh, learned.outdated);
  EXPECT_EQ(learned.groups.size(), 1U);
  return learned.groups.at(0);
}

TEST(LearnBook, LearnsOnceAndAgainWhenTrialsCome) {
  const Folder folder;
  const auto book = folder.file("book.db");
  testing::write_book(group_of(1), book);
  const LearnedGroup first = learn_once(book);
  EXPECT_EQ(first.state, State::learned);
  EXPECT_EQ(first.problems, 6U);
  EXPECT_GT(first.bytes, 0);
  const std::vector<ModelRecord> models = Store(book).models();
  ASSERT_EQ(models.size(), 1U);
  EXPECT_EQ(models[0].trials, static_cast<std::int64_t>(first.trials));
  EXPECT_EQ(TimeModel::decode(models[0].body, SimulatedKernel::spec(), "test").candidates.size(),
            first.candidates);

  const LearnedGroup second = learn_once(book);
  EXPECT_EQ(second.state, State::unchanged);
  EXPECT_EQ(second.expected_loss, first.expected_loss);
  EXPECT_EQ(second.candidates, first.candidates);
  EXPECT_EQ(Store(book).models(), models);

  testing::write_book(group_of(2, 7), book);
  EXPECT_EQ(learn_once(book).state, State::learned);
  ASSERT_EQ(Store(book).models().size(), 1U) << "it takes the old one's place";
  EXPECT_NE(Store(book).models()[0].body, models[0].body);
}

TEST(LearnBook, WhatIsNoLongerEnoughGoes) {
  const Folder folder;
  const auto book = folder.file("book.db");
  testing::write_book(group_of(1), book);
  learn_once(book);
  sqlite::Database(book, sqlite::Database::Mode::read_write)
      .execute("UPDATE trial SET outcome = 'wrong_result'");
  const LearnedGroup again = learn_once(book);
  EXPECT_EQ(again.state, State::none);
  EXPECT_EQ(again.reason, "0 problems with a verified time; 3 are needed");
  EXPECT_TRUE(Store(book).models().empty());
}

TEST(LearnBook, ADamagedModelIsLearnedAnewAndNotPublished) {
  const Folder folder;
  const auto book = folder.file("book.db");
  testing::write_book(group_of(1), book);
  learn_once(book);
  sqlite::Database(book, sqlite::Database::Mode::read_write)
      .execute("UPDATE model SET body = x'00'");
  EXPECT_EQ(publish_book(book, folder.file("published.db")).models, 0);
  EXPECT_EQ(learn_once(book).state, State::learned);
  EXPECT_EQ(publish_book(book, folder.file("published.db")).models, 1);
}

TEST(LearnBook, PublishingTakesModelsAlong) {
  const Folder folder;
  const auto book = folder.file("book.db"), published = folder.file("published.db");
  testing::write_book(group_of(1), book);
  EXPECT_EQ(publish_book(book, published).models, 0) << "publish_book() itself learns nothing";
  // What was learned, but not written into the book.
  const LearnedBook learned = learn_from_book(book);
  PublishOptions options;
  options.learned = learned.fresh;
  EXPECT_EQ(publish_book(book, published, options).models, 1);
  EXPECT_EQ(Store::models_in_file(published), learned.fresh);
  EXPECT_TRUE(Store(book).models().empty());
  // What is in the book.
  Store(book).replace_models(learned.fresh);
  EXPECT_EQ(publish_book(book, published).models, 1);
  EXPECT_EQ(Store::models_in_file(published), learned.fresh);
  options = {};
  options.outdated = learned.fresh;
  EXPECT_EQ(publish_book(book, published, options).models, 0);
  options = {};
  options.models = false;
  EXPECT_EQ(publish_book(book, published, options).models, 0);
  EXPECT_TRUE(Store::models_in_file(published).empty());
}

TEST(LearnBook, MergingLeavesModelsOut) {
  const Folder folder;
  testing::write_book(group_of(1), folder.file("one.db"));
  learn_once(folder.file("one.db"));
  testing::write_book(group_of(2), folder.file("target.db"));
  learn_once(folder.file("target.db"));
  const std::vector<ModelRecord> before = Store(folder.file("target.db")).models();
  merge_books({folder.file("one.db")}, folder.file("target.db"));
  EXPECT_EQ(Store(folder.file("target.db")).models(), before)
      << "the target's own stays until it is learned again";
  EXPECT_EQ(learn_once(folder.file("target.db")).state, State::learned);
  EXPECT_EQ(learn_once(folder.file("target.db")).problems, 12U);
  merge_books({folder.file("one.db")}, folder.file("new.db"));
  EXPECT_TRUE(Store(folder.file("new.db")).models().empty());
}

TEST(LearnBook, AModelOfNoKernelOfTheBookIsRefused) {
  const Folder folder;
  testing::write_book(group_of(1), folder.file("book.db"));
  ModelRecord stray;
  stray.kernel = 99;
  stray.device = 1;
  Store store(folder.file("book.db"));
  EXPECT_THROW(store.replace_models({stray}), InputError);
  stray.kernel = 1;
  stray.device = 99;
  EXPECT_THROW(store.replace_models({stray}), InputError);
  EXPECT_TRUE(store.models().empty());
}

TEST(LearnBook, UnknownKernelsAndOldBooks) {
  const Folder folder;
  testing::write_book(group_of(1), folder.file("book.db"));
  LearnBookOptions options;
  options.kernels = {"rowz"};
  EXPECT_THROW(learn_from_book(folder.file("book.db"), options), InputError);
  EXPECT_THROW(learn_from_book(folder.file("none.db")), InputError);
  for (const char* const name : {"version_1.db", "version_3.db"}) {
    std::filesystem::copy_file(
        std::filesystem::path(TUNEBOOK_SOURCE_DIR) / "tests/data/books" / name, folder.file(name));
    const LearnedBook learned = learn_from_book(folder.file(name));
    EXPECT_FALSE(learned.groups.empty()) << name;
    EXPECT_TRUE(learned.fresh.empty()) << "one problem is too little";
    EXPECT_TRUE(Store::models_in_file(folder.file(name)).empty());
  }
}

}  // namespace
}  // namespace tunebook::learn
