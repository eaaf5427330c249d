#include "tunebook/lookup.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "book_fixture.h"
#include "db/lookup_limits.h"
#include "db/store.h"

namespace tunebook::testing {
namespace {

LookupOptions seeing_at_once() {
  LookupOptions options;
  options.refresh_interval = std::chrono::milliseconds(0);
  return options;
}

class LookupTest : public BookTest {
 protected:
  Query query(std::int64_t m = 64, std::int64_t n = 64, std::int64_t k = 64) const {
    Query query;
    query.kernel = "matmul";
    query.problem = {{"m", m}, {"n", n}, {"k", k}};
    query.device = gpu_;
    return query;
  }
  std::shared_ptr<const Answer> best(const Query& asked) const { return Lookup(file().string()).best(asked); }

  DeviceKey gpu_ = to_device_key(some_gpu());
};

std::int64_t tile_of(const std::shared_ptr<const Answer>& answer) {
  return answer ? std::get<std::int64_t>(answer->configuration.at(0).second) : -1;
}

TEST_F(LookupTest, ExactIsTheWinnerOfThisProblemOnThisDevice) {
  std::string session;
  {
    Store store(file());
    session = add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(32, true), 10.5);
  }
  const auto answer = best(query());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->tier, Tier::exact);
  EXPECT_STREQ(tier_name(answer->tier), "exact");
  EXPECT_EQ(answer->distance, 0);
  EXPECT_EQ(answer->configuration, (LookupValues{{"BM", std::int64_t{32}}, {"PAD", true}}));
  EXPECT_EQ(answer->problem, matmul_problem(64, 64, 64).items()) << "in declared order, dtype by default";
  EXPECT_EQ(answer->device.name, "NVIDIA H200");
  EXPECT_EQ(answer->device.shared_bytes_per_block_optin, 232448);
  EXPECT_EQ(answer->median_us, 10.5);
  EXPECT_EQ(answer->session, session);
  EXPECT_EQ(answer->kernel_hash, "hash-1");
  EXPECT_EQ(answer->tuned_at_utc.size(), 27U);
}

TEST_F(LookupTest, AnotherProblemDeviceMethodOrObjectiveIsNotExact) {
  {
    Store store(file());
    add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(32), 10);
  }
  EXPECT_EQ(best(query())->tier, Tier::exact);
  EXPECT_EQ(best(query(64, 64, 65))->tier, Tier::near);
  Query other = query();
  other.problem.emplace_back("dtype", "f16");
  EXPECT_EQ(best(other)->tier, Tier::preset_default);
  const auto with_device = [&](auto&& change) {
    Query changed = query();
    change(changed.device);
    return best(changed)->tier;
  };
  EXPECT_EQ(with_device([](DeviceKey& key) { key.name = "NVIDIA H200 MIG 1g.18gb"; }), Tier::same_architecture);
  EXPECT_EQ(with_device([](DeviceKey& key) { key.sm_count = 16; }), Tier::same_architecture);
  EXPECT_EQ(with_device([](DeviceKey& key) { key.memory_gib = 18; }), Tier::same_architecture);
  EXPECT_EQ(with_device([](DeviceKey& key) { key.compute_capability = 100; }), Tier::preset_default);
  EXPECT_EQ(with_device([](DeviceKey& key) { key.kind = "cpu"; }), Tier::preset_default);
  EXPECT_EQ(with_device([](DeviceKey& key) { key = DeviceKey{.compute_capability = 90}; }), Tier::exact)
      << "what is not given is not compared";
  other = query();
  other.method = "warm";
  EXPECT_EQ(best(other)->tier, Tier::preset_default);
  other.method = "col";
  EXPECT_EQ(best(other)->tier, Tier::preset_default);
  other = query();
  other.objective = "energy";
  EXPECT_EQ(best(other)->tier, Tier::preset_default);
}

TEST_F(LookupTest, AWinnerOfAnUnfinishedSessionDoesNotCount) {
  {
    Store store(file());
    const SessionRecord session = store.open_session(some_context(), some_session(), false);
    store.record_winner(some_context(), session.problem, some_winner(session.id, tile(32), 10));
  }
  EXPECT_EQ(best(query())->tier, Tier::preset_default);
}

