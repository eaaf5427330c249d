// What applications learned, taken into a book.

#include "db/learned_trials.h"

#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "book_fixture.h"
#include "core/error.h"
#include "db/merge.h"
#include "db/store.h"
#include "tunebook/lookup.h"

namespace tunebook::testing {
namespace {

class LearnedTrials : public BookTest {
 protected:
  void SetUp() override {
    BookTest::SetUp();
    Store store(book());
    add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(32), 10);
  }
  std::filesystem::path book() const { return file("book.db"); }
  std::filesystem::path learned() const { return file("learned.jsonl"); }
  static nlohmann::ordered_json line(std::int64_t m, std::int64_t bm, const std::vector<double>& samples, const std::string& second = "01") {
    return {{"kernel", "matmul"},
            {"problem", {{"m", m}, {"n", 64}, {"k", 64}, {"dtype", "f32"}}},
            {"device", {{"kind", "cuda"}, {"name", "NVIDIA H200"}, {"compute_capability", 90}, {"sm_count", 132}, {"memory_gib", 140}}},
            {"kernel_hash", "hash-1"},
            {"objective", "time"},
            {"method", "cold/1"},
            {"configuration", {{"BM", bm}, {"PAD", false}}},
            {"outcome", samples.empty() ? "wrong_result" : "ok"},
            {"message", samples.empty() ? "c[3] is 1, but 2" : ""},
            {"median_us", nullptr},
            {"samples", samples.size()},
            {"samples_us", samples},
            {"registers", 40},
            {"asked_utc", "2026-11-30T10:00:" + second + ".000000Z"},
            {"source", "launch"}};
  }
  void write(const std::string& text) const { std::ofstream(learned()) << text; }
  void write_two() const {
    write(line(128, 32, {3, 1, 2}).dump() + "\n" + line(128, 16, {}).dump() + "\n" + line(256, 64, {5}, "02").dump() + "\n");
  }
  std::string ask(const std::string& sql) const { return query_text(book(), sql); }
};

TEST_F(LearnedTrials, AreTrialsWithoutAWinner) {
  write_two();
  EXPECT_TRUE(is_learned_file(learned()));
  EXPECT_FALSE(is_learned_file(book()));
  const LearnedResult result = merge_learned(learned(), book());
  EXPECT_EQ(result.refinements, 2);
  EXPECT_EQ(result.refinements_added, 2);
  EXPECT_EQ(result.trials_added, 3);
  EXPECT_EQ(result.passed_over, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM session WHERE strategy = 'launch' AND toolchain = 'launch' AND finished_utc IS NOT NULL"), "2");
  EXPECT_EQ(ask("SELECT median_us || ' ' || min_us || ' ' || registers || ' ' || verified_problems FROM trial WHERE origin = 'launch' ORDER BY id"),
            "2.0 1.0 40 0");
  EXPECT_EQ(ask("SELECT group_concat(outcome, ',') FROM (SELECT outcome FROM trial WHERE origin = 'launch' ORDER BY id)"), "ok,wrong_result,ok");
  EXPECT_EQ(ask("SELECT count(*) FROM device"), "1") << "the book's device with its limits";
  // No exact answer, and no result that a session would reuse.
  const Lookup lookup(book().string());
  Query query;
  query.kernel = "matmul";
  query.problem = {{"m", std::int64_t{128}}, {"n", std::int64_t{64}}, {"k", std::int64_t{64}}, {"dtype", std::string("f32")}};
  query.device.name = "NVIDIA H200";
  EXPECT_EQ(lookup.best(query)->tier, Tier::near);
  EXPECT_FALSE(Store(book()).find_trial(some_context(), matmul_problem(128, 64, 64), tile(32)).has_value());
  EXPECT_TRUE(Store(book()).check().problems.empty());
}

TEST_F(LearnedTrials, TheSameFileAgainChangesNothing) {
  write_two();
  merge_learned(learned(), book());
  const LearnedResult again = merge_learned(learned(), book());
  EXPECT_EQ(again.refinements, 2);
  EXPECT_EQ(again.trials, 3);
  EXPECT_EQ(again.refinements_added, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM trial WHERE origin = 'launch'"), "3");
  // Nor by way of another book.
  {
    Store store(file("other.db"));
    add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(32), 10, 7);
  }
  merge_learned(learned(), file("other.db"));
  const MergeResult merged = merge_books({file("other.db")}, book());
  EXPECT_EQ(merged.added.sessions, 1);
  EXPECT_EQ(ask("SELECT count(*) FROM trial WHERE origin = 'launch'"), "3");
}

TEST_F(LearnedTrials, LinesThatCannotBeUsedArePassedOverAndSaid) {
  auto other_version = line(128, 32, {1});
  other_version["kernel_hash"] = "hash-2";
  auto no_times = line(128, 32, {1});
  no_times["samples_us"] = nlohmann::json::array();
  auto undeclared = line(128, 48, {1});
  auto late = line(128, 32, {1});
  late["asked_utc"] = "tomorrow";
  write("{\"kernel\": \"mat\n" + other_version.dump() + "\n\n" + no_times.dump() + "\n" + undeclared.dump() + "\n" + late.dump() + "\n[1]\n" +
        "{\"kernel\": \"matmul\", \"tier\": \"near\"}\n" + line(128, 32, {1}).dump());
  const LearnedResult result = merge_learned(learned(), book());
  EXPECT_EQ(result.trials_added, 1);
  EXPECT_EQ(result.passed_over, 7);
  ASSERT_EQ(result.notes.size(), 7U);
  EXPECT_NE(result.notes[0].find("learned.jsonl:1: "), std::string::npos);
  EXPECT_NE(result.notes[1].find("learned.jsonl:2: the book has no kernel matmul of version hash-2"), std::string::npos) << result.notes[1];
  EXPECT_NE(result.notes[2].find(":4: /samples_us: outcome ok with 0 times"), std::string::npos) << result.notes[2];
  EXPECT_NE(result.notes[3].find("BM"), std::string::npos) << result.notes[3];
  EXPECT_NE(result.notes[4].find("/asked_utc: expected a time"), std::string::npos);
  EXPECT_NE(result.notes[6].find("a log of misses is for a sweep's"), std::string::npos);
}

TEST_F(LearnedTrials, WhatIsOfNoUseAtAllIsAnError) {
  write("{}\n");
  EXPECT_NE(error_of([&] { merge_learned(learned(), book()); }).find("no line can be used: "), std::string::npos);
  write("\n");
  EXPECT_NE(error_of([&] { merge_learned(learned(), book()); }).find("found no line in it"), std::string::npos);
  write_two();
  EXPECT_NE(error_of([&] { merge_learned(learned(), file("none.db")); }).find("no such book"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file("none.db")));
  EXPECT_THROW(merge_learned(file("missing.jsonl"), book()), InputError);
}

// Damage anywhere is passed over or said, and leaves a sound book.
TEST_F(LearnedTrials, DamagedFiles) {
  write_two();
  const std::string right = file_bytes(learned());
  std::mt19937 random(20261201);
  for (int round = 0; round < 300; ++round) {
    std::string text = right;
    for (int change = 0; change < 1 + round % 4; ++change) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1 + random() % 30); break;
        case 2: text.insert(at, text.substr(random() % text.size(), random() % 40)); break;
        default: text.resize(at + 1);
      }
    }
    write(text);
    try {
      const LearnedResult result = merge_learned(learned(), book());
      EXPECT_GT(result.trials, 0);
    } catch (const InputError&) {
      // Nothing of it could be used.
    }
  }
  EXPECT_TRUE(Store(book()).check().problems.empty());
  EXPECT_EQ(ask("SELECT count(*) FROM winner"), "1");
}

}  // namespace
}  // namespace tunebook::testing
