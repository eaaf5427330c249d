#include "random_models.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/spec.h"
#include "db/encoding.h"
#include "db/sqlite.h"
#include "db/time_model.h"
#include "random_book.h"

namespace tunebook::testing {
namespace {

const std::vector<std::string> kFeatures = {
    "m", "n", "k", "BM", "1 if PAD else 0", "PAD", "m * n * k", "m ** 20 * n ** 20", "m / BM", "n / 3", "ceil_div(m, BM) * BM / m",
    "k // (n - 3)", "device.sm_count", "device.shared_bytes // (BM * BM * 4)", "KIND == 'wgmma'", "KIND", "T == 'f16'", "sizeof(T)",
    "16 if m % 16 == 0 else (8 if m % 8 == 0 else 1)", "ceil_div(m, BM) * ceil_div(n, BM) / max(1, device.sm_count)", "iteration",
    "-m / 7", "0 - 1", "log2(BM)", "log2(n)", "min(m, n) if PAD else max(m, n)"};
const std::vector<std::int64_t> kSizes = {1, 3, 16, 32, 48, 64, 96, 128, 256, 1000, 4096, 65536};

float threshold(Dice& dice) {
  return dice.one_of<float>({-1, -0.5F, 0, 0.5F, 1, 1.25F, 2, 4, 16, 16.5F, 32, 64, 100, 1024.5F, 1e6F, 1e20F,
                             static_cast<float>(dice.below(100000)) / 7});
}

// The node at `index` and all below it; children lie beside each other, behind their parent.
void grow(Dice& dice, TimeModel& model, std::size_t index, int depth) {
  TimeModel::Node node;
  if (depth == 0 || model.features.empty() || dice.chance(20)) {
    node.next = static_cast<std::int32_t>(dice.below(100001) - 50000);
    model.nodes[index] = node;
    return;
  }
  node.feature = static_cast<std::int32_t>(dice.below(static_cast<std::int64_t>(model.features.size())));
  node.threshold = threshold(dice);
  node.next = static_cast<std::int32_t>(model.nodes.size());
  model.nodes[index] = node;
  model.nodes.resize(model.nodes.size() + 2);
  grow(dice, model, static_cast<std::size_t>(node.next), depth - 1);
  grow(dice, model, static_cast<std::size_t>(node.next) + 1, depth - 1);
}

bool compiles(const std::string& feature, const KernelSpec& spec) {
  try {
    Expression::compile(feature, spec.names);
    return true;
  } catch (const ExpressionError&) {
    return false;
  }
}

void add_trees(Dice& dice, TimeModel& model, const KernelSpec& spec) {
  for (const std::string& feature : kFeatures) {
    if (dice.chance(50) && compiles(feature, spec)) model.features.push_back(feature);
  }
  const std::int64_t trees = 1 + dice.below(20);
  for (std::int64_t i = 0; i < trees; ++i) {
    model.roots.push_back(static_cast<std::uint32_t>(model.nodes.size()));
    model.nodes.emplace_back();
    grow(dice, model, model.nodes.size() - 1, static_cast<int>(dice.below(6)));
  }
  model.base = dice.chance(10) ? 0 : dice.below(600000) - 50000;
}

void add_candidates(Dice& dice, TimeModel& model, const KernelSpec& spec) {
  std::set<std::vector<std::uint16_t>> seen;
  const std::int64_t count = 1 + dice.below(18);
  for (std::int64_t i = 0; i < count; ++i) {
    TimeModel::Candidate candidate;
    for (const Parameter& parameter : spec.parameters) {
      candidate.values.push_back(static_cast<std::uint16_t>(dice.below(static_cast<std::int64_t>(parameter.values.size()))));
    }
    if (!seen.insert(candidate.values).second) continue;
    candidate.registers = dice.chance(30) ? -1 : static_cast<std::int32_t>(16 + dice.below(240));
    candidate.shared_bytes = dice.chance(30) ? -1 : dice.one_of<std::int64_t>({0, 4096, 16384, 163840});
    candidate.problems = 1;
    model.candidates.push_back(candidate);
  }
}

void add_anchors(Dice& dice, TimeModel& model, const KernelSpec& spec) {
  std::set<std::vector<Value>> seen;
  const std::int64_t count = 1 + dice.below(12);
  for (std::int64_t i = 0; i < count; ++i) {
    TimeModel::Anchor anchor;
    for (const Dimension& dimension : spec.dimensions) {
      if (dimension.name == "dtype") {
        anchor.problem.emplace_back(model.dtype);
      } else if (dimension.categorical) {
        anchor.problem.emplace_back(dice.one_of(dimension.values));
      } else {
        anchor.problem.emplace_back(dice.one_of(kSizes));
      }
    }
    if (!seen.insert(anchor.problem).second) continue;
    anchor.best_us = 0.5 + static_cast<double>(dice.below(100000)) / 7;
    anchor.candidate = static_cast<std::uint32_t>(dice.below(static_cast<std::int64_t>(model.candidates.size())));
    model.anchors.push_back(std::move(anchor));
  }
}

void add_loss(Dice& dice, TimeModel& model) {
  const std::int64_t bins = 1 + dice.below(4);
  double upto = 0;
  for (std::int64_t i = 0; i < bins; ++i) {
    upto += 0.25 + static_cast<double>(dice.below(16)) / 8;
    TimeModel::LossBin bin;
    bin.distance_upto = i + 1 == bins ? std::numeric_limits<double>::infinity() : upto;
    bin.predicted_mean = static_cast<double>(dice.below(1000)) / 3000;
    bin.predicted_bound = bin.predicted_mean + static_cast<double>(dice.below(1000)) / 2000;
    bin.nearest_mean = static_cast<double>(dice.below(1000)) / 3000;
    bin.problems = static_cast<std::int32_t>(8 + dice.below(20));
    model.loss.push_back(bin);
  }
}

}  // namespace

void add_random_models(const std::filesystem::path& book, std::uint64_t seed) {
  Dice dice(seed);
  sqlite::Database database(book, sqlite::Database::Mode::read_write);
  struct Kernel {
    std::int64_t row;
    KernelSpec spec;
  };
  std::vector<Kernel> kernels;
  std::vector<std::int64_t> devices;
  {
    sqlite::Statement select(database, "SELECT id, spec FROM kernel");
    sqlite::Statement::Run row = select.run();
    while (row.next()) {
      try {
        kernels.push_back({row.integer(0), KernelSpec::parse(nlohmann::ordered_json::parse(row.text(1)), "kernel")});
      } catch (const InputError&) {  // a recording
      }
    }
    sqlite::Statement all(database, "SELECT id FROM device");
    sqlite::Statement::Run device = all.run();
    while (device.next()) devices.push_back(device.integer(0));
  }
  sqlite::Statement insert(database,
                           "INSERT INTO model (kernel_id, device_id, dtype, method, format, content_hash, body, trials, problems, "
                           "learned_from, learned_utc) VALUES (?, ?, ?, ?, ?, ?, ?, 100, 10, 'here', ?)");
  std::vector<std::pair<const Kernel*, std::int64_t>> places;
  for (const Kernel& kernel : kernels) {
    for (const std::int64_t device : devices) places.emplace_back(&kernel, device);
  }
  while (!places.empty()) {  // in any order: a larger id need not be of a newer version
    const auto at = places.begin() + dice.below(static_cast<std::int64_t>(places.size()));
    const auto [kernel, device] = *at;
    places.erase(at);
    for (const char* const dtype : {"f32", "f16"}) {
      for (const char* const method : {"cold/2", "cold/3", "warm/2"}) {
        if (!dice.chance(25)) continue;
        TimeModel model;
        model.dtype = dtype;
        model.method = method;
        model.learned_utc = "2026-12-01T00:00:00.000000Z";
        model.trials = 100;
        add_trees(dice, model, kernel->spec);
        add_candidates(dice, model, kernel->spec);
        add_anchors(dice, model, kernel->spec);
        add_loss(dice, model);
        std::string body = model.encode();
        if (dice.chance(10)) body.resize(body.size() / 2);
        insert.execute(kernel->row, device, model.dtype, model.method, TimeModel::kFormat, as_blob(to_hash(content_hash(body))),
                       sqlite::Blob{body}, model.learned_utc);
      }
    }
  }
}

}  // namespace tunebook::testing
