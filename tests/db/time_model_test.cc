// Models of time: their bytes, their predictions, and the features of a declaration.

#include "db/time_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "book_fixture.h"
#include "core/error.h"
#include "core/random.h"
#include "core/template_folder.h"
#include "some_model.h"

namespace tunebook::testing {
namespace {

using Node = TimeModel::Node;

float value_of(const KernelSpec& spec, const std::string& text, const Problem& problem,
               const Configuration& configuration, const Device& device = some_gpu()) {
  KernelSpec::Scope scope = spec.scope(problem, device);
  spec.bind(scope, configuration);
  return feature_value(Expression::compile(text, spec.names), scope);
}

TEST(TimeModelTest, BytesGiveTheModelBack) {
  const KernelSpec spec = fixture_spec();
  TimeModel model = some_model();
  EXPECT_EQ(TimeModel::decode(model.encode(), spec, "test"), model);
  EXPECT_EQ(model.encode().substr(0, 8), std::string("TBTM\1\0\0\0", 8));

  model.features.clear();  // the least that a model can be
  model.roots.clear();
  model.nodes.clear();
  model.base = -7;
  model.candidates.resize(1);
  model.anchors.resize(1);
  model.loss.erase(model.loss.begin());
  EXPECT_EQ(TimeModel::decode(model.encode(), spec, "test"), model);
  EXPECT_EQ(model.predict(nullptr), -7);
}

TEST(TimeModelTest, PredictsTheSumOfTheLeaves) {
  const TimeModel model = some_model();
  const auto predict = [&](float m, float bm) {
    const std::vector<float> values = {m, bm};
    return model.predict(values.data());
  };
  EXPECT_EQ(predict(64, 16), 1005);
  EXPECT_EQ(predict(64, 32), 2005);
  EXPECT_EQ(predict(64, 64), 3005);
  EXPECT_EQ(predict(512, 16), 1005);  // a value equal to the threshold is not below it
  EXPECT_EQ(predict(511, 32), 2005);
  EXPECT_EQ(predict(512, 32), 105);
  EXPECT_EQ(predict(512, 64), 55);
}

TEST(TimeModelTest, LossByDistance) {
  const TimeModel model = some_model();
  EXPECT_EQ(&model.loss_at(0), &model.loss[0]);
  EXPECT_EQ(&model.loss_at(1), &model.loss[0]);
  EXPECT_EQ(&model.loss_at(1.0001), &model.loss[1]);
  EXPECT_EQ(&model.loss_at(std::numeric_limits<double>::infinity()), &model.loss[1]);
}

TEST(TimeModelTest, RefusesWhatItsHeaderForbids) {
  const KernelSpec spec = fixture_spec();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<std::function<void(TimeModel&)>, std::string>> cases = {
      {[](TimeModel& m) { m.dtype = "f64"; }, "no dtype 'f64'"},
      {[](TimeModel& m) { m.method.clear(); }, "names no method"},
      {[](TimeModel& m) { m.features[0] = "m +"; }, "feature 0 \"m +\", column"},
      {[](TimeModel& m) { m.features[0] = "nobody"; }, "feature 0 \"nobody\", column 1"},
      {[](TimeModel& m) { m.features.resize(TimeModel::kMaxFeatures + 1, "m"); }, "257 features"},
      {[](TimeModel& m) { m.nodes[0].feature = 2; }, "feature 3 is out of range"},
      {[](TimeModel& m) { m.nodes[0].next = 0; }, "does not point forwards"},
      {[](TimeModel& m) { m.nodes[9].next = 8; }, "points out of range"},
      {[](TimeModel& m) { m.nodes[3].next = 6; }, "points out of its tree"},
      {[](TimeModel& m) { m.nodes[9].next = 11; }, "points out of its tree"},
      {[](TimeModel& m) { m.nodes[3].next = 4; }, "two parents"},
      {[](TimeModel& m) { m.nodes[0].threshold = std::numeric_limits<float>::infinity(); },
       "threshold is not finite"},
      {[](TimeModel& m) {
         m.roots = {1, 7};
       },
       "before the first tree"},
      {[](TimeModel& m) {
         m.roots = {0, 0};
       },
       "roots do not ascend"},
      {[](TimeModel& m) {
         m.roots = {0, 12};
       },
       "a root is out of range"},
      {[](TimeModel& m) { m.base = std::numeric_limits<std::int64_t>::min(); }, "a base of"},
      {[](TimeModel& m) { m.candidates.clear(); }, "no candidate"},
      {[](TimeModel& m) { m.candidates[0].values[0] = 3; }, "value 3 is out of range, there are 3"},
      {[](TimeModel& m) { m.candidates[1] = m.candidates[0]; }, "candidate is there twice"},
      {[](TimeModel& m) { m.candidates[0].registers = -2; }, "registers of -2"},
      {[](TimeModel& m) { m.candidates[0].shared_bytes = -2; }, "shared bytes of -2"},
      {[](TimeModel& m) { m.candidates[0].problems = -1; }, "number of problems of -1"},
      {[](TimeModel& m) { m.anchors.clear(); }, "no tuned problem"},
      {[](TimeModel& m) { m.anchors[1] = m.anchors[0]; }, "problem is there twice"},
      {[](TimeModel& m) { m.anchors[0].problem[0] = std::int64_t{0}; }, "a size of 0"},
      {[](TimeModel& m) { m.anchors[0].problem[0] = std::string("64"); }, "tuned problem 0"},
      {[](TimeModel& m) { m.anchors[0].problem[3] = std::string("f16"); }, "another dtype"},
      {[](TimeModel& m) { m.anchors[0].best_us = 0; }, "time is not finite"},
      {[=](TimeModel& m) { m.anchors[0].best_us = kNaN; }, "time is not finite"},
      {[](TimeModel& m) { m.anchors[0].candidate = 3; }, "candidate 3 is out of range"},
      {[](TimeModel& m) { m.loss.clear(); }, "no expected loss"},
      {[=](TimeModel& m) { m.loss[0].distance_upto = kInfinity; }, "last distance alone"},
      {[](TimeModel& m) { m.loss[1].distance_upto = 5; }, "last distance alone"},
      {[=](TimeModel& m) { m.loss[0].distance_upto = kNaN; }, "do not ascend"},
      {[](TimeModel& m) { m.loss.insert(m.loss.begin(), m.loss[0]); }, "do not ascend"},
      {[=](TimeModel& m) { m.loss[0].predicted_mean = kNaN; }, "expected loss is no share"},
      {[](TimeModel& m) { m.loss[0].predicted_bound = 1.5; }, "bound of losses is no share"},
      {[](TimeModel& m) { m.loss[1].nearest_mean = -0.1; }, "expected loss is no share"},
      {[](TimeModel& m) { m.trials = -1; }, "number of trials of -1"},
  };
  for (const auto& [damage, expected] : cases) {
    TimeModel model = some_model();
    damage(model);
    const std::string error = error_of([&] { TimeModel::decode(model.encode(), spec, "model 7"); });
    EXPECT_NE(error.find(expected), std::string::npos)
        << "expected \"" << expected << "\", found \"" << error << "\"";
    EXPECT_TRUE(error.starts_with("model 7: ")) << error;
  }
}

TEST(TimeModelTest, RefusesTreesThatAreTooDeep) {
  TimeModel model = some_model();
  const auto chain = [&](std::size_t depth) {
    model.roots = {0};
    model.nodes.clear();
    for (std::size_t i = 0; i < depth; ++i) {
      const auto at = static_cast<std::int32_t>(model.nodes.size());
      model.nodes.push_back({0, 1, at + (i == 0 ? 1 : 2)});
      if (i > 0) model.nodes.push_back({Node::kLeaf, 0, 1});
    }
    model.nodes.push_back({Node::kLeaf, 0, 2});
    model.nodes.push_back({Node::kLeaf, 0, 3});
  };
  chain(TimeModel::kMaxDepth);
  EXPECT_EQ(TimeModel::decode(model.encode(), fixture_spec(), "test"), model);
  chain(TimeModel::kMaxDepth + 1);
  EXPECT_NE(
      error_of([&] { TimeModel::decode(model.encode(), fixture_spec(), "test"); }).find("too deep"),
      std::string::npos);
}

TEST(TimeModelTest, RefusesOtherBytes) {
  const KernelSpec spec = fixture_spec();
  const std::string good = some_model().encode();
  const auto error = [&](const std::string& bytes) {
    return error_of([&] { TimeModel::decode(bytes, spec, "test"); });
  };
  EXPECT_NE(error("").find("no model of time"), std::string::npos);
  EXPECT_NE(error("SQLite format 3").find("no model of time"), std::string::npos);
  std::string other = good;
  other[4] = 2;
  EXPECT_NE(error(other).find("format 2, this program reads 1"), std::string::npos);
  EXPECT_NE(error(good + '\0').find(" are there; learn it again"), std::string::npos);
  for (std::size_t size = 0; size < good.size(); ++size)
    ASSERT_NE(error(good.substr(0, size)), "") << size;
}

// Bytes that are changed at random are refused, or are another model that is safe to use; never
// anything else.
TEST(TimeModelTest, ChangedBytesAreRefusedOrAModel) {
  const KernelSpec spec = fixture_spec();
  const std::string good = some_model().encode();
  Random random(20261201);
  int refused = 0;
  constexpr int kRounds = 20'000;
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = good;
    const std::uint64_t changes = 1 + random.below(4);
    for (std::uint64_t i = 0; i < changes; ++i) {
      const std::size_t at = random.below(bytes.size());
      switch (random.below(4)) {
        case 0:
          bytes[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          bytes[at] =
              static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1u << random.below(8)));
          break;
        case 2:
          bytes.erase(at, 1 + random.below(4));
          break;
        default:
          bytes.insert(at, 1 + random.below(4), static_cast<char>(random.below(256)));
          break;
      }
    }
    // The length is made right, or nothing behind it would be reached.
    for (std::size_t i = 0; i < 8 && bytes.size() >= 16; ++i)
      bytes[8 + i] = static_cast<char>((bytes.size() >> (8 * i)) & 0xff);
    try {
      const TimeModel model = TimeModel::decode(bytes, spec, "test");
      ASSERT_EQ(model.encode(), bytes) << "a model has one encoding";
      std::vector<float> values(model.features.size(), 100.0f);
      model.predict(values.data());
      model.loss_at(0.5);
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, kRounds / 3);
  EXPECT_LT(refused, kRounds) << "some changes give another model";
}

TEST(TimeModelTest, ValuesOfFeatures) {
  const KernelSpec spec = fixture_spec();
  const auto value = [&](const std::string& text) {
    return value_of(spec, text, matmul_problem(100, 64, 64), tile(32, true));
  };
  EXPECT_EQ(value("m"), 100.0f);
  EXPECT_EQ(value("PAD"), 1.0f);
  EXPECT_EQ(value("m / 3"), static_cast<float>(100.0 / 3.0));
  EXPECT_EQ(value("16777217 + m * 0"), 16777216.0f) << "rounded once to f32";
  EXPECT_EQ(value("dtype"), TimeModel::kNoValue);
  EXPECT_EQ(value("m / (n - 64)"), TimeModel::kNoValue);
  EXPECT_EQ(value("eps"), TimeModel::kNoValue) << "has no value";
}

TEST(TimeModelTest, AutomaticFeatures) {
  const KernelSpec spec = fixture_spec();
  const std::vector<std::string> features = automatic_features(spec);
  const std::vector<std::string> first = {
      "m",
      "16 if m % 16 == 0 else 8 if m % 8 == 0 else 4 if m % 4 == 0 else 2 if m % 2 == 0 else 1",
      "n"};
  ASSERT_GE(features.size(), first.size());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), features.begin()));
  const auto has = [&](const std::string& text) {
    return std::find(features.begin(), features.end(), text) != features.end();
  };
  for (const char* const text :
       {"m * n * k", "BM", "1 if PAD else 0", "(n) / (BM)", "ceil_div(m, BM) * (BM) / (m)"}) {
    EXPECT_TRUE(has(text)) << text;
  }
  EXPECT_FALSE(has("dtype == 'f16'")) << "each dtype has a model of its own";

  // Blocks of 32 x 4 threads and 4 KiB: 16 fit by threads, 4 * 7 rows of blocks on 132 SMs.
  Device gpu = some_gpu();
  gpu.limits.max_threads_per_sm = 2048;
  gpu.limits.shared_bytes_per_sm = 233472;
  std::vector<float> values;
  for (const std::string& text : features)
    values.push_back(value_of(spec, text, matmul_problem(200, 100, 64), tile(32), gpu));
  const auto has_value = [&](float value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  for (const float value : {200.0f, 8.0f, 4.0f, 128.0f, 28.0f, 4096.0f, 16.0f})
    EXPECT_TRUE(has_value(value)) << value;
  EXPECT_TRUE(has_value(static_cast<float>(28.0 / (132 * 16)))) << "waves";
  EXPECT_TRUE(has_value(static_cast<float>(132 * 16 / 28.0)))
      << "a whole wave over what it is filled to";
  EXPECT_TRUE(has_value(static_cast<float>(100.0 / 32))) << "tiles";
  EXPECT_TRUE(has_value(static_cast<float>(128.0 / 100))) << "waste";
  EXPECT_FALSE(has_value(TimeModel::kNoValue));

  gpu.sm_count = 0;  // an unknown number: no value, no fault
  values.clear();
  for (const std::string& text : features)
    values.push_back(value_of(spec, text, matmul_problem(200, 100, 64), tile(32), gpu));
  EXPECT_TRUE(has_value(TimeModel::kNoValue));
}

TEST(TimeModelTest, AutomaticFeaturesOfAllBundledTemplates) {
  std::size_t kernels = 0;
  for (const TemplateEntry& entry : find_templates({TUNEBOOK_BUNDLED_TEMPLATES})) {
    const KernelTemplate kernel = load_template(entry.folder);
    const std::vector<std::string> features = automatic_features(kernel.spec);
    EXPECT_GE(features.size(), 10u) << entry.name;
    EXPECT_LE(features.size(), TimeModel::kMaxFeatures) << entry.name;
    std::size_t length = 0, missing = 0;
    const Problem problem = kernel.spec.default_problem();
    const Configuration* const preset = kernel.spec.find_preset("default");
    Device gpu = some_gpu();
    for (const std::string& text : features) {
      length += text.size();
      if (value_of(kernel.spec, text, problem, *preset, gpu) == TimeModel::kNoValue) ++missing;
    }
    EXPECT_LT(length, std::size_t{1} << 16) << entry.name;
    EXPECT_LE(missing * 4, features.size()) << entry.name << ": most have a value";
    ++kernels;
  }
  EXPECT_GE(kernels, 10u);
}

}  // namespace
}  // namespace tunebook::testing
