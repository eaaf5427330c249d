// Repeated questions: without allocation, by many threads, while the book changes; and what belongs to a Lookup's life.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "book_fixture.h"
#include "db/lookup_cache.h"
#include "db/lookup_limits.h"
#include "db/publish.h"
#include "db/store.h"
#include "tunebook/cuda_device.h"
#include "lookup_allocations.h"
#include "tunebook/lookup.h"

namespace tunebook::testing {
namespace {

using std::chrono::milliseconds;

Query question(std::int64_t m) {
  Query query;
  query.kernel = "matmul";
  query.problem = {{"m", m}, {"n", 64}, {"k", 64}, {"dtype", "f32"}};
  query.device = to_device_key(some_gpu());
  query.kernel_hash = "hash-1";
  return query;
}

class LookupRepeatTest : public BookTest {
 protected:
  void SetUp() override {
    BookTest::SetUp();
    Store store(file());
    for (std::int64_t m = 1; m <= 8; ++m) {
      add_finished_session(store, some_context(), matmul_problem(m * 64, 64, 64), tile(16), static_cast<double>(m), static_cast<std::uint64_t>(m));
    }
  }
};

TEST_F(LookupRepeatTest, ARepeatedQuestionAllocatesNothing) {
  const Lookup lookup(file().string());
  Query unanswerable = question(64);
  unanswerable.kernel = "unknown";
  const std::vector<Query> queries = {question(64), question(65), question(1 << 19), unanswerable};
  std::vector<std::shared_ptr<const Answer>> first;
  for (const Query& query : queries) {
    first.push_back(lookup.best(query));
  }
  ASSERT_TRUE(first[0] && first[1] && first[2]);
  EXPECT_EQ(first[0]->tier, Tier::exact);
  EXPECT_EQ(first[1]->tier, Tier::near);
  EXPECT_EQ(first[2]->tier, Tier::far);
  EXPECT_EQ(first[3], nullptr);
  const std::size_t before = allocations_of_this_thread();
  bool same = true;
  for (int i = 0; i < 1000; ++i) {
    for (std::size_t q = 0; q < queries.size(); ++q) {
      same = same && lookup.best(queries[q]) == first[q];
    }
  }
  const std::size_t after = allocations_of_this_thread();
  EXPECT_EQ(after - before, 0U);
  EXPECT_TRUE(same) << "the very same object each time";
}

TEST_F(LookupRepeatTest, AnAnswerOutlivesItsLookup) {
  std::shared_ptr<const Answer> answer;
  {
    const Lookup lookup(file().string());
    answer = lookup.best(question(64));
  }
  EXPECT_EQ(answer->kernel_hash, "hash-1");
  for (int i = 0; i < 20; ++i) {
    const Lookup lookup(file().string());
    EXPECT_EQ(*lookup.best(question(64)), *answer);
  }
}

TEST_F(LookupRepeatTest, ALookupCanBeMovedBetweenQuestions) {
  Lookup lookup(file().string());
  const auto answer = lookup.best(question(64));
  Lookup moved(std::move(lookup));
  EXPECT_EQ(moved.best(question(64)), answer);
  std::optional<Lookup> other(std::in_place, file().string());
  moved = std::move(*other);
  other.reset();
  EXPECT_EQ(*moved.best(question(64)), *answer);
}

TEST_F(LookupRepeatTest, MoreQuestionsThanAreKept) {
  LookupOptions options;
  options.kept_questions = 16;
  const Lookup lookup(file().string(), options);
  for (int round = 0; round < 3; ++round) {
    for (std::int64_t m = 1; m <= 300; ++m) {
      const auto answer = lookup.best(question(m));
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->distance == 0, m % 64 == 0) << m;
    }
  }
  options.kept_questions = 0;
  EXPECT_EQ(Lookup(file().string(), options).best(question(64))->tier, Tier::exact);
}

TEST_F(LookupRepeatTest, AThreadThatEndsLaterThanItsLookup) {
  auto lookup = std::make_unique<Lookup>(file().string());
  std::atomic<bool> asked = false, gone = false;
  std::thread thread([&] {
    lookup->best(question(64));
    asked = true;
    while (!gone) std::this_thread::yield();
    EXPECT_EQ(Lookup(file().string()).best(question(64))->tier, Tier::exact);
  });
  while (!asked) std::this_thread::yield();
  lookup.reset();
  gone = true;
  thread.join();
}

TEST_F(LookupRepeatTest, QuestionsThatDifferInAnythingAreDifferent) {
  AnswerTable table(64);
  const Query asked = question(64);
  const auto answer = std::make_shared<const Answer>();
  table.keep(7, asked, 1, answer);
  ASSERT_NE(table.find(7, asked, 1), nullptr);
  EXPECT_EQ(table.find(7, asked, 2), nullptr) << "of another state of the book";
  EXPECT_EQ(table.find(8, asked, 1), nullptr);
  const auto changed = [&](auto&& change) {
    Query other = asked;
    change(other);
    return table.find(7, other, 1) == nullptr;
  };
  EXPECT_TRUE(changed([](Query& q) { q.kernel = "m"; }));
  EXPECT_TRUE(changed([](Query& q) { q.problem[0].second = std::int64_t{65}; }));
  EXPECT_TRUE(changed([](Query& q) { q.problem[0].first = "M"; }));
  EXPECT_TRUE(changed([](Query& q) { q.problem.pop_back(); }));
  EXPECT_TRUE(changed([](Query& q) { q.problem[3].second = true; }));
  EXPECT_TRUE(changed([](Query& q) { q.device.kind = "cpu"; }));
  EXPECT_TRUE(changed([](Query& q) { q.device.name = "x"; }));
  EXPECT_TRUE(changed([](Query& q) { q.device.compute_capability = 80; }));
  EXPECT_TRUE(changed([](Query& q) { q.device.instruction_set = "x"; }));
  EXPECT_TRUE(changed([](Query& q) { q.device.sm_count = 1; }));
  EXPECT_TRUE(changed([](Query& q) { q.device.memory_gib = 1; }));
  EXPECT_TRUE(changed([](Query& q) { q.device.host_compiler = "x"; }));
  EXPECT_TRUE(changed([](Query& q) { q.device.max_threads_per_block = 1; }));
  EXPECT_TRUE(changed([](Query& q) { q.device.shared_bytes_per_block_optin = 1; }));
  EXPECT_TRUE(changed([](Query& q) { q.device.registers_per_block = 1; }));
  EXPECT_TRUE(changed([](Query& q) { q.kernel_hash = ""; }));
  EXPECT_TRUE(changed([](Query& q) { q.objective = "energy"; }));
  EXPECT_TRUE(changed([](Query& q) { q.method = "warm"; }));
  EXPECT_EQ(question_hash(asked), question_hash(question(64)));
  EXPECT_NE(question_hash(asked), question_hash(question(65)));
}

TEST_F(LookupRepeatTest, AChangeIsSeenWithinTheInterval) {
  publish_book(file(), file("out.db"));
  LookupOptions options;
  options.refresh_interval = milliseconds(200);
  const Lookup lookup(file("out.db").string(), options);
  EXPECT_EQ(lookup.best(question(64))->median_us, 1);
  std::string session;
  {
    Store store(file());
    session = add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(64), 0.5, 99);
  }
  publish_book(file(), file("out.db"));
  std::this_thread::sleep_for(milliseconds(210));
  EXPECT_EQ(lookup.best(question(64))->session, session);
}

