// What decides between candidates, one rule at a time; and what explain() says of it.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "book_fixture.h"
#include "db/lookup_check.h"
#include "db/lookup_limits.h"
#include "db/lookup_nearest.h"
#include "db/store.h"
#include "tunebook/lookup.h"

namespace tunebook::testing {
namespace {

Device gpu(const std::string& name, int capability, std::int64_t shared_bytes) {
  Device device = some_gpu();
  device.name = name;
  device.compute_capability = capability;
  device.limits.shared_bytes_per_block_optin = shared_bytes;
  return device;
}

class LookupTiersTest : public BookTest {
 protected:
  TrialContext context() const {
    TrialContext context = some_context();
    context.kernel_spec = spec_;
    context.device = device_;
    context.method = method_;
    return context;
  }
  std::string tuned(const Problem& problem, const Configuration& configuration, const char* objective = "time", bool finished = true) {
    Store store(file());
    SessionRecord proposed = some_session(++seed_);
    proposed.problem = problem;
    const std::string session = store.open_session(context(), proposed, true).id;
    WinnerRecord winner = some_winner(session, configuration, 10);
    winner.objective = objective;
    store.record_winner(context(), problem, winner);
    if (finished) store.finish_session(session, 1);
    return session;
  }
  static Query question(const Problem& problem, const Device& device) {
    Query query;
    query.kernel = "matmul";
    query.problem = problem.items();
    query.device = to_device_key(device);
    return query;
  }
  std::shared_ptr<const Answer> best(const Query& query) const { return Lookup(file().string()).best(query); }
  // "tier: reason" of each candidate, in order.
  std::vector<std::string> reasons(const Query& query, std::size_t most = 100) const {
    std::vector<std::string> lines;
    for (const Consideration& one : Lookup(file().string()).explain(query, most).considered) {
      lines.push_back(std::string(one.in_a_tier ? tier_name(one.candidate.tier) : "none") + ": " + obstacle_name(one.obstacle) +
                      (one.reason.empty() ? "" : ": " + one.reason));
    }
    return lines;
  }

