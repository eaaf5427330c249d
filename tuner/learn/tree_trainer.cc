#include "learn/tree_trainer.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xgboost/c_api.h>

#include "core/error.h"

namespace tunebook::learn {
namespace {

void check(int code, const char* call) {
  if (code != 0) throw EnvironmentError(fmt::format("XGBoost: {}: {}", call, XGBGetLastError()));
}

class DMatrix {
 public:
  DMatrix(const Matrix& rows, std::span<const float> labels) {
    // Every value counts: none stands for a missing one.
    check(XGDMatrixCreateFromMat_omp(rows.values.data(), rows.rows(), rows.columns,
                                     std::numeric_limits<float>::quiet_NaN(), &handle_, 1),
          "XGDMatrixCreateFromMat");
    const int code = XGDMatrixSetFloatInfo(handle_, "label", labels.data(), labels.size());
    if (code != 0) {
      XGDMatrixFree(handle_);
      check(code, "XGDMatrixSetFloatInfo");
    }
  }
  ~DMatrix() { XGDMatrixFree(handle_); }
  DMatrix(const DMatrix&) = delete;
  DMatrix& operator=(const DMatrix&) = delete;
  DMatrixHandle handle() const { return handle_; }

 private:
  DMatrixHandle handle_ = nullptr;
};

class Booster {
 public:
  explicit Booster(const DMatrix& rows) {
    const DMatrixHandle handle = rows.handle();
    check(XGBoosterCreate(&handle, 1, &handle_), "XGBoosterCreate");
  }
  ~Booster() { XGBoosterFree(handle_); }
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;
  BoosterHandle handle() const { return handle_; }
  void set(const char* name, const std::string& value) {
    check(XGBoosterSetParam(handle_, name, value.c_str()), "XGBoosterSetParam");
  }

 private:
  BoosterHandle handle_ = nullptr;
};

void configure(Booster& booster, double base) {
  booster.set("verbosity", "0");
  booster.set("booster", "gbtree");
  booster.set("tree_method", "hist");
  booster.set("objective", "reg:squarederror");
  booster.set("base_score", fmt::format("{}", base));
  booster.set("nthread", "1");
  booster.set("seed", fmt::format("{}", TreeSettings::kSeed));
  booster.set("eta", fmt::format("{}", TreeSettings::kEta));
  booster.set("max_depth", fmt::format("{}", TreeSettings::kMaxDepth));
  booster.set("subsample", fmt::format("{}", TreeSettings::kSubsample));
  booster.set("colsample_bytree", fmt::format("{}", TreeSettings::kColumns));
  booster.set("min_child_weight", fmt::format("{}", TreeSettings::kMinChildWeight));
}

// Losses are shares, and leaves their parts: anything like this is no loss, and would not fit a
// node.
constexpr double kLargestLeaf = 1000;

std::int64_t in_units(double loss) { return std::llround(loss / TimeModel::kLossUnit); }

// One tree of XGBoost's, its nodes renumbered so that the children of each stand side by side
// behind it.
void append_tree(const nlohmann::json& tree, std::size_t columns, Trees& result) {
  const auto left = tree.at("left_children").get<std::vector<std::int64_t>>();
  const auto right = tree.at("right_children").get<std::vector<std::int64_t>>();
  const auto features = tree.at("split_indices").get<std::vector<std::int64_t>>();
  const auto conditions = tree.at("split_conditions").get<std::vector<double>>();
  const std::size_t count = left.size();
  const auto broken = [](const char* what) {
    return EnvironmentError(fmt::format("XGBoost: its model has a tree with {}", what));
  };
  if (count == 0 || right.size() != count || features.size() != count || conditions.size() != count)
    throw broken("arrays of different lengths");
  const std::size_t root = result.nodes.size();
  result.roots.push_back(static_cast<std::uint32_t>(root));
  std::vector<std::size_t> numbers{0};  // XGBoost's, in our order
  result.nodes.emplace_back();
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    const std::size_t number = numbers[at];
    TimeModel::Node node;
    if (!std::isfinite(conditions[number])) throw broken("a number that is not finite");
    if (left[number] < 0) {
      if (std::abs(conditions[number]) > kLargestLeaf) throw broken("a leaf beyond all losses");
      node.next = static_cast<std::int32_t>(in_units(conditions[number]));
    } else {
      const auto low = static_cast<std::size_t>(left[number]),
                 high = static_cast<std::size_t>(right[number]);
      if (low >= count || right[number] < 0 || high >= count || numbers.size() + 2 > count)
        throw broken("a child out of range");
      if (features[number] < 0 || static_cast<std::size_t>(features[number]) >= columns)
        throw broken("a feature out of range");
      node.feature = static_cast<std::int32_t>(features[number]);
      node.threshold = static_cast<float>(conditions[number]);
      node.next = static_cast<std::int32_t>(result.nodes.size());
      numbers.push_back(low);
      numbers.push_back(high);
      result.nodes.resize(result.nodes.size() + 2);
    }
    result.nodes[root + at] = node;
  }
}

}  // namespace

Trees trees_from_json(std::string_view text, std::size_t columns, double base) {
  Trees result;
  result.base = in_units(base);
  try {
    const auto model = nlohmann::json::parse(text);
    for (const auto& tree : model.at("learner").at("gradient_booster").at("model").at("trees"))
      append_tree(tree, columns, result);
  } catch (const nlohmann::json::exception& error) {
    throw EnvironmentError(
        fmt::format("XGBoost {}: its model is not of the known form: {}; use XGBoost 1.7 or 2.0",
                    trainer_version(), error.what()));
  }
  return result;
}

Trees train_trees(const Matrix& rows, std::span<const float> labels, const TreeSettings& settings,
                  std::vector<float>* predicted) {
  // As f32, so that what is stored is what was trained with.
  const double sum = std::accumulate(labels.begin(), labels.end(), 0.0);
  const float base =
      labels.empty() ? 0.0F : static_cast<float>(sum / static_cast<double>(labels.size()));
  const DMatrix matrix(rows, labels);
  Booster booster(matrix);
  configure(booster, base);
  for (int round = 0; round < settings.rounds; ++round) {
    check(XGBoosterUpdateOneIter(booster.handle(), round, matrix.handle()),
          "XGBoosterUpdateOneIter");
  }
  bst_ulong length = 0;
  const char* bytes = nullptr;
  check(XGBoosterSaveModelToBuffer(booster.handle(), R"({"format": "json"})", &length, &bytes),
        "XGBoosterSaveModelToBuffer");
  Trees trees = trees_from_json(std::string_view(bytes, length), rows.columns, base);
  if (predicted != nullptr) {
    const float* values = nullptr;
    check(XGBoosterPredict(booster.handle(), matrix.handle(), 0, 0, 0, &length, &values),
          "XGBoosterPredict");
    predicted->assign(values, values + length);
  }
  return trees;
}

std::string trainer_version() {
  int major = 0, minor = 0, patch = 0;
  XGBoostVersion(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

}  // namespace tunebook::learn
