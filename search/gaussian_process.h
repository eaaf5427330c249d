#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/feature_map.h"

namespace tunebook {

// Gaussian-process regression over the levels of a FeatureMap (Rasmussen & Williams 2006): a product of Matern-5/2 kernels with
// a length scale for each parameter, tabulated over pairs of levels, so that a kernel value costs a multiplication per parameter.
// The prior variance is 1; fit() chooses the length scales and the noise by the marginal likelihood with the variance profiled out.
// Candidates are predicted incrementally: a new point costs O(points) for each candidate.
class GaussianProcess {
 public:
  struct Prior {
    double length = 0.5;        // median of the length scales, on the features' scale from 0 to 1
    double length_spread = 1.0; // standard deviation of their logarithm
    double noise = 1e-2;        // median of the noise variance, relative to the prior variance
    double noise_spread = 1.0;
  };

  GaussianProcess(const FeatureMap& features, const Prior& prior);

  // Gradient steps (Rprop) uphill on the posterior of the hyperparameters, from where they are. `levels` holds one row of
  // features().size() for each of `targets`, whose mean should be 0. Points and candidates are then to be given anew.
  void fit(std::span<const std::uint8_t> levels, std::span<const double> targets, int steps);

  void clear();
  std::size_t points() const { return points_; }
  std::size_t candidates() const { return candidates_; }
  // Conditions on a further point; its target is given by set_targets().
  void add_point(const std::uint8_t* levels);
  // Returns its number.
  std::size_t add_candidate(const std::uint8_t* levels);
  const std::uint8_t* candidate(std::size_t n) const { return candidate_levels_.data() + n * width_; }

  // Posterior means at the candidates for targets of the first targets.size() points; later ones are taken to be as predicted.
  void means(std::span<const double> targets, std::vector<double>& result) const;
  // Posterior variances at the candidates, in units of the prior variance, noise not included.
  const std::vector<float>& variances() const { return variances_; }
  // Estimate of the prior variance from the targets.
  double scale(std::span<const double> targets) const;

 private:
  void make_tables();
  double kernel(const std::uint8_t* x, const std::uint8_t* y) const;
  std::vector<double> whiten(std::span<const double> targets) const;

  const FeatureMap& features_;
  Prior prior_;
  std::size_t width_;
  std::vector<double> log_lengths_;
  double log_noise_;
  std::vector<double> steps_;
  std::vector<std::size_t> table_start_;   // of each feature
  std::vector<float> table_;               // kernel values by pair of levels
  std::vector<float> slopes_;              // derivative by the logarithm of the length, relative to the kernel value

  std::size_t points_ = 0;
  std::vector<std::uint8_t> point_levels_;
  std::vector<std::vector<double>> factor_;      // Cholesky rows
  std::size_t candidates_ = 0;
  std::vector<std::uint8_t> candidate_levels_;
  std::vector<std::vector<float>> solved_;       // per point: L^-1 k over the candidates
  std::vector<float> variances_;
};

}  // namespace tunebook