  nlohmann::ordered_json spec_ = nlohmann::ordered_json::parse(kSpecText);
  Device device_ = some_gpu();
  std::string method_ = "cold/2";
  std::uint64_t seed_ = 0;
};

const Device kH100 = gpu("NVIDIA H100", 90, 232448);
const Device kA6000 = gpu("NVIDIA RTX A6000", 86, 101376);
const Device kB200 = gpu("NVIDIA B200", 100, 232448);

TEST_F(LookupTiersTest, EquallyFarProblemsTheSmallerOne) {
  tuned(matmul_problem(256, 64, 64), tile(16));
  const std::string smaller = tuned(matmul_problem(64, 64, 64), tile(16));
  const auto answer = best(question(matmul_problem(128, 64, 64), device_));
  EXPECT_EQ(answer->session, smaller);
  EXPECT_EQ(answer->tier, Tier::near);
  EXPECT_EQ(answer->distance, 1);
}

TEST_F(LookupTiersTest, EquallyFarAndLargeByCanonicalOrder) {
  tuned(matmul_problem(192, 96, 64), tile(16));
  // {"dtype":..,"k":64,"m":192..} comes before {"dtype":..,"k":64,"m":96..} as text.
  tuned(matmul_problem(96, 192, 64), tile(16));
  const auto answer = best(question(matmul_problem(96, 96, 64), device_));
  EXPECT_EQ(answer->problem, matmul_problem(192, 96, 64).items());
}

TEST_F(LookupTiersTest, NearEndsAtTheCap) {
  tuned(matmul_problem(64, 64, 64), tile(16));
  EXPECT_EQ(best(question(matmul_problem(256, 64, 64), device_))->tier, Tier::near);
  EXPECT_EQ(best(question(matmul_problem(257, 64, 64), device_))->tier, Tier::far);
  EXPECT_EQ(best(question(matmul_problem(257, 64, 64), kH100))->tier, Tier::far);
  LookupOptions options;
  options.near_cap = 8;
  EXPECT_EQ(Lookup(file().string(), options).best(question(matmul_problem(257, 64, 64), device_))->tier, Tier::near);
  options.near_cap = -1;
  EXPECT_THROW(Lookup(file().string(), options), std::invalid_argument);
}

TEST_F(LookupTiersTest, FarPrefersTheSameDevice) {
  const std::string own = tuned(matmul_problem(16384, 64, 64), tile(16));
  device_ = kH100;
  tuned(matmul_problem(4096, 64, 64), tile(16));
  const auto answer = best(question(matmul_problem(64, 64, 64), some_gpu()));
  EXPECT_EQ(answer->tier, Tier::far);
  EXPECT_EQ(answer->session, own);
}

TEST_F(LookupTiersTest, ARecordedBlockMustFitTheCallersDevice) {
  const std::string session = tuned(matmul_problem(64, 64, 64), tile(64));
  Query query = question(matmul_problem(64, 64, 64), device_);
  EXPECT_EQ(best(query)->tier, Tier::exact);
  query.device.shared_bytes_per_block_optin = 4095;
  EXPECT_EQ(best(query)->tier, Tier::preset_default);
  EXPECT_EQ(reasons(query).at(0), "exact: constraint: constraint \"BM * BM * 4 <= device.shared_bytes\" does not hold");
  query.device.shared_bytes_per_block_optin = 0;
  query.device.registers_per_block = 1024;
  EXPECT_EQ(reasons(query).at(0), "exact: limit: 10240 registers per block (40 for each of 256 threads), the device allows 1024");
}

TEST_F(LookupTiersTest, ADefaultThatNeeds160KbIsNotGivenOnSm86) {
  spec_["launch"]["shared_bytes"] = "163840";
  spec_["constraints"] = nlohmann::ordered_json::array();
  {
    Store store(file());
    store.open_session(context(), some_session(), false);
  }
  EXPECT_EQ(best(question(matmul_problem(64, 64, 64), kH100))->tier, Tier::preset_default);
  EXPECT_FALSE(best(question(matmul_problem(64, 64, 64), kA6000)));
  EXPECT_EQ(reasons(question(matmul_problem(64, 64, 64), kA6000)),
            (std::vector<std::string>{"default: limit: 163840 bytes of shared memory per block, the device allows 101376"}));
  Query by_capability = question(matmul_problem(64, 64, 64), kA6000);
  by_capability.device = DeviceKey{.compute_capability = 86};
  EXPECT_FALSE(best(by_capability)) << "the limit comes from the table";
}

TEST_F(LookupTiersTest, ArchitectureSpecificCodeNeverCrosses) {
  spec_["arch"] = "PAD ? 'sm_90a' : native";
  spec_["presets"]["default"]["PAD"] = true;
  tuned(matmul_problem(64, 64, 64), tile(32, true));
  EXPECT_EQ(best(question(matmul_problem(64, 64, 64), device_))->tier, Tier::exact);
  EXPECT_EQ(best(question(matmul_problem(64, 64, 64), kH100))->tier, Tier::same_architecture) << "the same architecture";
  EXPECT_FALSE(best(question(matmul_problem(64, 64, 64), kB200)));
  EXPECT_EQ(reasons(question(matmul_problem(64, 64, 64), kB200)),
            (std::vector<std::string>{"default: architecture: its code is for sm_90a only, the device is sm_100",
                                      "none: other device: tuned on NVIDIA H200 (sm_90), another architecture"}));
}

TEST(LookupCheckTest, Architectures) {
  EXPECT_EQ(architecture_violated("native", 0), "");
  EXPECT_EQ(architecture_violated("sm_80", 80), "");
  EXPECT_EQ(architecture_violated("sm_80", 86), "");
  EXPECT_NE(architecture_violated("sm_86", 80), "");
  EXPECT_NE(architecture_violated("sm_80", 90), "") << "a cubin does not run on the next major version";
  EXPECT_EQ(architecture_violated("sm_90a", 90), "");
  EXPECT_NE(architecture_violated("sm_90a", 100), "");
  EXPECT_NE(architecture_violated("sm_100a", 103), "");
  EXPECT_EQ(architecture_violated("sm_100f", 103), "");
  EXPECT_NE(architecture_violated("sm_90a", 0), "");
  for (const char* const odd : {"", "sm_", "sm_90x", "compute_90", "sm_99999999999999999999", "sm_90 "}) {
    EXPECT_NE(architecture_violated(odd, 90), "") << odd;
  }
}

TEST(LookupNearestTest, DistancesOfEquallyFarProblemsAreEqual) {
  const std::vector<std::int64_t> asked = {100, 300, 7};
  const auto from_asked = [&](std::vector<std::int64_t> sizes) { return problem_distance(asked, sizes); };
  EXPECT_EQ(from_asked({100, 300, 7}), 0);
  EXPECT_EQ(from_asked({50, 300, 7}), from_asked({200, 300, 7}));
  EXPECT_EQ(from_asked({150, 300, 7}), from_asked({100, 450, 7}));
  EXPECT_EQ(from_asked({300, 150, 35}), from_asked({500, 600, 21}));
  EXPECT_EQ(from_asked({400, 300, 7}), 2);
  EXPECT_GT(from_asked({100, 300, 8}), 0);
  EXPECT_GT(problem_distance(std::vector<std::int64_t>{kMaxDimension}, std::vector<std::int64_t>{kMaxDimension - 1}), 0);
  EXPECT_EQ(problem_volume(std::vector<std::int64_t>{3, 5, 7}), problem_volume(std::vector<std::int64_t>{7, 3, 5}));
}

TEST_F(LookupTiersTest, EachCandidateIsExplained) {
  tuned(matmul_problem(128, 64, 64), tile(64));                    // near, does not divide 96
  tuned(matmul_problem(64, 64, 64), tile(48));                     // not a declared value
  tuned(matmul_problem(96, 96, 64), tile(16));                     // as near, but larger: the answer
  tuned(matmul_problem(1024, 64, 64), tile(16));                   // far
  tuned(matmul_problem(96, 64, 64), tile(16), "energy");
  tuned(matmul_problem(96, 64, 64), tile(16), "time", false);
  Problem half = matmul_problem(96, 64, 64);
  half.set("dtype", std::string("f16"));
  tuned(half, tile(16));
  method_ = "warm/2";
  tuned(matmul_problem(96, 64, 64), tile(16));
  method_ = "cold/2";
  device_ = kA6000;
  tuned(matmul_problem(96, 64, 64), tile(16));
  device_ = kH100;
  tuned(matmul_problem(96, 64, 64), tile(32));                     // same architecture, not needed
  const Query query = question(matmul_problem(96, 64, 64), some_gpu());
  const std::vector<std::string> expected = {
      "near: constraint: constraint \"m % BM == 0 or BM == 16\" does not hold",
      "near: undeclared value: its configuration: BM: found \"48\", expected one of 16, 32, 64",
      "near: none",
      "same_architecture: not needed: a better candidate was found",
      "far: not needed: a better candidate was found",
      "default: not needed: a better candidate was found",
      "none: other device: tuned on NVIDIA RTX A6000 (sm_86), another architecture",
      "none: other method: measured warm/2, asked is cold",
      "none: categorical dimension: tuned for dtype = f16, asked is f32",
      "none: other objective: objective energy, asked is time"};
  std::vector<std::string> lines = reasons(query);
  ASSERT_EQ(lines.size(), expected.size() + 1);
  EXPECT_TRUE(lines[9].starts_with("none: unfinished session: session ")) << lines[9];
  lines.erase(lines.begin() + 9);
  EXPECT_EQ(lines, expected);
  const Explanation few = Lookup(file().string()).explain(query, 4);
  EXPECT_EQ(few.considered.size(), 4U);
  EXPECT_EQ(few.left_out, 7);
  EXPECT_EQ(few.answer->problem, matmul_problem(96, 96, 64).items());
}

TEST_F(LookupTiersTest, OnTheCpuTheInstructionSetIsTheArchitecture) {
  device_ = Device();
  device_.kind = "cpu";
  device_.name = "AMD EPYC 9654";
  device_.instruction_set = "x86-64 avx512";
  device_.sm_count = 8;
  device_.limits.shared_bytes_per_block_optin = 232448;
  tuned(matmul_problem(64, 64, 64), tile(64));
  Query query = question(matmul_problem(64, 64, 64), device_);
  EXPECT_EQ(best(query)->tier, Tier::exact);
  query.device.name = "Intel Xeon 8480";
  EXPECT_EQ(best(query)->tier, Tier::same_architecture);
  query.device.instruction_set = "x86-64 avx2";
  EXPECT_EQ(best(query)->tier, Tier::preset_default);
}

TEST_F(LookupTiersTest, HostileTextsAreDataOnly) {
  const std::vector<std::string> texts = {"'; DROP TABLE winner; --", "\"}]}\\", "$(touch /tmp/x)", "<script>", "a\nb", "%s%n", "../../x",
                                          std::string("nul\0inside", 10), "\xff\xfe not UTF-8", std::string(100'000, 'x'), "*/ #include"};
  for (const std::string& text : texts) {
    Store store(file());
    TrialContext hostile = context();
    hostile.kernel = text;
    hostile.kernel_hash = text;
    hostile.device.name = text;
    hostile.kernel_spec = nlohmann::ordered_json::parse(R"({"parameters": {}})");
    hostile.kernel_spec["parameters"][text] = text;
    Problem problem;
    problem.set("n", text);
    Configuration configuration;
    configuration.set("P", text);
    add_finished_session(store, hostile, problem, configuration, 10, ++seed_);
  }
  const Lookup lookup(file().string());
  for (const std::string& text : texts) {
    Query query;
    query.kernel = text;
    query.problem = {{"n", text}};
    query.device.compute_capability = 90;
    query.kernel_hash = text;
    const auto answer = lookup.best(query);
    ASSERT_TRUE(answer) << text.substr(0, 30);
    if (text[0] != '\xff') {  // what is no UTF-8 is replaced when it is stored
      EXPECT_EQ(answer->configuration, (LookupValues{{"P", text}}));
      EXPECT_EQ(answer->device.name, text);
    }
    EXPECT_FALSE(lookup.explain(query).considered.empty());
  }
  EXPECT_EQ(query_text(file(), "SELECT count(*) FROM winner"), std::to_string(texts.size()));
}

TEST_F(LookupTiersTest, RowsThatCannotBeReadArePassedOver) {
  tuned(matmul_problem(64, 64, 64), tile(32));
  const std::string good = tuned(matmul_problem(128, 64, 64), tile(32));
  const Query query = question(matmul_problem(64, 64, 64), device_);
  const std::string of_problem = " WHERE json LIKE '%\"m\":64%'";
  for (const char* const problem : {"", "{", "[]", "7", "{\"m\":64}", "{\"m\":1e300,\"n\":64,\"k\":64,\"dtype\":\"f32\"}",
                                    "{\"m\":{},\"n\":64,\"k\":64,\"dtype\":\"f32\"}", "{\"m\":64,\"m\":64,\"m\":64,\"m\":64}"}) {
    ASSERT_EQ(run_sql(file(), "UPDATE problem SET json = '" + std::string(problem) + "'" + of_problem), "");
    const auto answer = best(query);
    ASSERT_TRUE(answer) << problem;
    EXPECT_EQ(answer->session, good) << problem;
    ASSERT_EQ(run_sql(file(), "UPDATE problem SET json = '" + matmul_problem(64, 64, 64).canonical() + "' WHERE id = 1"), "");
  }
  for (const char* const configuration : {"", "{", "[1]", "{\"BM\":[]}", "{\"BM\":1.5,\"PAD\":false}", "{}"}) {
    ASSERT_EQ(run_sql(file(), "UPDATE configuration SET json = '" + std::string(configuration) + "'"), "");
    EXPECT_EQ(best(query)->tier, Tier::preset_default) << configuration;
    EXPECT_EQ(Lookup(file().string()).explain(query).considered.size(), 3U);
  }
  ASSERT_EQ(run_sql(file(), "UPDATE device SET json = '[]'"), "");
  EXPECT_EQ(best(query)->tier, Tier::preset_default);
}

}  // namespace
}  // namespace tunebook::testing
