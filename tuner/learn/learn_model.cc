#include "learn/learn_model.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "learn/parallel_for.h"

namespace tunebook::learn {
namespace {

// What is known of a candidate over all problems.
struct CandidateSummary {
  std::uint32_t configuration = 0;
  std::int32_t problems = 0;  // that it was timed on
  float least_loss = 2;       // on the problem where it came nearest to the best
};

// The configurations that the model may answer with: timed most often first, then by canonical text
// (as the group has them).
std::vector<CandidateSummary> choose_candidates(const TrainingRows& rows) {
  std::vector<CandidateSummary> all(rows.group().configurations.size());
  for (const TrainingRows::Row& row : rows.rows()) {
    CandidateSummary& one = all[row.configuration];
    ++one.problems;
    if (row.ok) one.least_loss = std::min(one.least_loss, row.loss);
  }
  std::vector<CandidateSummary> chosen;
  for (const std::uint32_t usable : rows.usable()) {
    all[usable].configuration = usable;
    chosen.push_back(all[usable]);
  }
  if (chosen.size() > kCandidateLimit) {
    std::sort(chosen.begin(), chosen.end(),
              [](const CandidateSummary& x, const CandidateSummary& y) {
                return std::tuple(x.least_loss, -x.problems, x.configuration) <
                       std::tuple(y.least_loss, -y.problems, y.configuration);
              });
    chosen.resize(kCandidateLimit);
  }
  std::sort(chosen.begin(), chosen.end(), [](const CandidateSummary& x, const CandidateSummary& y) {
    return std::pair(-x.problems, x.configuration) < std::pair(-y.problems, y.configuration);
  });
  return chosen;
}

// Each parameter's value as its index in the declaration.
std::vector<std::uint16_t> value_indices(const KernelSpec& spec,
                                         const Configuration& configuration) {
  std::vector<std::uint16_t> indices;
  for (const Parameter& parameter : spec.parameters) {
    const auto found = std::find(parameter.values.begin(), parameter.values.end(),
                                 configuration.at(parameter.name));
    indices.push_back(static_cast<std::uint16_t>(found - parameter.values.begin()));
  }
  return indices;
}

void add_candidates(const TrainingRows& rows, const std::vector<CandidateSummary>& chosen,
                    TimeModel& model) {
  for (const CandidateSummary& one : chosen) {
    TimeModel::Candidate candidate;
    candidate.values =
        value_indices(rows.group().spec, rows.group().configurations[one.configuration]);
    const TrainingRows::Resource& needs = rows.resource(one.configuration);
    candidate.registers =
        static_cast<std::int32_t>(std::min<std::int64_t>(needs.registers, 1 << 30));
    candidate.shared_bytes = needs.shared_bytes;
    candidate.problems = one.problems;
    model.candidates.push_back(std::move(candidate));
  }
}

// A problem whose every fast configuration was cut off the list is no anchor.
void add_anchors(const TrainingRows& rows, const std::vector<CandidateSummary>& chosen,
                 TimeModel& model) {
  std::map<std::uint32_t, std::uint32_t> place;
  for (std::uint32_t i = 0; i < chosen.size(); ++i) place.emplace(chosen[i].configuration, i);
  for (std::size_t i = 0;
       i < rows.anchors().size() && model.anchors.size() < TimeModel::kMaxAnchors; ++i) {
    const TrainingRows::Row* best = nullptr;
    const auto [first, end] = rows.rows_of(i);
    for (std::size_t row = first; row < end; ++row) {
      const TrainingRows::Row& one = rows.rows()[row];
      if (one.ok && place.contains(one.configuration) &&
          (best == nullptr || one.median_us < best->median_us))
        best = &one;
    }
    if (best == nullptr) continue;
    TimeModel::Anchor anchor;
    for (const auto& [name, value] : rows.group().problems[best->problem].items())
      anchor.problem.push_back(value);
    anchor.best_us = best->median_us;
    anchor.candidate = place.at(best->configuration);
    model.anchors.push_back(std::move(anchor));
  }
}

std::string too_little(const TrainingRows& rows) {
  if (rows.anchors().size() < kMinProblems) {
    return fmt::format("{} problem{} with a verified time; {} are needed", rows.anchors().size(),
                       rows.anchors().size() == 1 ? "" : "s", kMinProblems);
  }
  if (rows.rows().size() < kMinTrials)
    return fmt::format("{} timed trials; {} are needed", rows.rows().size(), kMinTrials);
  for (const Parameter& parameter : rows.group().spec.parameters) {
    if (parameter.values.size() > 65'536)
      return fmt::format("parameter {} has more than 65,536 values", parameter.name);
  }
  if (rows.matrix().columns == 0)
    return "all its trials look alike: no size and no parameter differs";
  return "";
}

}  // namespace

LearnedModel learn_model(const TrainingGroup& group, const LearnSettings& settings) {
  const TrainingRows rows(group);
  LearnedModel result;
  result.problems = rows.anchors().size();
  result.trials = rows.rows().size();
  result.reason = too_little(rows);
  if (!result.reason.empty()) return result;

  ValidationSettings validation = settings.validation;
  if (rows.rows().size() > kManyTrials) validation.folds = std::min(validation.folds, kFoldsOfMany);
  std::vector<float> labels;
  for (const TrainingRows::Row& row : rows.rows()) labels.push_back(row.loss);
  Trees trees;
  // The model of all is one more training beside the folds'.
  parallel_for(2, validation.threads, [&](std::size_t task) {
    ValidationSettings rest = validation;
    rest.threads = std::max<std::size_t>(1, validation.threads - 1);
    if (task == 0) result.held_out = cross_validate(rows, rest);
    if (task == 1) trees = train_trees(rows.matrix(), labels, validation.trees);
  });

  TimeModel model;
  model.dtype = group.dtype;
  model.method = group.method;
  model.features = rows.features();
  model.roots = std::move(trees.roots);
  model.nodes = std::move(trees.nodes);
  model.base = trees.base;
  const std::vector<CandidateSummary> chosen = choose_candidates(rows);
  add_candidates(rows, chosen, model);
  add_anchors(rows, chosen, model);
  model.loss = loss_bins(result.held_out);
  model.trials = static_cast<std::int64_t>(rows.rows().size());
  model.learned_utc = settings.learned_utc;
  try {
    // What readers would refuse is not handed out.
    TimeModel::decode(model.encode(), group.spec, group.name);
    result.model = std::move(model);
  } catch (const InputError& error) {
    result.reason = error.what();
  }
  return result;
}

std::string learned_from(const TrainingGroup& group) {
  HashBuilder hash;
  hash.add(fmt::format("recipe {} format {}", kRecipe, TimeModel::kFormat))
      .add(group.kernel_hash)
      .add(group.dtype)
      .add(group.method);
  hash.add(group.spec.to_json().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
      .add(group.device.to_json().dump());
  for (const Problem& problem : group.problems) hash.add(problem.canonical());
  for (std::size_t i = 0; i < group.configurations.size(); ++i) {
    hash.add(group.configurations[i].canonical()).add(group.proved_bad[i] ? "bad" : "");
  }
  for (const TrainingTrial& trial : group.trials) {
    hash.add(fmt::format("{} {} {} {:x} {} {} {}", trial.problem, trial.configuration,
                         outcome_name(trial.outcome), std::bit_cast<std::uint64_t>(trial.median_us),
                         trial.registers, trial.shared_bytes, trial.verified));
  }
  return fmt::format("{}/{}", kRecipe, hash.hex());
}

}  // namespace tunebook::learn
