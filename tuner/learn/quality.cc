#include "learn/quality.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "learn/learn_book.h"

namespace tunebook::learn {
namespace {

// A geometric mean as it grows.
class Mean {
 public:
  void add(double share) {
    sum_ += std::log(std::max(share, 1e-3));  // a share of nothing would make any other irrelevant
    ++count_;
  }
  std::size_t count() const { return count_; }
  std::optional<double> value() const {
    return count_ == 0 ? std::nullopt : std::optional(std::exp(sum_ / static_cast<double>(count_)));
  }

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};

// The bin that a problem falls into, from what was seen in other folds.
std::optional<TimeModel::LossBin> bin_of(const std::vector<HeldOut>& all, const HeldOut& asked) {
  std::vector<HeldOut> others;
  for (const HeldOut& one : all) {
    if (one.fold != asked.fold) others.push_back(one);
  }
  if (others.empty()) return std::nullopt;
  TimeModel bins;
  bins.loss = loss_bins(others);
  return bins.loss_at(asked.distance);
}

std::optional<double> share_of(std::optional<double> loss) {
  return loss ? std::optional(1 - *loss) : std::nullopt;
}

QualityGroup left_out(const TrainingGroup& group, const QualityOptions& options) {
  QualityGroup result{group.name, group.kernel_hash, group.dtype, group.method, group.device, 0, {},
                      ""};
  const TrainingRows rows(group);
  result.known = rows.anchors().size();
  if (result.known < kMinProblems || rows.rows().size() < kMinTrials ||
      rows.matrix().columns == 0) {
    result.reason = fmt::format("{} problems and {} timed trials; {} and {} are needed",
                                result.known, rows.rows().size(), kMinProblems, kMinTrials);
    return result;
  }
  ValidationSettings settings;
  settings.folds = options.folds;
  settings.threads = options.threads;
  const std::vector<HeldOut> held_out = cross_validate(rows, settings);
  for (const HeldOut& one : held_out) {
    const TrainingRows::AnchorPoint& anchor = rows.anchors()[one.anchor];
    QualityQuestion question;
    question.problem = group.problems[anchor.problem];
    question.tier = "predicted";
    question.distance = one.distance;
    question.tuned = group.configurations[anchor.winner];
    question.tuned_us = anchor.best_us;
    question.answer = one.first_choice ? group.configurations[*one.first_choice] : Configuration();
    if (const auto bin = bin_of(held_out, one)) {
      question.expected_loss = bin->predicted_mean;
      question.loss_bound = bin->predicted_bound;
    }
    question.answered = 1 - one.predicted;
    question.best_of_three = 1 - one.best_of_three;
    question.nearest = one.nearest_timed ? share_of(one.nearest) : std::nullopt;
    question.preset = share_of(one.preset);
    result.questions.push_back(std::move(question));
  }
  return result;
}

}  // namespace

QualitySummary summarise(const QualityGroup& group, bool timed) {
  QualitySummary result;
  result.asked = group.questions.size();
  Mean mean, best_of_three, nearest, preset, expected;
  std::size_t bounded = 0, within = 0;
  for (const QualityQuestion& one : group.questions) {
    if (one.expected_loss) expected.add(1 - *one.expected_loss);
    if (one.best_of_three) best_of_three.add(*one.best_of_three);
    if (one.nearest) nearest.add(*one.nearest);
    if (one.preset) preset.add(*one.preset);
    const std::optional<double>& score = timed ? one.timed : one.answered;
    if (!score) continue;
    mean.add(*score);
    result.worst = std::min(result.worst.value_or(*score), *score);
    if (!one.loss_bound) continue;
    ++bounded;
    within += 1 - *score <= *one.loss_bound ? 1 : 0;
  }
  result.scored = mean.count();
  result.mean = mean.value();
  result.best_of_three = best_of_three.value();
  result.nearest = nearest.value();
  result.preset = preset.value();
  result.with_nearest = nearest.count();
  result.with_preset = preset.count();
  result.expected = expected.value();
  if (bounded > 0) result.within_bound = static_cast<double>(within) / static_cast<double>(bounded);
  return result;
}

std::vector<QualityGroup> quality_from_book(const std::filesystem::path& path,
                                            const QualityOptions& options) {
  const TrainingBook book = read_training(path, options.kernels);
  check_kernels(book, options.kernels, path);
  std::vector<QualityGroup> result;
  for (const TrainingGroup& group : book.groups) result.push_back(left_out(group, options));
  return result;
}

}  // namespace tunebook::learn
