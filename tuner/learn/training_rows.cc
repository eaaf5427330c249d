#include "learn/training_rows.h"

#include <algorithm>
#include <variant>

#include "db/lookup_check.h"

namespace tunebook::learn {
namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
constexpr double kMaxLoss = 0.999;  // as predictions are clamped

}  // namespace

TrainingRows::TrainingRows(const TrainingGroup& group)
    : group_(&group), resources_(group.configurations.size()) {
  collect_rows();
  collect_features();
}

void TrainingRows::collect_rows() {
  const TrainingGroup& group = *group_;
  std::vector<bool> verified(group.configurations.size(), false);
  std::vector<std::size_t> anchor_of(group.problems.size(), kNowhere);
  for (const TrainingTrial& trial : group.trials) {
    Resource& most = resources_[trial.configuration];
    most.registers = std::max(most.registers, trial.registers);
    most.shared_bytes = std::max(most.shared_bytes, trial.shared_bytes);
    if (trial.outcome != Outcome::ok || !trial.verified || group.proved_bad[trial.configuration])
      continue;
    verified[trial.configuration] = true;
    std::size_t& anchor = anchor_of[trial.problem];
    if (anchor == kNowhere) {
      anchor = anchors_.size();
      anchors_.push_back({trial.problem, trial.configuration, trial.median_us, {}, ""});
    } else if (trial.median_us < anchors_[anchor].best_us) {
      anchors_[anchor].winner = trial.configuration;
      anchors_[anchor].best_us = trial.median_us;
    }
  }
  for (AnchorPoint& anchor : anchors_) {
    for (const auto& [name, value] : group.problems[anchor.problem].items()) {
      if (const auto* const size = std::get_if<std::int64_t>(&value)) {
        anchor.sizes.push_back(*size);
      } else {
        anchor.categories += name + "=" + to_text(value) + "\n";
      }
    }
  }
  for (std::uint32_t i = 0; i < verified.size(); ++i) {
    if (verified[i]) usable_.push_back(i);
  }
  // Trials come by problem, so the rows of an anchor stand together.
  std::size_t last = kNowhere;
  for (const TrainingTrial& trial : group.trials) {
    const std::size_t anchor = anchor_of[trial.problem];
    if (anchor == kNowhere || !has_time(trial.outcome) || group.proved_bad[trial.configuration])
      continue;
    if (anchor != last) starts_.push_back(rows_.size());
    last = anchor;
    const bool ok = trial.outcome == Outcome::ok && trial.verified;
    // An abandoned trial, or one that was not verified, may look faster than the winner: it loses
    // nothing then.
    const double loss = std::clamp(1 - anchors_[anchor].best_us / trial.median_us, 0.0, kMaxLoss);
    rows_.push_back(
        {trial.problem, trial.configuration, ok, trial.median_us, static_cast<float>(loss)});
  }
  starts_.push_back(rows_.size());
}

void TrainingRows::collect_features() {
  const TrainingGroup& group = *group_;
  features_ = automatic_features(group.spec);
  for (const std::string& text : features_)
    expressions_.push_back(Expression::compile(text, group.spec.names));
  const std::size_t all = features_.size();
  std::vector<float> values;
  values.reserve(rows_.size() * all);
  for (std::size_t anchor = 0; anchor < anchors_.size(); ++anchor) {
    Features features(*this, group.problems[anchors_[anchor].problem]);
    const auto [first, end] = rows_of(anchor);
    for (std::size_t row = first; row < end; ++row) {
      const float* const of_row = features.of(rows_[row].configuration);
      values.insert(values.end(), of_row, of_row + all);
    }
  }
  // A column that is the same everywhere tells nothing, and would be evaluated with every question.
  std::vector<std::size_t> kept;
  for (std::size_t column = 0; column < all; ++column) {
    bool varies = false;
    for (std::size_t row = 1; row < rows_.size() && !varies; ++row)
      varies = values[row * all + column] != values[column];
    if (varies) kept.push_back(column);
  }
  matrix_.columns = kept.size();
  matrix_.values.reserve(rows_.size() * kept.size());
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (const std::size_t column : kept) matrix_.values.push_back(values[row * all + column]);
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    features_[i] = features_[kept[i]];
    expressions_[i] = expressions_[kept[i]];
  }
  features_.resize(kept.size());
  expressions_.resize(kept.size());
}

bool TrainingRows::valid(const Problem& problem, std::uint32_t configuration) const {
  const Resource& needs = resources_[configuration];
  BlockNeeds block;
  if (needs.registers >= 0) block.registers_per_thread = needs.registers;
  if (needs.shared_bytes >= 0) block.shared_bytes = needs.shared_bytes;
  return check_candidate(group_->spec, problem, group_->configurations[configuration],
                         group_->device, block)
      .usable();
}

TrainingRows::Features::Features(const TrainingRows& rows, const Problem& problem)
    : rows_(rows),
      scope_(rows.group_->spec.scope(problem, rows.group_->device)),
      values_(rows.expressions_.size()) {}

const float* TrainingRows::Features::of(std::uint32_t configuration) {
  const TrainingGroup& group = *rows_.group_;
  group.spec.bind(scope_, group.configurations[configuration]);
  for (std::size_t i = 0; i < values_.size(); ++i)
    values_[i] = feature_value(rows_.expressions_[i], scope_);
  return values_.data();
}

}  // namespace tunebook::learn