TEST_F(LookupRepeatTest, ABookThatIsGoneStillAnswersWhatWasAsked) {
  publish_book(file(), file("out.db"));
  LookupOptions options;
  options.refresh_interval = milliseconds(0);
  const Lookup lookup(file("out.db").string(), options);
  const auto answer = lookup.best(question(64));
  std::filesystem::remove(file("out.db"));
  EXPECT_EQ(lookup.best(question(64)), answer);
  EXPECT_THROW(lookup.best(question(128)), std::runtime_error);
  publish_book(file(), file("out.db"));
  EXPECT_EQ(lookup.best(question(128))->tier, Tier::exact);
}

// Nobody has brought it up to date, nor may the reader: its tables are those of its time.
TEST_F(LookupRepeatTest, ABookOfVersion1IsReadAsItIs) {
  std::filesystem::copy_file(std::filesystem::path(TUNEBOOK_SOURCE_DIR) / "tests/data/books/version_1.db", file("old.db"));
  Query query;
  query.kernel = query_text(file("old.db"), "SELECT kernel.name FROM winner JOIN session ON session.id = session_id "
                                            "JOIN kernel ON kernel.id = kernel_id");
  const auto problem = nlohmann::json::parse(query_text(
      file("old.db"), "SELECT problem.json FROM winner JOIN session ON session.id = session_id JOIN problem ON problem.id = problem_id"));
  for (const auto& [name, value] : problem.items()) {
    query.problem.emplace_back(name, value.is_string() ? LookupValue(value.get<std::string>()) : LookupValue(value.get<std::int64_t>()));
  }
  query.device.kind = "";
  std::filesystem::permissions(file("old.db"), std::filesystem::perms::owner_read);
  const Lookup lookup(file("old.db").string());
  ASSERT_TRUE(lookup.best(query));
  EXPECT_EQ(lookup.best(query)->tier, Tier::exact);
  EXPECT_FALSE(lookup.explain(query).considered.empty());
  EXPECT_EQ(query_text(file("old.db"), "PRAGMA user_version"), "1");
}

