// The tier `predicted`: known answers, hostile models, models learned anew; rankings; shipped
// books.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "book_fixture.h"
#include "db/answer_json.h"
#include "db/lookup_limits.h"
#include "db/publish.h"
#include "db/store.h"
#include "some_model.h"
#include "tunebook/lookup.h"

namespace tunebook::testing {
namespace {

class LookupPredictedTest : public BookTest {
 protected:
  // A book with winners of 64,64,64 (BM 16) and 1024,1024,1024 (BM 64).
  void SetUp() override {
    BookTest::SetUp();
    Store store(file());
    add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(16), 10, 1);
    add_finished_session(store, some_context(), matmul_problem(1024, 1024, 1024), tile(64), 500, 2);
  }
  static Query question(std::int64_t m, std::int64_t n, std::int64_t k) {
    Query query;
    query.kernel = "matmul";
    query.problem = matmul_problem(m, n, k).items();
    query.device = to_device_key(some_gpu());
    query.kernel_hash = "hash-1";
    return query;
  }
  std::shared_ptr<const Answer> best(const Query& query, const LookupOptions& options = {}) const {
    return Lookup(file().string(), options).best(query);
  }
  static std::int64_t bm(const Answer& answer) {
    return std::get<std::int64_t>(answer.configuration.at(0).second);
  }
};

TEST_F(LookupPredictedTest, KnownAnswer) {
  put_model(file().string(), some_model());
  // BM 64 has the score 55 here, and 1024,1024,1024 is the nearest tuned problem.
  const auto answer = best(question(512, 1024, 1024));
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer->tier, Tier::predicted);
  EXPECT_EQ(bm(*answer), 64);
  EXPECT_EQ(std::get<bool>(answer->configuration.at(1).second), false);
  EXPECT_EQ(answer->distance, 1.0);
  EXPECT_EQ(answer->problem, matmul_problem(1024, 1024, 1024).items());
  EXPECT_EQ(answer->device, to_device_key(some_gpu()));
  EXPECT_EQ(answer->stale, Stale::no);
  EXPECT_EQ(answer->tuned_at_utc, "2026-11-30T12:00:00.000000Z");
  EXPECT_EQ(answer->kernel_hash, "hash-1");
  EXPECT_EQ(answer->objective, "time");
  EXPECT_EQ(answer->method, "cold/1");
  EXPECT_EQ(answer->session, "");
  EXPECT_FALSE(answer->median_us || answer->ci_low_us || answer->ci_high_us);
  EXPECT_FALSE(answer->registers_per_thread || answer->shared_bytes);
  EXPECT_EQ(answer->expected_loss, 0.02);
  EXPECT_EQ(answer->loss_bound, 0.05);
  // Flops are half; bytes are 512*1024*2 + 1024*1024 of 3*1024*1024, two thirds.
  EXPECT_DOUBLE_EQ(answer->predicted_us.value(), 500 * (2.0 / 3) / (1 - 55.0 / 1048576));

  // 80 is no multiple of 32: BM 16 alone is valid.
  const auto valid = best(question(80, 64, 64));
  EXPECT_EQ(valid->tier, Tier::predicted);
  EXPECT_EQ(bm(*valid), 16);
  EXPECT_EQ(valid->registers_per_thread, 40);
  EXPECT_EQ(valid->shared_bytes, 2048);
}

TEST_F(LookupPredictedTest, TakesThePlaceOfNearAndFarWhereItExpectsNoMore) {
  TimeModel model = some_model();
  const Query query = question(128, 64, 64);
  EXPECT_EQ(best(query)->tier, Tier::near);
  EXPECT_FALSE(best(query)->expected_loss);
  put_model(file().string(), model);
  EXPECT_EQ(best(query)->tier, Tier::predicted);
  model.loss[0].nearest_mean = 0.019;
  put_model(file().string(), model);
  EXPECT_EQ(best(query)->tier, Tier::near);
  EXPECT_EQ(best(query)->expected_loss, 0.019);
  EXPECT_FALSE(best(query)->loss_bound);
  model.loss[0].nearest_mean = 0.02;  // equal: the model
  put_model(file().string(), model);
  EXPECT_EQ(best(query)->tier, Tier::predicted);

  const Query distant = question(65536, 64, 64);
  model.loss[1].nearest_mean = 0.01;
  put_model(file().string(), model);
  EXPECT_EQ(best(distant)->tier, Tier::far);
  EXPECT_EQ(best(distant)->expected_loss, 0.01);
  EXPECT_EQ(best(question(1024, 1024, 1024))->tier, Tier::exact);
}

