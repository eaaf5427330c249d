#include "learn/cross_validation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "core/hash.h"
#include "db/lookup_nearest.h"
#include "learn/parallel_for.h"

namespace tunebook::learn {
namespace {

// Pairs of a left-out problem and a candidate that all folds together look at. Beyond that, the
// candidates timed most often stand for all.
constexpr std::size_t kMaxPairs = 200'000;
constexpr double kMaxLoss = 0.999;  // as predictions are clamped

double share(std::int64_t score) {
  return std::clamp(static_cast<double>(score) * TimeModel::kLossUnit, 0.0, kMaxLoss);
}

// Which fold each anchor belongs to.
std::vector<std::size_t> deal(const TrainingRows& rows, std::size_t folds) {
  std::vector<std::pair<std::string, std::size_t>> order;
  for (std::size_t i = 0; i < rows.anchors().size(); ++i) {
    order.emplace_back(content_hash(rows.group().problems[rows.anchors()[i].problem].canonical()),
                       i);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> fold_of(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) fold_of[order[i].second] = i % folds;
  return fold_of;
}

// Anchors of other folds by distance from one, the nearest first; those of other categories come
// last.
struct Neighbour {
  double distance = 0, volume = 0;
  std::size_t anchor = 0;
};
std::vector<Neighbour> neighbours(const TrainingRows& rows, const std::vector<std::size_t>& fold_of,
                                  std::size_t of) {
  const TrainingRows::AnchorPoint& here = rows.anchors()[of];
  std::vector<Neighbour> result;
  for (std::size_t i = 0; i < rows.anchors().size(); ++i) {
    const TrainingRows::AnchorPoint& other = rows.anchors()[i];
    if (fold_of[i] == fold_of[of] || other.categories != here.categories) continue;
    result.push_back({problem_distance(here.sizes, other.sizes), problem_volume(other.sizes), i});
  }
  std::sort(result.begin(), result.end(), [](const Neighbour& x, const Neighbour& y) {
    return std::tie(x.distance, x.volume, x.anchor) < std::tie(y.distance, y.volume, y.anchor);
  });
  return result;
}

// One fold: a model of the others, and its answers.
class Fold {
 public:
  Fold(const TrainingRows& rows, const std::vector<std::size_t>& fold_of, std::size_t fold,
       const ValidationSettings& settings)
      : rows_(rows), fold_of_(fold_of), fold_(fold) {
    known_.assign(rows.group().configurations.size(), 0);
    Matrix seen;
    seen.columns = rows.matrix().columns;
    std::vector<float> labels;
    std::size_t held_out = 0;
    for (std::size_t anchor = 0; anchor < fold_of.size(); ++anchor) {
      if (fold_of[anchor] == fold) {
        ++held_out;
        continue;
      }
      const auto [first, end] = rows.rows_of(anchor);
      seen.values.insert(seen.values.end(), rows.matrix().row(first), rows.matrix().row(end));
      for (std::size_t row = first; row < end; ++row) {
        labels.push_back(rows.rows()[row].loss);
        known_[rows.rows()[row].configuration] += rows.rows()[row].ok ? 1 : 0;
      }
    }
    const Trees trees = train_trees(seen, labels, settings.trees);
    model_.roots = trees.roots;
    model_.nodes = trees.nodes;
    model_.base = trees.base;
    for (const std::uint32_t one : rows.usable()) {
      if (known_[one] > 0) candidates_.push_back(one);
    }
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [&](std::uint32_t x, std::uint32_t y) { return known_[x] > known_[y]; });
    const std::size_t most =
        std::max<std::size_t>(1, kMaxPairs / settings.folds / std::max<std::size_t>(1, held_out));
    if (candidates_.size() > most) candidates_.resize(most);
  }

  HeldOut answer(std::size_t anchor) const {
    HeldOut result;
    result.anchor = anchor;
    result.fold = fold_;
    const std::vector<Neighbour> near = neighbours(rows_, fold_of_, anchor);
    if (!near.empty()) result.distance = near.front().distance;
    const double surprise = predict_timed(anchor, result);
    predict_all(anchor, surprise, result);
    nearest_winner(anchor, near, result);
    return result;
  }

 private:
  const Problem& problem(std::size_t anchor) const {
    return rows_.group().problems[rows_.anchors()[anchor].problem];
  }

  // The loss of a configuration that was timed on the anchor's problem.
  std::optional<double> timed_loss(std::size_t anchor, std::uint32_t configuration) const {
    const auto [first, end] = rows_.rows_of(anchor);
    const auto from = rows_.rows().begin() + static_cast<std::ptrdiff_t>(first),
               to = rows_.rows().begin() + static_cast<std::ptrdiff_t>(end);
    const auto found = std::lower_bound(
        from, to, configuration,
        [](const TrainingRows::Row& row, std::uint32_t one) { return row.configuration < one; });
    if (found == to || found->configuration != configuration) return std::nullopt;
    return found->loss;
  }

  // The choices among what was timed here. Returns by how much the first three lost more than the
  // model predicted of them.
  double predict_timed(std::size_t anchor, HeldOut& result) const {
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    const auto [first, end] = rows_.rows_of(anchor);
    for (std::size_t row = first; row < end; ++row)
      order.emplace_back(model_.predict(rows_.matrix().row(row)), row);
    std::sort(order.begin(), order.end());
    const std::size_t count = std::min<std::size_t>(3, order.size());
    double surprise = 0;
    result.predicted = result.best_of_three = rows_.rows()[order[0].second].loss;
    for (std::size_t i = 0; i < count; ++i) {
      const double loss = rows_.rows()[order[i].second].loss;
      result.best_of_three = std::min(result.best_of_three, loss);
      surprise += loss - share(order[i].first);
    }
    return surprise / static_cast<double>(count);
  }

  // The first of all candidates that are valid here, timed or not, and what it is expected to lose.
  void predict_all(std::size_t anchor, double surprise, HeldOut& result) const {
    TrainingRows::Features features(rows_, problem(anchor));
    std::vector<std::pair<std::int64_t, std::uint32_t>> order;
    for (const std::uint32_t one : candidates_)
      order.emplace_back(model_.predict(features.of(one)), one);
    std::sort(order.begin(), order.end());
    result.estimate = result.predicted;
    for (const auto& [score, one] : order) {
      const std::optional<double> loss = timed_loss(anchor, one);
      if (!loss && !rows_.valid(problem(anchor), one)) continue;
      result.first_choice = one;
      result.first_choice_loss = share(score);
      result.first_choice_timed = loss.has_value();
      // What was timed here was chosen by a search that knew this problem: alone it flatters. The
      // model's own view of a configuration that nobody timed here errs to the other side, towards
      // the mean of all. The middle is a compromise, not a derived figure (learning.md).
      const double untimed = std::clamp(share(score) + surprise, 0.0, kMaxLoss);
      result.estimate = loss ? *loss : (result.predicted + untimed) / 2;
      return;
    }
  }

  void nearest_winner(std::size_t anchor, const std::vector<Neighbour>& near,
                      HeldOut& result) const {
    const Configuration* const preset = rows_.group().spec.find_preset("default");
    const auto [first, end] = rows_.rows_of(anchor);
    for (std::size_t row = first; preset != nullptr && row < end; ++row) {
      if (rows_.group().configurations[rows_.rows()[row].configuration] == *preset)
        result.preset = rows_.rows()[row].loss;
    }
    for (const Neighbour& one : near) {
      const std::uint32_t winner = rows_.anchors()[one.anchor].winner;
      const std::optional<double> loss = timed_loss(anchor, winner);
      if (!loss && !rows_.valid(problem(anchor), winner)) continue;
      result.nearest_timed = loss.has_value();
      result.nearest =
          loss ? *loss
               : share(model_.predict(TrainingRows::Features(rows_, problem(anchor)).of(winner)));
      result.nearest_excess =
          *result.nearest - (loss ? result.predicted : result.first_choice_loss);
      return;
    }
  }

  const TrainingRows& rows_;
  const std::vector<std::size_t>& fold_of_;
  std::size_t fold_;
  TimeModel model_;  // its trees alone
  std::vector<int>
      known_;  // per configuration: on how many other problems it was fast or slow, but right
  std::vector<std::uint32_t> candidates_;
};

}  // namespace

std::vector<HeldOut> cross_validate(const TrainingRows& rows, const ValidationSettings& settings) {
  const std::size_t anchors = rows.anchors().size();
  if (anchors < 2) throw std::invalid_argument("cross_validate: it needs two problems");
  ValidationSettings used = settings;
  used.folds = std::clamp<std::size_t>(settings.folds, 2, anchors);
  const std::vector<std::size_t> fold_of = deal(rows, used.folds);
  std::vector<HeldOut> result(anchors);
  parallel_for(used.folds, used.threads, [&](std::size_t fold) {
    const Fold one(rows, fold_of, fold, used);
    for (std::size_t anchor = 0; anchor < anchors; ++anchor) {
      if (fold_of[anchor] == fold) result[anchor] = one.answer(anchor);
    }
  });
  return result;
}

double conformal_bound(std::vector<double> values, double share_below) {
  if (values.empty()) throw std::invalid_argument("conformal_bound: no values");
  std::sort(values.begin(), values.end());
  const auto rank =
      static_cast<std::size_t>(std::ceil(static_cast<double>(values.size() + 1) * share_below));
  return values[std::min(rank, values.size()) - 1];
}

std::vector<TimeModel::LossBin> loss_bins(std::vector<HeldOut> problems) {
  if (problems.empty()) throw std::invalid_argument("loss_bins: no problems");
  std::stable_sort(problems.begin(), problems.end(),
                   [](const HeldOut& x, const HeldOut& y) { return x.distance < y.distance; });
  const std::size_t bins = std::clamp<std::size_t>(problems.size() / kProblemsPerBin, 1, kMaxBins);
  std::vector<TimeModel::LossBin> result;
  std::size_t first = 0;
  for (std::size_t bin = 1; bin <= bins; ++bin) {
    std::size_t end = bin == bins ? problems.size() : std::max(first, problems.size() * bin / bins);
    // Equal distances belong to one bin.
    while (end > first && end < problems.size() &&
           problems[end].distance == problems[end - 1].distance)
      ++end;
    const bool last = bin == bins || problems.size() - end < kProblemsPerBin ||
                      std::isinf(problems[end - 1].distance);
    if (last) end = problems.size();
    if (end - first < std::min(kProblemsPerBin, problems.size())) continue;
    TimeModel::LossBin one;
    std::vector<double> losses;
    double nearest = 0;
    int answered = 0;
    for (std::size_t i = first; i < end; ++i) {
      losses.push_back(problems[i].estimate);
      nearest += problems[i].nearest_excess;
      answered += problems[i].nearest ? 1 : 0;
    }
    one.problems = static_cast<std::int32_t>(losses.size());
    one.predicted_mean =
        std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
    one.nearest_mean =
        answered > 0 ? std::clamp(one.predicted_mean + nearest / answered, 0.0, kMaxLoss)
                     : kMaxLoss;
    one.predicted_bound = conformal_bound(losses, kBoundShare);
    if (!last) one.distance_upto = problems[end - 1].distance;
    result.push_back(one);
    first = end;
    if (last) break;
  }
  return result;
}

}  // namespace tunebook::learn