TEST_F(LookupRepeatTest, WithoutAChangeAnswersStay) {
  LookupOptions options;
  options.refresh_interval = milliseconds(0);
  Store store(file());
  const SessionRecord session = store.open_session(some_context(), some_session(50), false);
  const Lookup lookup(file().string(), options);
  const auto answer = lookup.best(question(64));
  store.record_trial(session.id, some_context(), session.problem, timed_trial(0, tile(32), 10));
  EXPECT_EQ(lookup.best(question(64)), answer) << "a trial does not concern lookups";
  store.record_winner(some_context(), session.problem, some_winner(session.id, tile(64), 0.5));
  EXPECT_EQ(*lookup.best(question(64)), *answer) << "nor does a winner before its session is finished";
  store.finish_session(session.id, 1);
  EXPECT_EQ(lookup.best(question(64))->session, session.id);
}

// Threads ask while books are published; run under the thread sanitizer this shows that nothing is shared unguarded.
TEST_F(LookupRepeatTest, ManyThreadsWhileBooksArePublished) {
  publish_book(file(), file("out.db"));
  LookupOptions options;
  options.refresh_interval = milliseconds(2);
  const Lookup lookup(file("out.db").string(), options);
  std::atomic<bool> over = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::int64_t i = t; !over; ++i) {
        const std::int64_t m = 1 + i % 600;
        const auto answer = lookup.best(question(m));
        wrong += answer && (answer->tier == Tier::exact) == (m % 64 == 0 && m <= 512) ? 0 : 1;
      }
    });
  }
  for (int i = 0; i < 10; ++i) {
    publish_book(file(), file("out.db"));
    std::this_thread::sleep_for(milliseconds(20));
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(LookupRepeatTest, TheKeyOfACudaDevice) {
  // As cudaDeviceProp has them.
  struct {
    char name[256] = "NVIDIA H200";
    std::size_t totalGlobalMem = 150'123'456'789;
    std::size_t sharedMemPerBlockOptin = 232448;
    int major = 9, minor = 0, multiProcessorCount = 132, maxThreadsPerBlock = 1024, regsPerBlock = 65536;
  } properties;
  DeviceKey expected = to_device_key(some_gpu());
  EXPECT_EQ(device_key(properties), expected);
}

}  // namespace
}  // namespace tunebook::testing
