#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/time_model.h"
#include "sweep/cover_region.h"

namespace tunebook {

// What the book knows of a region.
struct CoverKnowledge {
  std::vector<std::vector<std::int64_t>> tuned;  // sizes of problems that have a winner
  // What answers lose by the distance from the nearest tuned problem; empty: no model was learned.
  std::vector<TimeModel::LossBin> loss;
  // The loss that the model predicts for the best usable candidate of each question; -1: it has
  // none. Empty: no model.
  std::vector<double> least_predicted;
  double usual_prediction = 0;  // the same for tuned problems, on average
};

// The question that a sweep tunes next, and why.
struct CoverPick {
  std::size_t question = 0;
  double expected_loss = 0;        // of the question as it is, a share
  std::optional<double> distance;  // from the nearest tuned problem; empty: nothing is tuned
  std::size_t helped = 0;          // questions whose expected loss falls by a tenth or more
  double before = 0, after = 0;    // the region's expected loss, without and with it
  bool no_candidate = false;       // no configuration that was timed is valid there
  std::string reason() const;      // in words
};

// Chooses by the expected loss of questions. Deterministic.
//
// The expected loss of a question rises with the distance from the nearest tuned problem, along the
// model's loss bins (without a model, along kUnknownLoss * (1 - exp(-distance))); to it comes by
// how much more than usually the model expects its best candidate to lose. A question of another
// class of divisibility is kClassStep (without a model kUnknownClassStep) further away. Where no
// candidate is valid, it is kNoCandidateLoss.
class CoverChoice {
 public:
  // What answers were seen to lose far from any tuned problem: 0.2 to 0.4 of the speed.
  static constexpr double kUnknownLoss = 0.3;
  // The preset `default` is all that remains there; it was seen to lose a half.
  static constexpr double kNoCandidateLoss = 0.5;
  // As far as 1.4 times the size: half the divisor halves the width of memory accesses.
  static constexpr double kClassStep = 0.5;
  // Before there is a model, which knows what is valid where, each class needs a tuned problem
  // first.
  static constexpr double kUnknownClassStep = 2;

  CoverChoice(const CoverRegion& region, std::vector<CoverQuestion> questions,
              CoverKnowledge knowledge);

  // The mean over the questions by weight, a share.
  double expected_loss() const;
  bool has_model() const { return !knowledge_.loss.empty(); }
  // The question that, tuned, lowers the region's expected loss most; of equal ones the first.
  // Those for which `done` is true are passed over. Empty if there is none left that helps.
  std::optional<CoverPick> next(const std::function<bool(const CoverQuestion&)>& done) const;
  // From here on the question counts as tuned.
  void tune(std::size_t question);

  const std::vector<CoverQuestion>& questions() const { return questions_; }

 private:
  double distance(const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& y) const;
  double loss_at(double distance) const;
  double loss_of(std::size_t question, double distance) const;

  std::vector<CoverDimension> dimensions_;
  std::vector<CoverQuestion> questions_;
  CoverKnowledge knowledge_;
  std::vector<double> nearest_;        // of each question; infinity: nothing is tuned
  std::vector<double> first_nearest_;  // when the model was learned
  double weight_ = 0;                  // of all questions
};

}  // namespace tunebook