TEST_F(LookupPredictedTest, OnlyForItsDataTypeMethodObjectiveAndDevice) {
  put_model(file().string(), some_model());
  Query query = question(128, 64, 64);
  query.method = "cold/1";
  EXPECT_EQ(best(query)->tier, Tier::predicted);
  query.method = "warm";
  EXPECT_EQ(best(query)->tier, Tier::preset_default);
  query = question(128, 64, 64);
  query.objective = "energy";
  EXPECT_EQ(best(query)->tier, Tier::preset_default);
  query = question(128, 64, 64);
  query.problem.back().second = std::string("f16");
  EXPECT_EQ(best(query)->tier, Tier::preset_default);
  query = question(128, 64, 64);
  query.device.name = "NVIDIA H100";
  EXPECT_EQ(best(query)->tier, Tier::same_architecture);
}

TEST_F(LookupPredictedTest, LimitsOfTheAskedDevice) {
  put_model(file().string(), some_model());
  Query query = question(1024, 1024, 512);
  EXPECT_EQ(bm(*best(query)), 64);
  query.device.shared_bytes_per_block_optin = 16000;  // BM 64 needs 16384
  EXPECT_EQ(best(query)->tier, Tier::predicted);
  EXPECT_EQ(bm(*best(query)), 32);
  query.device.shared_bytes_per_block_optin = 1500;  // recorded: 2048 and 4096 bytes
  EXPECT_EQ(best(query)->tier, Tier::preset_default);
}

