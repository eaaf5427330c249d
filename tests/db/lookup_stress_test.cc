// Reader processes while books are published or written. $TUNEBOOK_STRESS_SECONDS: how long each test runs (20).

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "book_fixture.h"
#include "db/lookup_limits.h"
#include "db/publish.h"
#include "db/store.h"
#include "tunebook/lookup.h"

namespace tunebook::testing {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kReaders = 8;
constexpr milliseconds kInterval{500};
// A machine with fewer cores than processes lets a reader wait between looking at the clock and asking, never the other way round.
constexpr int kMostEditions = 4096;

double stress_seconds() {
  const char* const text = std::getenv("TUNEBOOK_STRESS_SECONDS");
  return text != nullptr ? std::atof(text) : 20;
}

// Seen by all processes. An edition is a state of the book in which every problem's winner has the edition's number as its time.
struct Board {
  std::atomic<int> editions{0};
  std::atomic<std::int64_t> appeared_ns[kMostEditions] = {};  // when the edition was there for all to read
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> questions{0}, exact{0}, near{0}, changes{0};
  std::atomic<int> failures{0};
  char message[400] = {};
  static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

  void fail(const std::string& what) {
    if (failures++ == 0) std::snprintf(message, sizeof message, "%s", what.c_str());
  }
  void appeared(int edition) {
    appeared_ns[edition] = Clock::now().time_since_epoch().count();
    editions = edition;
  }
  // The newest edition that a lookup must know by now.
  int due() const {
    const std::int64_t before = (Clock::now() - kInterval).time_since_epoch().count();
    int edition = editions;
    while (edition > 0 && appeared_ns[edition] > before) --edition;
    return edition;
  }
};

class LookupStressTest : public BookTest {
 protected:
  void SetUp() override {
    BookTest::SetUp();
    void* const memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    board_ = new (memory) Board;
  }
  void TearDown() override {
    munmap(board_, sizeof(Board));
    BookTest::TearDown();
  }

