#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/device.h"
#include "core/problem.h"
#include "core/spec.h"
#include "db/time_model.h"
#include "search/least_predicted.h"
#include "search/space.h"

namespace tunebook::learn {

// What a model of time says of one problem on one device: which configurations a session should try
// first. Deterministic. Not to be shared between threads.
class Adviser {
 public:
  // `model` is of this kernel, of the problem's data type and of the device. Throws InputError if a
  // feature does not compile.
  Adviser(TimeModel model, KernelSpec spec, const Problem& problem, const Device& device);

  // Up to `count` configurations of the space, the least predicted loss first, by kPredictions
  // predictions: of all of a small space, of a large one by descent from a sample and from the
  // candidates. What the device's limits do not allow to launch is left out.
  std::vector<Configuration> best_of_space(const SearchSpace& space, std::size_t count);
  // The same among the model's candidates, which were timed on other problems.
  std::vector<Configuration> best_of_candidates(const SearchSpace& space, std::size_t count);
  // Both in turn, each configuration once: what was timed before is predicted well, and the whole
  // space has what fits no tuned problem.
  std::vector<Configuration> first_to_try(const SearchSpace& space, std::size_t count);

  // The predicted loss of the model's best candidate that is valid and can be launched here, as a
  // share; empty if there is none. At most `most` of these are predicted: candidates that were
  // timed on many problems come first in a model.
  std::optional<double> least_predicted_loss(std::size_t most);

  // The predicted loss as a share, in [0, 0.999]. Every parameter needs one of its declared values.
  double predicted_loss(const Configuration& configuration);

 private:
  struct Feature {
    std::size_t index = 0;
    Expression expression;
  };

  void bind_parameters(std::span<const std::uint16_t> row);
  void bind(std::span<const std::uint16_t> row);
  bool launches() const;
  double bound_loss() const;
  std::int64_t score(std::span<const std::uint16_t> row);
  std::vector<std::uint64_t> candidates_in(const SearchSpace& space) const;
  bool fits(const SearchSpace& space) const;

  TimeModel model_;
  KernelSpec spec_;
  Device device_;
  KernelSpec::Scope scope_;  // the problem, the device, and the configuration last asked for
  std::vector<std::vector<Scalar>> values_;  // of each parameter
  std::vector<Feature> features_;            // those that read a parameter
  std::vector<float> feature_values_;        // of all
};

}  // namespace tunebook::learn
