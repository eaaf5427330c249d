#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "allocations.h"
#include "book_fixture.h"
#include "db/store.h"
#include "some_model.h"
#include "tunebook/tunebook.h"

namespace tunebook::testing {
namespace {

class CApiTest : public BookTest {
 protected:
  void SetUp() override {
    BookTest::SetUp();
    {
      Store store(file());
      add_finished_session(store, some_context(), matmul_problem(128, 64, 64), tile(32, true), 10);
    }
    ASSERT_EQ(tunebook_open(file().c_str(), nullptr, &book_), TUNEBOOK_OK) << tunebook_last_error();
    query_ = tunebook_query_new("matmul");
    answer_ = tunebook_answer_new();
    ASSERT_EQ(tunebook_query_set_device_int(query_, TUNEBOOK_DEVICE_COMPUTE_CAPABILITY, 90), TUNEBOOK_OK);
    set_problem(128, 64, 64);
  }
  void TearDown() override {
    tunebook_answer_free(answer_);
    tunebook_query_free(query_);
    tunebook_close(book_);
    BookTest::TearDown();
  }
  void set_problem(std::int64_t m, std::int64_t n, std::int64_t k) {
    ASSERT_EQ(tunebook_query_set_size(query_, "m", m), TUNEBOOK_OK);
    ASSERT_EQ(tunebook_query_set_size(query_, "n", n), TUNEBOOK_OK);
    ASSERT_EQ(tunebook_query_set_size(query_, "k", k), TUNEBOOK_OK);
  }