  // Runs `body` in a process of its own.
  void start(const std::function<void()>& body) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        body();
      } catch (const std::exception& error) {
        board_->fail(error.what());
      }
      _exit(0);
    }
    children_.push_back(child);
  }

  // Lets readers of the book ask until the time is over; `write` is called with ever higher numbers of editions meanwhile.
  void run(const std::filesystem::path& book, const std::function<void(int edition)>& write) {
    for (int i = 0; i < kReaders; ++i) {
      start([&, i] { read(book, i); });
    }
    const auto end = Clock::now() + std::chrono::duration<double>(stress_seconds());
    try {
      for (int edition = board_->editions + 1; Clock::now() < end && edition < kMostEditions && board_->failures == 0; ++edition) {
        write(edition);
      }
    } catch (const std::exception& error) {
      board_->fail(fmt::format("writer: {}", error.what()));
    }
    board_->over = true;
    for (const pid_t child : children_) {
      int status = 0;
      waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(board_->failures, 0) << board_->message;
    fmt::print("{} editions, {} questions ({} exact, {} near), {} changes seen by {} readers\n", board_->editions.load(),
               board_->questions.load(), board_->exact.load(), board_->near.load(), board_->changes.load(), kReaders);
    EXPECT_GT(board_->changes, kReaders);
  }

  void read(const std::filesystem::path& book, int number) {
    LookupOptions options;
    options.refresh_interval = kInterval;
    std::vector<int> seen(kProblems * 2);
    auto lookup = std::make_unique<Lookup>(book.string(), options);
    for (std::int64_t i = number; !board_->over; ++i) {
      if (i % 5000 == 0) lookup = std::make_unique<Lookup>(book.string(), options);  // opening is part of it
      const auto which = static_cast<std::size_t>(i % static_cast<std::int64_t>(seen.size()));
      const int due = board_->due();
      const auto answer = lookup->best(question(static_cast<int>(which)));
      check(answer.get(), which >= kProblems ? Tier::near : Tier::exact, due, seen[which]);
      ++board_->questions;
      ++(which >= kProblems ? board_->near : board_->exact);
      if (i % 50 == 0) std::this_thread::sleep_for(milliseconds(1));
    }
  }

  void check(const Answer* answer, Tier tier, int due, int& seen) {
    if (answer == nullptr || answer->tier != tier || !answer->median_us) {
      board_->fail(fmt::format("expected an answer of tier {}, got {}", tier_name(tier), answer != nullptr ? tier_name(answer->tier) : "nothing"));
      return;
    }
    const int edition = static_cast<int>(*answer->median_us);
    if (answer->configuration != tile_of(edition).items() || answer->ci_low_us != edition - 1 || answer->ci_high_us != edition + 1) {
      board_->fail(fmt::format("a torn answer: edition {}", edition));
    }
    if (edition < due) board_->fail(fmt::format("an old answer: edition {}, {} was there {} ms before", edition, due, kInterval.count()));
    if (edition < seen) board_->fail(fmt::format("edition {} after {}", edition, seen));
    board_->changes += edition != seen ? 1 : 0;
    seen = edition;
  }

  // A session for each problem.
  static void add_edition(Store& store, int edition) {
    for (int i = 0; i < static_cast<int>(kProblems); ++i) {
      add_finished_session(store, some_context(), problem(i), tile_of(edition), edition, static_cast<std::uint64_t>(edition * 100 + i));
    }
  }

  static Problem problem(int number) { return matmul_problem(64 << (4 * number), 64, 64); }
  static Configuration tile_of(int edition) { return tile(std::int64_t{16} << (edition % 3), edition % 2 == 1); }
  // The first kProblems are tuned, the others are near them.
  static Query question(int number) {
    const bool near = number >= static_cast<int>(kProblems);
    Query query;
    query.kernel = "matmul";
    query.problem = problem(number % static_cast<int>(kProblems)).items();
    if (near) query.problem[1].second = std::int64_t{65};
    query.device = to_device_key(some_gpu());
    query.kernel_hash = "hash-1";
    return query;
  }

  static constexpr std::size_t kProblems = 3;
  Board* board_ = nullptr;
  std::vector<pid_t> children_;
};

TEST_F(LookupStressTest, ABookIsPublishedEverySecond) {
  Store store(file());
  add_edition(store, 1);
  publish_book(file(), file("published.db"));
  board_->appeared(1);
  run(file("published.db"), [&](int edition) {
    const auto next = Clock::now() + milliseconds(1000);
    add_edition(store, edition);
    publish_book(file(), file("published.db"));
    board_->appeared(edition);
    while (Clock::now() < next && board_->failures == 0) std::this_thread::sleep_for(milliseconds(5));
  });
}

TEST_F(LookupStressTest, AWorkingBookIsWrittenAThousandTimesASecond) {
  auto store = std::make_unique<Store>(file());
  add_edition(*store, 1);
  board_->appeared(1);
  std::int64_t trials = 0;
  const auto begin = Clock::now();
  run(file(), [&](int edition) {
    const SessionRecord session = store->open_session(some_context(), some_session(static_cast<std::uint64_t>(edition) + 1'000'000), true);
    for (int i = 0; i < 500; ++i) {
      store->record_trial(session.id, some_context(), session.problem, timed_trial(i, tile(16), 10));
      ++trials;
      const auto pace = begin + std::chrono::duration<double>(static_cast<double>(trials) / 1000);
      if (Clock::now() < pace) std::this_thread::sleep_until(pace);
    }
    add_edition(*store, edition);
    board_->appeared(edition);
    if (edition % 10 == 0) store = std::make_unique<Store>(file());  // a session ends, another program begins
  });
  fmt::print("{} trials in {:.1f} s\n", trials, std::chrono::duration<double>(Clock::now() - begin).count());
}

}  // namespace
}  // namespace tunebook::testing
