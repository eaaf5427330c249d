#include "sweep/cover_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "db/lookup_nearest.h"

namespace tunebook {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

CoverChoice::CoverChoice(const CoverRegion& region, std::vector<CoverQuestion> questions,
                         CoverKnowledge knowledge)
    : dimensions_(region.dimensions),
      questions_(std::move(questions)),
      knowledge_(std::move(knowledge)) {
  for (const CoverQuestion& question : questions_) {
    double nearest = kInfinity;
    for (const auto& tuned : knowledge_.tuned)
      nearest = std::min(nearest, distance(question.sizes, tuned));
    nearest_.push_back(nearest);
    weight_ += question.weight;
  }
  first_nearest_ = nearest_;
}

double CoverChoice::distance(const std::vector<std::int64_t>& x,
                             const std::vector<std::int64_t>& y) const {
  double squares = problem_distance(x, y);
  squares *= squares;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const bool other =
        dimensions_[i].classes && divisibility_class(x[i]) != divisibility_class(y[i]);
    const double step = has_model() ? kClassStep : kUnknownClassStep;
    if (other) squares += step * step;
  }
  return std::sqrt(squares);
}

// Straight lines through (0, 0) and each bin's mean at its upper end; the last bin's, which has
// none, at a factor of two beyond the one before. A bin of few problems may be lower than one
// before it by chance: nearer is not worse.
double CoverChoice::loss_at(double distance) const {
  if (!has_model()) return kUnknownLoss * (1 - std::exp(-distance));
  double from = 0, loss = 0;
  for (const TimeModel::LossBin& bin : knowledge_.loss) {
    const double upto = std::isinf(bin.distance_upto) ? from + 1 : bin.distance_upto;
    const double mean = std::max(loss, bin.predicted_mean);
    if (distance < upto) return loss + (mean - loss) * (distance - from) / (upto - from);
    from = upto;
    loss = mean;
  }
  return loss;
}

double CoverChoice::loss_of(std::size_t question, double distance) const {
  if (knowledge_.least_predicted.empty() || distance == 0) return loss_at(distance);
  const double predicted = knowledge_.least_predicted[question];
  const double known = first_nearest_[question];
  // What makes the question hard goes as a tuned problem comes near.
  const double far = std::isinf(known) ? std::min(1.0, distance)
                     : known > 0       ? std::min(1.0, distance / known)
                                       : 0;
  if (predicted < 0) return std::max(loss_at(distance), kNoCandidateLoss * far);
  return std::min(1.0,
                  loss_at(distance) + std::max(0.0, predicted - knowledge_.usual_prediction) * far);
}

double CoverChoice::expected_loss() const {
  double sum = 0;
  for (std::size_t i = 0; i < questions_.size(); ++i)
    sum += questions_[i].weight * loss_of(i, nearest_[i]);
  return weight_ > 0 ? sum / weight_ : 0;
}

std::optional<CoverPick> CoverChoice::next(
    const std::function<bool(const CoverQuestion&)>& done) const {
  // A gain below this is none but rounding.
  constexpr double kLeastGain = 1e-12;
  constexpr double kHelped = 0.1;
  std::optional<CoverPick> best;
  double best_gain = kLeastGain;
  std::vector<double> now;
  for (std::size_t i = 0; i < questions_.size(); ++i) now.push_back(loss_of(i, nearest_[i]));
  for (std::size_t pick = 0; pick < questions_.size(); ++pick) {
    if (nearest_[pick] == 0 || done(questions_[pick])) continue;
    double gain = 0;
    std::size_t helped = 0;
    for (std::size_t i = 0; i < questions_.size(); ++i) {
      const double nearer = distance(questions_[i].sizes, questions_[pick].sizes);
      if (nearer >= nearest_[i]) continue;
      const double then = loss_of(i, nearer);
      gain += questions_[i].weight * (now[i] - then);
      helped += then <= (1 - kHelped) * now[i] ? 1 : 0;
    }
    if (gain <= best_gain) continue;
    best_gain = gain;
    best.emplace();
    best->question = pick;
    best->helped = helped;
  }
  if (!best) return best;
  const std::size_t pick = best->question;
  best->expected_loss = now[pick];
  if (!std::isinf(nearest_[pick])) best->distance = nearest_[pick];
  best->no_candidate = !knowledge_.least_predicted.empty() && knowledge_.least_predicted[pick] < 0;
  best->before = expected_loss();
  best->after = best->before - best_gain / weight_;
  return best;
}

void CoverChoice::tune(std::size_t question) {
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    nearest_[i] = std::min(nearest_[i], distance(questions_[i].sizes, questions_[question].sizes));
  }
}

std::string CoverPick::reason() const {
  std::string text = no_candidate ? "no configuration that was timed is valid here"
                     : distance
                         ? fmt::format("distance {:.2f} from the nearest tuned problem", *distance)
                         : "nothing is tuned here yet";
  return fmt::format(
      "expected to lose {:.1f} %: {}; helps {} shapes; the region's expected loss falls from "
      "{:.2f} "
      "to {:.2f} %",
      100 * expected_loss, text, helped, 100 * before, 100 * after);
}

}  // namespace tunebook
