#include "model_book.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/template_folder.h"
#include "db/lookup_limits.h"
#include "db/store.h"
#include "db/time_model.h"
#include "search/space.h"

namespace tunebook::testing {
namespace {

Device h200() {
  Device device;
  device.kind = "cuda";
  device.name = "NVIDIA H200";
  device.compute_capability = 90;
  device.sm_count = 132;
  device.memory_gib = 140;
  device.limits = limits_of_compute_capability(90);
  return device;
}

Problem some_problem(const KernelSpec& spec, Random& random) {
  Problem problem = spec.default_problem();
  for (const char* const size : {"m", "n", "k"}) {
    const auto value = static_cast<std::int64_t>(std::exp2(13 * random.uniform()));
    const std::int64_t step = random.below(3) == 0 ? 1 : 8;
    problem.set(size, std::max(value / step, std::int64_t{1}) * step);
  }
  return problem;
}

void add_candidates(const KernelSpec& spec, Random& random, std::size_t count, TimeModel& model) {
  std::set<std::vector<std::uint16_t>> seen;
  while (model.candidates.size() < count) {
    const SearchSpace space =
        SearchSpace::build(space_definition(spec, some_problem(spec, random), h200()));
    std::vector<std::uint16_t> row(space.parameter_count());
    const std::size_t enough = std::min(count, model.candidates.size() + count / 10);
    for (int attempt = 0; attempt < 1000 && space.size() > 0 && model.candidates.size() < enough;
         ++attempt) {
      space.row(random.below(space.size()), row);
      if (seen.insert(row).second) model.candidates.push_back({row, 96, 32768, 1});
    }
  }
}

// Values of all features for some candidates on some problems: what thresholds are drawn from.
std::vector<std::vector<float>> sample_values(const KernelSpec& spec, Random& random,
                                              const TimeModel& model) {
  std::vector<Expression> features;
  for (const std::string& text : model.features)
    features.push_back(Expression::compile(text, spec.names));
  std::vector<std::vector<float>> samples;
  for (int i = 0; i < 400; ++i) {
    KernelSpec::Scope scope = spec.scope(some_problem(spec, random), h200());
    const TimeModel::Candidate& candidate = model.candidates[random.below(model.candidates.size())];
    for (std::size_t p = 0; p < spec.parameters.size(); ++p) {
      scope[spec.dimensions.size() + p] =
          Scalar::from(spec.parameters[p].values[candidate.values[p]]);
    }
    std::vector<float>& values = samples.emplace_back();
    for (const Expression& feature : features) values.push_back(feature_value(feature, scope));
  }
  return samples;
}

void add_tree(Random& random, int depth, double scale,
              const std::vector<std::vector<float>>& samples, TimeModel& model) {
  model.roots.push_back(static_cast<std::uint32_t>(model.nodes.size()));
  std::vector<std::pair<std::size_t, int>> open = {{model.nodes.size(), 0}};
  model.nodes.emplace_back();
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [at, level] = open[i];
    if (level == depth) {
      model.nodes[at].next = static_cast<std::int32_t>(scale * random.normal());
      continue;
    }
    const std::size_t feature = random.below(model.features.size()), children = model.nodes.size();
    model.nodes[at] = {static_cast<std::int32_t>(feature),
                       samples[random.below(samples.size())][feature],
                       static_cast<std::int32_t>(children)};
    model.nodes.resize(children + 2);
    open.emplace_back(children, level + 1);
    open.emplace_back(children + 1, level + 1);
  }
}

}  // namespace

void ModelBook::write(const std::filesystem::path& path) const {
  const KernelTemplate kernel =
      load_template(std::filesystem::path(TUNEBOOK_BUNDLED_TEMPLATES) / "matmul");
  const KernelSpec& spec = kernel.spec;
  Random random(16);
  TimeModel model;
  model.dtype = "f32";
  model.method = "cold/2";
  model.features = automatic_features(spec);
  add_candidates(spec, random, candidates, model);
  const auto samples = sample_values(spec, random, model);
  double scale = 60'000;
  for (std::size_t i = 0; i < trees; ++i, scale *= 0.985)
    add_tree(random, depth, scale, samples, model);
  for (int i = 0; i < 40; ++i) {
    const Problem problem = some_problem(spec, random);
    TimeModel::Anchor anchor{{}, 100, 0};
    for (const Dimension& dimension : spec.dimensions)
      anchor.problem.push_back(problem.at(dimension.name));
    model.anchors.push_back(std::move(anchor));
  }
  model.loss = {{std::numeric_limits<double>::infinity(), 0.05, 0.1, 0.2, 40}};
  model.learned_utc = "2026-12-01T00:00:00.000000Z";

  TrialContext context;
  context.kernel = spec.name;
  context.kernel_hash = "hash-1";
  context.kernel_spec = spec.to_json();
  context.device = h200();
  context.toolchain = "none";
  context.method = model.method;
  Store store(path);
  SessionRecord session;
  session.problem = spec.default_problem();
  session.strategy = "random";
  session.identity = {{"seed", 1}};
  const std::string id = store.open_session(context, session, true).id;
  WinnerRecord winner;
  winner.session_id = id;
  winner.configuration = *spec.find_preset("default");
  winner.median_us = 100;
  winner.finalists.resize(1);
  winner.finalists.front().configuration = *spec.find_preset("default");
  winner.finalists.front().median_us = 100;
  store.record_winner(context, session.problem, winner);
  store.finish_session(id, 1);
  ModelRecord record;
  record.kernel = 1;
  record.device = 1;
  record.format = TimeModel::kFormat;
  record.dtype = model.dtype;
  record.method = model.method;
  record.body = model.encode();
  record.problems = 40;
  record.learned_from = "random";
  record.learned_utc = model.learned_utc;
  store.replace_models({record});
}

Query ModelBook::question(int number) {
  Random random(static_cast<std::uint64_t>(number) + 1000);
  const auto size = [&] {
    const auto value = static_cast<std::int64_t>(std::exp2(13 * random.uniform()));
    return random.below(3) == 0 ? std::max(value | 1, std::int64_t{1})
                                : std::max(value / 8, std::int64_t{1}) * 8;
  };
  Query query;
  query.kernel = "matmul";
  query.problem = {{"m", size()}, {"n", size()}, {"k", size()}, {"dtype", std::string("f32")}};
  query.device = to_device_key(h200());
  query.kernel_hash = "hash-1";
  return query;
}

}  // namespace tunebook::testing