TEST_F(LookupPredictedTest, ADamagedModelIsPassedOver) {
  const TimeModel model = some_model();
  std::string body = model.encode();
  body[4] = 2;  // another format
  const Query query = question(128, 64, 64);
  for (const std::string& bytes :
       {body, std::string(), std::string("TBTM"), std::string(100'000, '\xff')}) {
    put_model_bytes(file().string(), model, bytes);
    EXPECT_EQ(best(query)->tier, Tier::near);
    bool told = false;
    for (const Consideration& one : Lookup(file().string()).explain(query).considered) {
      if (one.obstacle != Obstacle::unreadable) continue;
      told = true;
      EXPECT_NE(one.reason.find("tunebook learn"), std::string::npos) << one.reason;
    }
    EXPECT_TRUE(told);
  }
  // Bytes that are right in themselves, but not what the row's hash says.
  put_model(file().string(), model);
  EXPECT_EQ(run_sql(file(), "UPDATE model SET content_hash = zeroblob(16)"), "");
  EXPECT_EQ(best(query)->tier, Tier::near);
  put_model(file().string(), model);
  EXPECT_EQ(run_sql(file(), "UPDATE model SET method = 'cold/9'"), "");
  EXPECT_EQ(best(query)->tier, Tier::near);
}

TEST_F(LookupPredictedTest, AModelThatIsLearnedAnewIsSeen) {
  LookupOptions options;
  options.refresh_interval = std::chrono::milliseconds(0);
  const Lookup lookup(file().string(), options);
  const Query query = question(128, 64, 64);
  EXPECT_EQ(lookup.best(query)->tier, Tier::near);
  TimeModel model = some_model();
  put_model(file().string(), model);
  EXPECT_EQ(lookup.best(query)->tier, Tier::predicted);
  EXPECT_EQ(bm(*lookup.best(query)), 16);
  model.nodes[1].next = 5000;
  put_model(file().string(), model);
  EXPECT_EQ(bm(*lookup.best(query)), 32);
  EXPECT_EQ(run_sql(file(), "DELETE FROM model"), "");
  EXPECT_EQ(lookup.best(query)->tier, Tier::near);
}

TEST_F(LookupPredictedTest, ExplainShowsCandidatesInTheModelsOrder) {
  put_model(file().string(), some_model());
  const Explanation explanation = Lookup(file().string()).explain(question(544, 1024, 1024));
  std::vector<std::string> lines;
  for (const Consideration& one : explanation.considered) {
    if (one.candidate.tier != Tier::predicted) continue;
    lines.push_back(std::to_string(bm(one.candidate)) + ": " + obstacle_name(one.obstacle) + ": " +
                    one.reason);
    EXPECT_TRUE(one.candidate.predicted_us);
    EXPECT_EQ(one.candidate.expected_loss.has_value(), one.obstacle == Obstacle::none);
  }
  EXPECT_EQ(
      lines,
      (std::vector<std::string>{
          "64: constraint: constraint \"m % BM == 0 or BM == 16\" does not hold", "32: none: ",
          "16: not needed: the model predicts a loss of 0.1 %, of its first choice 0.0 %"}));
  EXPECT_EQ(*explanation.answer, *best(question(544, 1024, 1024)));
}

TEST_F(LookupPredictedTest, RankedConfigurationsAreDifferent) {
  put_model(file().string(), some_model());
  const Lookup lookup(file().string());
  const auto ranks = [&](const Query& query, std::size_t count) {
    std::vector<std::string> lines;
    for (const Answer& answer : lookup.ranked(query, count)) {
      lines.push_back(std::string(tier_name(answer.tier)) + " " + std::to_string(bm(answer)));
    }
    return lines;
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(ranks(question(128, 64, 64), 9),
            (Lines{"predicted 16", "predicted 32", "predicted 64"}));
  EXPECT_EQ(ranks(question(128, 64, 64), 2), (Lines{"predicted 16", "predicted 32"}));
  EXPECT_EQ(ranks(question(64, 64, 64), 3), (Lines{"exact 16", "predicted 32", "predicted 64"}));
  EXPECT_EQ(ranks(question(80, 64, 64), 3), (Lines{"predicted 16"}));
  EXPECT_TRUE(lookup.ranked(question(128, 64, 64), 0).empty());
  EXPECT_EQ(lookup.ranked(question(128, 64, 64), 1).front(), *lookup.best(question(128, 64, 64)));
}

TEST_F(LookupPredictedTest, ShippedBooksAreAskedBeforeThePreset) {
  {
    Store store(file("other.db"));
    TrialContext context = some_context();
    context.kernel_hash = "hash-2";
    add_finished_session(store, context, matmul_problem(128, 64, 64), tile(32), 20);
  }
  publish_book(file("other.db"), file("shipped.db"));
  { Store empty(file("mine.db")); }
  LookupOptions options;
  options.shipped_books = {file("missing.db").string(), file("shipped.db").string()};
  const Lookup lookup(file("mine.db").string(), options);
  const Query query = question(256, 64, 64);
  const auto answer = lookup.best(query);
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer->tier, Tier::shipped);
  EXPECT_EQ(answer->shipped_tier, Tier::near);
  EXPECT_EQ(answer->source, "shipped.db");
  EXPECT_EQ(answer->stale, Stale::yes);
  EXPECT_EQ(bm(*answer), 32);
  EXPECT_EQ(lookup.best(query), answer) << "kept";
  EXPECT_EQ(to_json(*answer)["shipped_tier"], "near");
  const Explanation explanation = lookup.explain(query);
  EXPECT_EQ(*explanation.answer, *answer);
  ASSERT_FALSE(explanation.considered.empty());
  EXPECT_EQ(explanation.considered.front().obstacle, Obstacle::none);
  EXPECT_EQ(lookup.ranked(query, 5).front(), *answer);

  // A shipped book's own preset does not count, nor a book that has a winner of its own device and
  // problem.
  Query other = query;
  other.device.name = "NVIDIA B200";
  other.device.compute_capability = 100;
  EXPECT_EQ(lookup.best(other), nullptr);
  EXPECT_EQ(best(query, options)->tier, Tier::near) << "what was measured here comes first";
  EXPECT_EQ(best(query, options)->source, "");
}

}  // namespace
}  // namespace tunebook::testing