  tunebook_lookup* book_ = nullptr;
  tunebook_query* query_ = nullptr;
  tunebook_answer* answer_ = nullptr;
};

TEST_F(CApiTest, AnExactAnswerWithAllThatIsKnownOfIt) {
  EXPECT_EQ(tunebook_abi_version(), TUNEBOOK_ABI_VERSION);
  ASSERT_EQ(tunebook_best(book_, query_, answer_), TUNEBOOK_OK) << tunebook_last_error();
  EXPECT_EQ(tunebook_answer_tier(answer_), TUNEBOOK_TIER_EXACT);
  EXPECT_STREQ(tunebook_tier_name(tunebook_answer_tier(answer_)), "exact");
  EXPECT_EQ(tunebook_answer_distance(answer_), 0);
  EXPECT_EQ(tunebook_answer_stale(answer_), TUNEBOOK_STALE_UNKNOWN);
  std::int64_t tile_size = 0;
  EXPECT_EQ(tunebook_answer_int(answer_, "BM", &tile_size), TUNEBOOK_OK);
  EXPECT_EQ(tile_size, 32);
  std::int32_t pad = 0;
  EXPECT_EQ(tunebook_answer_bool(answer_, "PAD", &pad), TUNEBOOK_OK);
  EXPECT_EQ(pad, 1);
  EXPECT_EQ(tunebook_answer_int(answer_, "PAD", &tile_size), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_STREQ(tunebook_last_error(), "parameter PAD is not an integer");
  EXPECT_EQ(tunebook_answer_int(answer_, "BN", &tile_size), TUNEBOOK_NO_ANSWER);

  ASSERT_EQ(tunebook_answer_value_count(answer_), 2U);
  const char* name = nullptr;
  tunebook_type type = -1;
  std::int64_t number = 0;
  EXPECT_EQ(tunebook_answer_value(answer_, 1, &name, &type, &number, nullptr), TUNEBOOK_OK);
  EXPECT_STREQ(name, "PAD");
  EXPECT_EQ(type, TUNEBOOK_BOOL);
  EXPECT_EQ(number, 1);
  EXPECT_EQ(tunebook_answer_value(answer_, 2, &name, &type, &number, nullptr), TUNEBOOK_NO_ANSWER);
  ASSERT_EQ(tunebook_answer_problem_count(answer_), 4U);
  const char* text = nullptr;
  EXPECT_EQ(tunebook_answer_problem(answer_, 3, &name, &type, &number, &text), TUNEBOOK_OK);
  EXPECT_STREQ(name, "dtype");
  EXPECT_EQ(type, TUNEBOOK_TEXT);
  EXPECT_STREQ(text, "f32");

  EXPECT_STREQ(tunebook_answer_device_text(answer_, TUNEBOOK_DEVICE_NAME), "NVIDIA H200");
  EXPECT_EQ(tunebook_answer_device_text(answer_, TUNEBOOK_DEVICE_SM_COUNT), nullptr);
  EXPECT_EQ(tunebook_answer_device_int(answer_, TUNEBOOK_DEVICE_SM_COUNT), 132);
  EXPECT_EQ(tunebook_answer_device_int(answer_, TUNEBOOK_DEVICE_COMPUTE_CAPABILITY), 90);
  EXPECT_EQ(std::string(tunebook_answer_provenance(answer_, TUNEBOOK_SESSION)).size(), 32U);
  EXPECT_STREQ(tunebook_answer_provenance(answer_, TUNEBOOK_KERNEL_HASH), "hash-1");
  EXPECT_STREQ(tunebook_answer_provenance(answer_, TUNEBOOK_METHOD), "cold/1");
  EXPECT_EQ(tunebook_answer_provenance(answer_, 99), nullptr);
  double low = 0, median = 0, high = 0;
  EXPECT_EQ(tunebook_answer_median_us(answer_, &median), TUNEBOOK_OK);
  EXPECT_EQ(tunebook_answer_interval_us(answer_, &low, &high), TUNEBOOK_OK);
  EXPECT_EQ((std::vector{low, median, high}), (std::vector{9.0, 10.0, 11.0}));
  std::int64_t registers = 0, shared = 0;
  EXPECT_EQ(tunebook_answer_registers_per_thread(answer_, &registers), TUNEBOOK_OK);
  EXPECT_EQ(registers, 40);
  EXPECT_EQ(tunebook_answer_shared_bytes(answer_, &shared), TUNEBOOK_OK);
  EXPECT_EQ(shared, 4096);

  char* json = nullptr;
  ASSERT_EQ(tunebook_answer_json(answer_, &json), TUNEBOOK_OK);
  const nlohmann::json parsed = nlohmann::json::parse(json);
  tunebook_text_free(json);
  EXPECT_EQ(parsed["configuration"], (nlohmann::json{{"BM", 32}, {"PAD", true}}));
  EXPECT_EQ(parsed["tier"], "exact");
  EXPECT_EQ(parsed["ci_us"], (nlohmann::json{9, 11}));
}

TEST_F(CApiTest, TheDefaultHasNoTimeAndNoDevice) {
  set_problem(33, 7, 5);
  tunebook_query_set_device_int(query_, TUNEBOOK_DEVICE_COMPUTE_CAPABILITY, 80);
  ASSERT_EQ(tunebook_best(book_, query_, answer_), TUNEBOOK_OK) << tunebook_last_error();
  EXPECT_EQ(tunebook_answer_tier(answer_), TUNEBOOK_TIER_DEFAULT);
  double median = 0;
  EXPECT_EQ(tunebook_answer_median_us(answer_, &median), TUNEBOOK_NO_ANSWER);
  EXPECT_EQ(tunebook_answer_problem_count(answer_), 0U);
  EXPECT_STREQ(tunebook_answer_device_text(answer_, TUNEBOOK_DEVICE_KIND), "");
}

TEST_F(CApiTest, PredictedAnswersAndRankings) {
  double share = 0;
  ASSERT_EQ(tunebook_best(book_, query_, answer_), TUNEBOOK_OK);
  EXPECT_EQ(tunebook_answer_expected_loss(answer_, &share), TUNEBOOK_NO_ANSWER);
  EXPECT_EQ(tunebook_answer_predicted_us(answer_, &share), TUNEBOOK_NO_ANSWER);
  EXPECT_STREQ(tunebook_answer_source(answer_), "");
  EXPECT_EQ(tunebook_answer_shipped_tier(answer_), -1);

  put_model(file().string(), some_model());
  tunebook_lookup* book = nullptr;
  ASSERT_EQ(tunebook_open(file().c_str(), nullptr, &book), TUNEBOOK_OK) << tunebook_last_error();
  set_problem(192, 64, 64);
  ASSERT_EQ(tunebook_best(book, query_, answer_), TUNEBOOK_OK);
  EXPECT_EQ(tunebook_answer_tier(answer_), TUNEBOOK_TIER_PREDICTED);
  EXPECT_STREQ(tunebook_tier_name(TUNEBOOK_TIER_PREDICTED), "predicted");
  EXPECT_STREQ(tunebook_tier_name(TUNEBOOK_TIER_SHIPPED), "shipped");
  EXPECT_STREQ(tunebook_tier_name(TUNEBOOK_TIER_NEAR), "near");
  EXPECT_STREQ(tunebook_tier_name(7), "unknown");
  EXPECT_STREQ(tunebook_tier_name(-1), "unknown");
  // log2(192 / 64) is beyond the first bin.
  EXPECT_EQ(tunebook_answer_expected_loss(answer_, &share), TUNEBOOK_OK);
  EXPECT_EQ(share, 0.06);
  EXPECT_EQ(tunebook_answer_loss_bound(answer_, &share), TUNEBOOK_OK);
  EXPECT_EQ(share, 0.15);
  EXPECT_EQ(tunebook_answer_predicted_us(answer_, &share), TUNEBOOK_OK);
  EXPECT_DOUBLE_EQ(share, 10 * 3 / (1 - 1005.0 / 1048576));
  EXPECT_EQ(tunebook_answer_median_us(answer_, &share), TUNEBOOK_NO_ANSWER);

  tunebook_answer* answers[5] = {};
  for (tunebook_answer*& one : answers) one = tunebook_answer_new();
  std::size_t found = 99;
  ASSERT_EQ(tunebook_ranked(book, query_, 5, answers, &found), TUNEBOOK_OK) << tunebook_last_error();
  // The model's three, the winner of 128, 64, 64 that the model does not know.
  ASSERT_EQ(found, 4U);
  std::int64_t sizes[4] = {};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(tunebook_answer_int(answers[i], "BM", &sizes[i]), TUNEBOOK_OK);
  EXPECT_EQ((std::vector<std::int64_t>(sizes, sizes + 4)), (std::vector<std::int64_t>{16, 32, 64, 32}));
  EXPECT_EQ(tunebook_answer_tier(answers[3]), TUNEBOOK_TIER_NEAR);
  EXPECT_EQ(tunebook_answer_tier(answers[4]), -1);
  EXPECT_EQ(tunebook_ranked(book, query_, 1, answers, &found), TUNEBOOK_OK);
  EXPECT_EQ(found, 1U);
  EXPECT_EQ(tunebook_ranked(book, query_, 0, nullptr, &found), TUNEBOOK_NO_ANSWER);
  EXPECT_EQ(tunebook_ranked(book, query_, 1, nullptr, &found), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_EQ(tunebook_ranked(book, nullptr, 5, answers, &found), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_EQ(tunebook_answer_tier(answers[0]), -1) << "cleared";
  EXPECT_EQ(tunebook_ranked(book, query_, 1, answers, nullptr), TUNEBOOK_INVALID_ARGUMENT);
  for (tunebook_answer* const one : answers) tunebook_answer_free(one);
  tunebook_close(book);
}

TEST_F(CApiTest, ShippedBooks) {
  tunebook_options* const options = tunebook_options_new();
  EXPECT_EQ(tunebook_options_add_shipped_book(options, nullptr), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_EQ(tunebook_options_add_shipped_book(options, file("nothing.db").c_str()), TUNEBOOK_OK);
  EXPECT_EQ(tunebook_options_add_shipped_book(options, file().c_str()), TUNEBOOK_OK);
  EXPECT_EQ(tunebook_options_set_no_book(options, 1), TUNEBOOK_OK);
  tunebook_lookup* none = nullptr;
  ASSERT_EQ(tunebook_open("", options, &none), TUNEBOOK_OK) << tunebook_last_error();
  tunebook_options_free(options);
  ASSERT_EQ(tunebook_best(none, query_, answer_), TUNEBOOK_OK) << tunebook_last_error();
  EXPECT_EQ(tunebook_answer_tier(answer_), TUNEBOOK_TIER_SHIPPED);
  EXPECT_EQ(tunebook_answer_shipped_tier(answer_), TUNEBOOK_TIER_EXACT);
  EXPECT_STREQ(tunebook_answer_source(answer_), "book.db");
  tunebook_close(none);
}

TEST_F(CApiTest, TheHashOfTheQueryTellsWhetherTheAnswerIsStale) {
  tunebook_query_set_kernel_hash(query_, "hash-1");
  ASSERT_EQ(tunebook_best(book_, query_, answer_), TUNEBOOK_OK);
  EXPECT_EQ(tunebook_answer_stale(answer_), TUNEBOOK_STALE_NO);
  tunebook_query_set_kernel_hash(query_, "hash-2");
  ASSERT_EQ(tunebook_best(book_, query_, answer_), TUNEBOOK_OK);
  EXPECT_EQ(tunebook_answer_stale(answer_), TUNEBOOK_STALE_YES);
  tunebook_query_set_method(query_, "warm");
  ASSERT_EQ(tunebook_best(book_, query_, answer_), TUNEBOOK_OK);
  EXPECT_EQ(tunebook_answer_tier(answer_), TUNEBOOK_TIER_DEFAULT);
}

TEST_F(CApiTest, NoAnswerAndErrorsLeaveTheAnswerEmpty) {
  ASSERT_EQ(tunebook_best(book_, query_, answer_), TUNEBOOK_OK);
  tunebook_query_set_kernel(query_, "softmax");
  EXPECT_EQ(tunebook_best(book_, query_, answer_), TUNEBOOK_NO_ANSWER);
  EXPECT_EQ(tunebook_answer_tier(answer_), -1);
  EXPECT_EQ(tunebook_answer_value_count(answer_), 0U);
  char* json = nullptr;
  EXPECT_EQ(tunebook_answer_json(answer_, &json), TUNEBOOK_NO_ANSWER);
  EXPECT_EQ(json, nullptr);

  tunebook_query_set_kernel(query_, "matmul");
  ASSERT_EQ(tunebook_best(book_, query_, answer_), TUNEBOOK_OK);
  tunebook_query_set_size(query_, "width", 3);
  EXPECT_EQ(tunebook_best(book_, query_, answer_), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_NE(std::string(tunebook_last_error()).find("width"), std::string::npos) << tunebook_last_error();
  EXPECT_EQ(tunebook_answer_value_count(answer_), 0U);
  tunebook_query_clear_problem(query_);
  set_problem(128, 64, 64);
  EXPECT_EQ(tunebook_best(book_, query_, answer_), TUNEBOOK_OK) << tunebook_last_error();
}

TEST_F(CApiTest, BadArgumentsAreCodes) {
  tunebook_lookup* other = book_;
  EXPECT_EQ(tunebook_open("/nonexistent/book.db", nullptr, &other), TUNEBOOK_BAD_BOOK);
  EXPECT_EQ(other, nullptr);
  EXPECT_NE(std::string(tunebook_last_error()).find("/nonexistent/book.db"), std::string::npos);
  EXPECT_EQ(tunebook_open(nullptr, nullptr, &other), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_EQ(tunebook_open("x", nullptr, nullptr), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_EQ(tunebook_best(nullptr, query_, answer_), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_EQ(tunebook_best(book_, nullptr, answer_), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_EQ(tunebook_best(book_, query_, nullptr), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_EQ(tunebook_query_new(nullptr), nullptr);
  EXPECT_EQ(tunebook_query_set_size(nullptr, "m", 1), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_EQ(tunebook_query_set_category(query_, "dtype", nullptr), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_EQ(tunebook_query_set_device_int(query_, TUNEBOOK_DEVICE_NAME, 1), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_EQ(tunebook_query_set_device_int(query_, TUNEBOOK_DEVICE_SM_COUNT, -1), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_EQ(tunebook_query_set_device_text(query_, TUNEBOOK_DEVICE_SM_COUNT, "1"), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_EQ(tunebook_answer_int(nullptr, "BM", nullptr), TUNEBOOK_NO_ANSWER);
  tunebook_close(nullptr);
  tunebook_query_free(nullptr);
  tunebook_answer_free(nullptr);
  tunebook_options_free(nullptr);
  tunebook_text_free(nullptr);
}

TEST_F(CApiTest, OptionsOfOpening) {
  tunebook_options* options = tunebook_options_new();
  EXPECT_EQ(tunebook_options_set_near_cap(options, std::nan("")), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_EQ(tunebook_options_set_refresh_interval_ms(options, -1), TUNEBOOK_INVALID_ARGUMENT);
  EXPECT_EQ(tunebook_options_set_near_cap(options, 0.5), TUNEBOOK_OK);
  EXPECT_EQ(tunebook_options_set_refresh_interval_ms(options, 0), TUNEBOOK_OK);
  const std::string misses = file("misses.jsonl");
  EXPECT_EQ(tunebook_options_set_record_misses(options, misses.c_str()), TUNEBOOK_OK);
  tunebook_lookup* book = nullptr;
  ASSERT_EQ(tunebook_open(file().c_str(), options, &book), TUNEBOOK_OK);
  set_problem(256, 64, 64);
  ASSERT_EQ(tunebook_best(book, query_, answer_), TUNEBOOK_OK);
  EXPECT_EQ(tunebook_answer_tier(answer_), TUNEBOOK_TIER_FAR);
  EXPECT_EQ(tunebook_answer_distance(answer_), 1);
  EXPECT_TRUE(std::filesystem::exists(misses));
  tunebook_close(book);

  // Without a book, from a declaration alone.
  EXPECT_EQ(tunebook_options_set_no_book(options, 1), TUNEBOOK_OK);
  EXPECT_EQ(tunebook_options_add_spec(options, kSpecText), TUNEBOOK_OK);
  ASSERT_EQ(tunebook_open("", options, &book), TUNEBOOK_OK) << tunebook_last_error();
  ASSERT_EQ(tunebook_best(book, query_, answer_), TUNEBOOK_OK) << tunebook_last_error();
  EXPECT_EQ(tunebook_answer_tier(answer_), TUNEBOOK_TIER_DEFAULT);
  tunebook_close(book);
  tunebook_options_free(options);
}

TEST_F(CApiTest, AnAnswerOutlivesItsLookup) {
  ASSERT_EQ(tunebook_best(book_, query_, answer_), TUNEBOOK_OK);
  tunebook_close(book_);
  book_ = nullptr;
  EXPECT_STREQ(tunebook_answer_device_text(answer_, TUNEBOOK_DEVICE_NAME), "NVIDIA H200");
  tunebook_answer_clear(answer_);
  EXPECT_EQ(tunebook_answer_device_text(answer_, TUNEBOOK_DEVICE_NAME), nullptr);
}

TEST_F(CApiTest, ExplainIsJson) {
  set_problem(33, 64, 64);
  char* json = nullptr;
  ASSERT_EQ(tunebook_explain(book_, query_, 10, &json), TUNEBOOK_OK) << tunebook_last_error();
  const nlohmann::json parsed = nlohmann::json::parse(json);
  tunebook_text_free(json);
  EXPECT_EQ(parsed["answer"]["tier"], "default");
  ASSERT_GE(parsed["considered"].size(), 2U);
  EXPECT_EQ(parsed["considered"][0]["obstacle"], "constraint");
  EXPECT_EQ(parsed["considered"][0]["candidate"]["configuration"]["BM"], 32);
  EXPECT_EQ(tunebook_explain(book_, query_, -1, &json), TUNEBOOK_INVALID_ARGUMENT);
}

TEST_F(CApiTest, ARepeatedQuestionAllocatesNothing) {
  const std::int64_t at_first = allocation_count();
  ASSERT_EQ(tunebook_best(book_, query_, answer_), TUNEBOOK_OK);
  EXPECT_GT(allocation_count(), at_first) << "the library's allocations are counted";
  const std::int64_t before = allocation_count();
  std::int64_t sum = 0;
  for (int i = 0; i < 100; ++i) {
    std::int64_t value = 0;
    tunebook_best(book_, query_, answer_);
    tunebook_answer_int(answer_, "BM", &value);
    sum += value;
  }
  EXPECT_EQ(allocation_count(), before);
  EXPECT_EQ(sum, 3200);
}

TEST_F(CApiTest, ARepeatedQuestionGivesTheSameAnswer) {
  tunebook_answer* other = tunebook_answer_new();
  EXPECT_EQ(tunebook_answer_same(answer_, other), 0) << "both are empty";
  ASSERT_EQ(tunebook_best(book_, query_, answer_), TUNEBOOK_OK);
  EXPECT_EQ(tunebook_answer_same(answer_, other), 0);
  ASSERT_EQ(tunebook_best(book_, query_, other), TUNEBOOK_OK);
  EXPECT_EQ(tunebook_answer_same(answer_, other), 1);
  set_problem(256, 64, 64);
  ASSERT_EQ(tunebook_best(book_, query_, other), TUNEBOOK_OK);
  EXPECT_EQ(tunebook_answer_same(answer_, other), 0);
  tunebook_answer_free(other);
}

TEST_F(CApiTest, ManyThreadsAskOneLookup) {
  std::vector<std::thread> threads;
  std::vector<int> exact(4, 0);
  for (std::size_t t = 0; t < exact.size(); ++t) {
    threads.emplace_back([&, t] {
      tunebook_answer* own = tunebook_answer_new();
      for (int i = 0; i < 500; ++i) {
        exact[t] += tunebook_best(book_, query_, own) == TUNEBOOK_OK && tunebook_answer_tier(own) == TUNEBOOK_TIER_EXACT ? 1 : 0;
      }
      tunebook_answer_free(own);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(exact, std::vector<int>(4, 500));
}

TEST_F(CApiTest, ErrorsBelongToTheirThread) {
  EXPECT_EQ(tunebook_query_set_size(nullptr, "m", 1), TUNEBOOK_INVALID_ARGUMENT);
  const std::string mine = tunebook_last_error();
  EXPECT_FALSE(mine.empty());
  std::thread([] { EXPECT_STREQ(tunebook_last_error(), ""); }).join();
  EXPECT_EQ(tunebook_last_error(), mine);
}

TEST_F(CApiTest, TheExampleProgramInC) {
  const auto run = [&](const std::string& arguments) {
    std::FILE* const pipe = popen(fmt::format("'{}' '{}' {} 2>&1", TUNEBOOK_LOOKUP_EXAMPLE_C, file().string(), arguments).c_str(), "r");
    std::string output;
    for (int c = 0; (c = std::fgetc(pipe)) != EOF;) {
      output += static_cast<char>(c);
    }
    return std::pair<std::string, int>(output, pclose(pipe) / 256);
  };
  EXPECT_EQ(run("matmul 128 64 64"), (std::pair<std::string, int>("exact BM=32 PAD=true\n", 0)));
  EXPECT_EQ(run("matmul 33 64 64"), (std::pair<std::string, int>("default BM=16 PAD=false\n", 0)));
  EXPECT_EQ(run("softmax 1 1 1").second, 3);
}

// What is not in the headers is nobody's business.
TEST(SharedLibraryTest, OnlyTheInterfaceIsVisible) {
  void* const library = dlopen(TUNEBOOK_SHARED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_NE(dlsym(library, "tunebook_best"), nullptr);
  EXPECT_NE(dlsym(library, "_ZNK8tunebook6Lookup4bestERKNS_5QueryE"), nullptr);
  EXPECT_EQ(dlsym(library, "_ZNK8tunebook10Expression4textEv"), nullptr);
  dlclose(library);
}

}  // namespace
}  // namespace tunebook::testing