TEST_F(LookupTest, OfSeveralWinnersTheLatestFinishedThenTheSmallerId) {
  std::string first, second;
  {
    Store store(file());
    first = add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(32), 10, 1);
    second = add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(64), 11, 2);
  }
  EXPECT_EQ(best(query())->session, second);
  ASSERT_EQ(run_sql(file(), "UPDATE session SET finished_utc = '2030-01-01T00:00:00.000000Z'"), "");
  EXPECT_EQ(best(query())->session, std::min(first, second));
  ASSERT_EQ(run_sql(file(), "UPDATE session SET finished_utc = '2031-01-01T00:00:00.000000Z' WHERE uid = '" + first + "'"), "");
  EXPECT_EQ(best(query())->session, first);
}

TEST_F(LookupTest, TheAskedHashComesFirstAndStaleIsTold) {
  TrialContext newer = some_context();
  newer.kernel_hash = "hash-2";
  {
    Store store(file());
    add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(32), 10);
    add_finished_session(store, newer, matmul_problem(64, 64, 64), tile(64), 11);
  }
  Query asked = query();
  EXPECT_EQ(tile_of(best(asked)), 64);
  EXPECT_EQ(best(asked)->stale, Stale::unknown);
  asked.kernel_hash = "hash-1";
  EXPECT_EQ(tile_of(best(asked)), 32);
  EXPECT_EQ(best(asked)->stale, Stale::no);
  asked.kernel_hash = "hash-3";
  EXPECT_EQ(tile_of(best(asked)), 64);
  EXPECT_EQ(best(asked)->stale, Stale::yes);
  asked.problem = {{"m", 1}, {"n", 1}, {"k", 1}};
  EXPECT_EQ(best(asked)->tier, Tier::preset_default);
  EXPECT_EQ(best(asked)->stale, Stale::yes);
}

TEST_F(LookupTest, ConstraintsAndLimitsOfTheActualDeviceAreChecked) {
  {
    Store store(file());
    add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(16), 12, 1);
    add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(64), 10, 2);
  }
  EXPECT_EQ(tile_of(best(query())), 64);
  Query asked = query();
  asked.device.shared_bytes_per_block_optin = 8192;  // 64 * 64 * 4 does not fit
  EXPECT_EQ(tile_of(best(asked)), 16);
  EXPECT_EQ(best(asked)->tier, Tier::exact);
  asked = query();
  asked.device.max_threads_per_block = 128;  // 64 * 4 threads do not fit
  EXPECT_EQ(tile_of(best(asked)), 16);
  asked = query();
  asked.device.registers_per_block = 8192;  // 40 registers * 256 threads do not fit, 40 * 64 do
  EXPECT_EQ(tile_of(best(asked)), 16);
  asked.device.registers_per_block = 1024;
  EXPECT_EQ(best(asked)->tier, Tier::preset_default) << "nothing is recorded of the preset's registers";
  asked.device.max_threads_per_block = 32;
  EXPECT_FALSE(best(asked));
}

TEST_F(LookupTest, ARecordedConfigurationMustBeValid) {
  {
    Store store(file());
    add_finished_session(store, some_context(), matmul_problem(48, 64, 64), tile(32), 10, 1);  // 48 % 32 != 0
    add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(48), 10, 2);  // not a declared value
  }
  EXPECT_EQ(best(query(48))->tier, Tier::preset_default);
  EXPECT_EQ(best(query())->tier, Tier::near) << "the other one is valid here";
  EXPECT_EQ(best(query())->problem, matmul_problem(48, 64, 64).items());
}

TEST_F(LookupTest, DefaultIsThePresetOfAKernelThatWasOnlyOpened) {
  {
    Store store(file());
    store.open_session(some_context(), some_session(), false);
  }
  const auto answer = best(query(100, 200, 300));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->tier, Tier::preset_default);
  EXPECT_STREQ(tier_name(answer->tier), "default");
  EXPECT_EQ(answer->configuration, (LookupValues{{"BM", std::int64_t{16}}, {"PAD", false}}));
  EXPECT_TRUE(answer->problem.empty());
  EXPECT_EQ(answer->median_us, std::nullopt);
  EXPECT_EQ(answer->kernel_hash, "hash-1");
}

TEST_F(LookupTest, DefaultComesFromTheNewestDeclaration) {
  TrialContext newer = some_context();
  newer.kernel_hash = "hash-2";
  newer.kernel_spec["presets"]["default"]["PAD"] = true;
  newer.kernel_spec["launch"]["shared_bytes"] = "8192";
  {
    Store store(file());
    store.open_session(some_context(), some_session(), false);
    store.open_session(newer, some_session(), false);
  }
  const LookupValues padded = {{"BM", std::int64_t{16}}, {"PAD", true}};
  EXPECT_EQ(best(query())->configuration, padded);
  Query asked = query();
  asked.device.shared_bytes_per_block_optin = 4096;
  EXPECT_FALSE(best(asked)) << "an older version's preset does not stand in";
  asked.kernel_hash = "hash-1";
  EXPECT_EQ(tile_of(best(asked)), 16);
}

TEST_F(LookupTest, TheProblemChoosesTheDefault) {
  TrialContext context = some_context();
  context.kernel_spec["presets"] = nlohmann::ordered_json::parse(R"({
    "wide": {"BM": 64, "PAD": true}, "narrow": {"BM": 32, "PAD": false}, "general": {"BM": 16, "PAD": false},
    "default": [{"when": "m >= 512 and dtype == 'f32'", "preset": "wide"}, {"when": "m >= 256 and device.sm_count > 100", "preset": "narrow"},
                {"preset": "general"}]})");
  {
    Store store(file());
    const std::string session = store.open_session(context, some_session(), false).id;
    TrialRecord wide = timed_trial(0, tile(64, true), 30);
    wide.origin = "preset:wide";
    wide.resources.registers = 200;
    store.record_trial(session, context, matmul_problem(64, 64, 64), wide);
  }
  const auto asked = [&](std::int64_t m, const char* dtype) {
    Query question = query(m);
    question.problem.emplace_back("dtype", dtype);
    return question;
  };
  EXPECT_EQ(tile_of(best(asked(64, "f32"))), 16);
  EXPECT_EQ(tile_of(best(asked(256, "f32"))), 32);
  EXPECT_EQ(tile_of(best(asked(512, "f16"))), 32);
  const auto chosen = best(asked(512, "f32"));
  EXPECT_EQ(tile_of(chosen), 64);
  EXPECT_EQ(chosen->tier, Tier::preset_default);
  EXPECT_EQ(chosen->registers_per_thread, 200)
      << "what was recorded of the chosen preset goes with it";
  EXPECT_EQ(best(asked(256, "f32"))->registers_per_thread, std::nullopt);

  // Too little for what was recorded: the next choice counts.
  Query small = asked(512, "f32");
  small.device.registers_per_block = 40000;
  EXPECT_EQ(tile_of(best(small)), 32);
  Query few = asked(512, "f16");
  few.device.sm_count = 50;
  EXPECT_EQ(tile_of(best(few)), 16);
}

TEST_F(LookupTest, TheApplicationCanBringTheDeclaration) {
  { Store store(file()); }
  EXPECT_FALSE(best(query()));
  const Lookup lookup(file().string(), LookupOptions{kSpecText});
  EXPECT_EQ(lookup.best(query())->tier, Tier::preset_default);
  EXPECT_EQ(lookup.best(query())->stale, Stale::unknown);
  Query other = query();
  other.kernel = "other";
  EXPECT_FALSE(lookup.best(other));
  EXPECT_THROW(Lookup(file().string(), LookupOptions{"{"}), std::runtime_error);
}

TEST_F(LookupTest, QuestionsThatCannotBeUnderstoodAreErrors) {
  {
    Store store(file());
    store.open_session(some_context(), some_session(), false);
  }
  EXPECT_THROW(best(Query{}), std::invalid_argument);
  Query asked = query();
  asked.problem.pop_back();
  EXPECT_NE(error_of([&] { best(asked); }).find("size k"), std::string::npos);
  asked = query();
  asked.problem.emplace_back("depth", std::int64_t{1});
  EXPECT_NE(error_of([&] { best(asked); }).find("depth"), std::string::npos);
  EXPECT_THROW(best(query(0)), std::invalid_argument);
  asked = query();
  asked.kernel = "' OR 1 = 1 --";
  EXPECT_FALSE(best(asked));
}

TEST_F(LookupTest, ARecordingWithoutADeclarationAnswersExactly) {
  TrialContext context = some_context();
  context.kernel_spec = nlohmann::ordered_json::parse(R"({"parameters": {"PAD": {}, "BM": {}}})");
  {
    Store store(file());
    add_finished_session(store, context, matmul_problem(64, 64, 64), tile(32), 10);
  }
  Query asked = query();
  asked.problem.emplace_back("dtype", "f32");
  ASSERT_TRUE(best(asked));
  EXPECT_EQ(best(asked)->configuration.at(0).first, "PAD");
  EXPECT_FALSE(best(query(1))) << "there is no preset";
}

TEST_F(LookupTest, WithoutABookTheSpecAloneAnswers) {
  LookupOptions options;
  options.no_book = true;
  options.spec_json = some_context().kernel_spec.dump();
  const auto answer = Lookup("/nowhere/book.db", options).best(query());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->tier, Tier::preset_default);
  options.spec_json.clear();
  EXPECT_FALSE(Lookup("/nowhere/book.db", options).best(query()));
  EXPECT_FALSE(std::filesystem::exists(":memory:"));
}

TEST_F(LookupTest, SeesWhatALiveStoreWrites) {
  { Store store(file()); }
  const Lookup lookup(file().string(), seeing_at_once());  // while nobody writes
  EXPECT_FALSE(lookup.best(query()));
  {
    Store store(file());
    store.open_session(some_context(), some_session(), false);
    EXPECT_EQ(lookup.best(query())->tier, Tier::preset_default);
    for (int i = 0; i < 20; ++i) {
      const std::string session = add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(32), 10 + i);
      EXPECT_EQ(lookup.best(query())->session, session);
    }
  }
  const std::string last = lookup.best(query())->session;
  EXPECT_EQ(best(query())->session, last);
  std::string session;
  {
    Store store(file());
    session = add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(16), 1);
  }
  EXPECT_EQ(lookup.best(query())->session, session);
}

TEST_F(LookupTest, SeesABookThatReplacedTheOldOne) {
  std::string session;
  {
    Store store(file());
    add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(32), 10);
    Store other(file("new.db"));
    session = add_finished_session(other, some_context(), matmul_problem(64, 64, 64), tile(64), 9);
  }
  const Lookup lookup(file().string(), seeing_at_once());
  EXPECT_EQ(tile_of(lookup.best(query())), 32);
  std::filesystem::rename(file("new.db"), file());
  EXPECT_EQ(lookup.best(query())->session, session);
}

TEST_F(LookupTest, OneLookupServesManyThreadsWhileTheBookIsWritten) {
  Store store(file());
  add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(32), 10);
  const Lookup lookup(file().string(), seeing_at_once());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < 50; ++call) {
        const auto answer = lookup.best(query());
        wrong += answer && answer->tier == Tier::exact ? 0 : 1;
      }
    });
  }
  for (int i = 0; i < 10; ++i) {
    add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(64), 10);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

TEST(LookupLimitsTest, KnownArchitectures) {
  EXPECT_EQ(limits_of_compute_capability(90).shared_bytes_per_block_optin, 232448);
  EXPECT_EQ(limits_of_compute_capability(80).shared_bytes_per_block_optin, 166912);
  EXPECT_EQ(limits_of_compute_capability(86).shared_bytes_per_block_optin, 101376);
  EXPECT_EQ(limits_of_compute_capability(120).shared_bytes_per_block_optin, 101376);
  EXPECT_EQ(limits_of_compute_capability(75).max_threads_per_sm, 1024);
  EXPECT_EQ(limits_of_compute_capability(88).max_threads_per_sm, 1536) << "the nearest older one";
  EXPECT_EQ(limits_of_compute_capability(0), DeviceLimits{});
}

TEST(LookupLimitsTest, ABlockFits) {
  const DeviceLimits limits = limits_of_compute_capability(90);
  EXPECT_TRUE(block_fits({}, limits));
  EXPECT_TRUE(block_fits({1024, 64, 232448}, limits));
  EXPECT_FALSE(block_fits({1024, 65, 0}, limits)) << "registers are given in units";
  EXPECT_FALSE(block_fits({1025, 1, 0}, limits));
  EXPECT_FALSE(block_fits({32, 1, 232449}, limits));
  EXPECT_FALSE(block_fits({32, std::numeric_limits<std::int64_t>::max(), 0}, limits));
  EXPECT_TRUE(block_fits({std::nullopt, 255, std::nullopt}, limits));
}

}  // namespace
}  // namespace tunebook::testing
