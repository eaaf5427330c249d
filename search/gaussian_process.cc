#include "search/gaussian_process.h"

#include <algorithm>
#include <cmath>

#include "search/portable_math.h"

namespace tunebook {
namespace {

const double kSqrt5 = std::sqrt(5.0);

}  // namespace

GaussianProcess::GaussianProcess(const FeatureMap& features, const Prior& prior)
    : features_(features), prior_(prior), width_(features.size()), log_lengths_(features.size(), portable_log(prior.length)),
      log_noise_(portable_log(prior.noise)), steps_(features.size() + 1, 0.3) {
  make_tables();
}

void GaussianProcess::make_tables() {
  table_start_.clear();
  table_.clear();
  slopes_.clear();
  for (std::size_t f = 0; f < width_; ++f) {
    const FeatureMap::Feature& feature = features_.features()[f];
    const std::size_t levels = feature.positions.size();
    const double inverse = portable_exp(-log_lengths_[f]);
    table_start_.push_back(table_.size());
    for (std::size_t a = 0; a < levels; ++a) {
      for (std::size_t b = 0; b < levels; ++b) {
        const double distance = a == b ? 0 : feature.ordered ? std::fabs(feature.positions[a] - feature.positions[b]) : 1.0;
        const double r = distance * inverse;
        const double polynomial = 1 + kSqrt5 * r + 5.0 / 3 * r * r;
        table_.push_back(static_cast<float>(polynomial * portable_exp(-kSqrt5 * r)));
        slopes_.push_back(static_cast<float>(5.0 / 3 * r * r * (1 + kSqrt5 * r) / polynomial));
      }
    }
  }
}

double GaussianProcess::kernel(const std::uint8_t* x, const std::uint8_t* y) const {
  double product = 1;
  for (std::size_t f = 0; f < width_; ++f) {
    product *= static_cast<double>(table_[table_start_[f] + x[f] * features_.features()[f].positions.size() + y[f]]);
  }
  return product;
}

void GaussianProcess::fit(std::span<const std::uint8_t> levels, std::span<const double> targets, int steps) {
  const std::size_t n = targets.size();
  std::vector<double> kernel_matrix(n * n), inverse(n * n), white(n * n), alpha(n), gradient(width_ + 1), previous(width_ + 1, 0.0);
  for (int step = 0; step < steps; ++step) {
    make_tables();
    const double noise = portable_exp(log_noise_);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) kernel_matrix[i * n + j] = kernel(&levels[i * width_], &levels[j * width_]);
    }
    // Upper Cholesky factor U (K = U^T U), then W = U^-T, then K^-1 = W^T W; loops run along rows.
    std::vector<double>& upper = inverse;
    for (std::size_t i = 0; i < n; ++i) {
      upper[i * n + i] = 1 + noise;
      for (std::size_t j = i + 1; j < n; ++j) upper[i * n + j] = kernel_matrix[j * n + i];
    }
    for (std::size_t k = 0; k < n; ++k) {
      double* pivot = &upper[k * n];
      const double diagonal = 1 / std::sqrt(std::max(pivot[k], 1e-12));
      for (std::size_t j = k; j < n; ++j) pivot[j] *= diagonal;
      for (std::size_t i = k + 1; i < n; ++i) {
        const double factor = pivot[i];
        double* row = &upper[i * n];
        for (std::size_t j = i; j < n; ++j) row[j] -= factor * pivot[j];
      }
    }
    std::fill(white.begin(), white.end(), 0.0);  // W
    for (std::size_t i = 0; i < n; ++i) {
      double* row = &white[i * n];
      row[i] = 1;
      for (std::size_t k = 0; k < i; ++k) {
        const double factor = upper[k * n + i];
        const double* other = &white[k * n];
        for (std::size_t j = 0; j <= k; ++j) row[j] -= factor * other[j];
      }
      const double diagonal = 1 / upper[i * n + i];
      for (std::size_t j = 0; j <= i; ++j) row[j] *= diagonal;
    }
    std::fill(alpha.begin(), alpha.end(), 0.0);
    double square = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double* row = &white[i * n];
      double z = 0;
      for (std::size_t j = 0; j <= i; ++j) z += row[j] * targets[j];
      for (std::size_t j = 0; j <= i; ++j) alpha[j] += row[j] * z;
      square += z * z;
    }
    const double variance = std::max(square / static_cast<double>(n), 1e-12);
    std::vector<double>& precision = upper;  // K^-1, lower triangle
    std::fill(precision.begin(), precision.end(), 0.0);
    for (std::size_t k = 0; k < n; ++k) {
      const double* row = &white[k * n];
      for (std::size_t i = 0; i <= k; ++i) {
        const double factor = row[i];
        double* to = &precision[i * n];
        for (std::size_t j = 0; j <= i; ++j) to[j] += factor * row[j];
      }
    }
    std::fill(gradient.begin(), gradient.end(), 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      gradient[width_] += 0.5 * noise * (alpha[i] * alpha[i] / variance - precision[i * n + i]);
      for (std::size_t j = 0; j < i; ++j) {
        const double weight = (alpha[i] * alpha[j] / variance - precision[i * n + j]) * kernel_matrix[i * n + j];
        const std::uint8_t* x = &levels[i * width_];
        const std::uint8_t* y = &levels[j * width_];
        for (std::size_t f = 0; f < width_; ++f) {
          gradient[f] += weight * static_cast<double>(slopes_[table_start_[f] + x[f] * features_.features()[f].positions.size() + y[f]]);
        }
      }
    }
    for (std::size_t f = 0; f < width_; ++f) {
      gradient[f] -= (log_lengths_[f] - portable_log(prior_.length)) / (prior_.length_spread * prior_.length_spread);
    }
    gradient[width_] -= (log_noise_ - portable_log(prior_.noise)) / (prior_.noise_spread * prior_.noise_spread);
    // Rprop without backtracking (Igel & Huesken 2003).
    for (std::size_t f = 0; f <= width_; ++f) {
      const double agreement = gradient[f] * previous[f];
      if (agreement > 0) steps_[f] = std::min(steps_[f] * 1.2, 0.7);
      if (agreement < 0) {
        steps_[f] = std::max(steps_[f] * 0.5, 0.01);
        gradient[f] = 0;
      }
      double& parameter = f < width_ ? log_lengths_[f] : log_noise_;
      if (gradient[f] > 0) parameter += steps_[f];
      if (gradient[f] < 0) parameter -= steps_[f];
      previous[f] = gradient[f];
    }
    for (double& length : log_lengths_) length = std::clamp(length, -4.0, 4.0);
    log_noise_ = std::clamp(log_noise_, -12.0, 1.0);
  }
  make_tables();
}

void GaussianProcess::clear() {
  points_ = candidates_ = 0;
  point_levels_.clear();
  factor_.clear();
  candidate_levels_.clear();
  solved_.clear();
  variances_.clear();
}

void GaussianProcess::add_point(const std::uint8_t* levels) {
  std::vector<double> row(points_ + 1);
  double diagonal = 1 + portable_exp(log_noise_);
  for (std::size_t j = 0; j < points_; ++j) {
    double sum = kernel(levels, &point_levels_[j * width_]);
    for (std::size_t k = 0; k < j; ++k) sum -= row[k] * factor_[j][k];
    row[j] = sum / factor_[j][j];
    diagonal -= row[j] * row[j];
  }
  row[points_] = std::sqrt(std::max(diagonal, 1e-10));
  std::vector<const float*> tables;
  for (std::size_t f = 0; f < width_; ++f) {
    tables.push_back(&table_[table_start_[f] + levels[f] * features_.features()[f].positions.size()]);
  }
  std::vector<float> solved(candidates_);
  for (std::size_t c = 0; c < candidates_; ++c) {
    const std::uint8_t* candidate_levels = &candidate_levels_[c * width_];
    float product = 1;
    for (std::size_t f = 0; f < width_; ++f) product *= tables[f][candidate_levels[f]];
    solved[c] = product;
  }
  for (std::size_t j = 0; j < points_; ++j) {
    const float factor = static_cast<float>(row[j]);
    const float* other = solved_[j].data();
    for (std::size_t c = 0; c < candidates_; ++c) solved[c] -= factor * other[c];
  }
  const float inverse = static_cast<float>(1 / row[points_]);
  for (std::size_t c = 0; c < candidates_; ++c) {
    solved[c] *= inverse;
    variances_[c] = std::max(variances_[c] - solved[c] * solved[c], 1e-6F);
  }
  solved_.push_back(std::move(solved));
  factor_.push_back(std::move(row));
  point_levels_.insert(point_levels_.end(), levels, levels + width_);
  ++points_;
}

std::size_t GaussianProcess::add_candidate(const std::uint8_t* levels) {
  std::vector<double> solved(points_);
  double variance = 1;
  for (std::size_t j = 0; j < points_; ++j) {
    double sum = kernel(levels, &point_levels_[j * width_]);
    const double* row = factor_[j].data();
    for (std::size_t k = 0; k < j; ++k) sum -= solved[k] * row[k];
    solved[j] = sum / row[j];
    variance -= solved[j] * solved[j];
    solved_[j].push_back(static_cast<float>(solved[j]));
  }
  variances_.push_back(static_cast<float>(std::max(variance, 1e-6)));
  candidate_levels_.insert(candidate_levels_.end(), levels, levels + width_);
  return candidates_++;
}

std::vector<double> GaussianProcess::whiten(std::span<const double> targets) const {
  std::vector<double> z(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    double sum = targets[i];
    for (std::size_t k = 0; k < i; ++k) sum -= factor_[i][k] * z[k];
    z[i] = sum / factor_[i][i];
  }
  return z;
}

void GaussianProcess::means(std::span<const double> targets, std::vector<double>& result) const {
  const std::vector<double> z = whiten(targets);
  std::vector<float> sum(candidates_, 0.0F);
  for (std::size_t j = 0; j < z.size(); ++j) {
    const float factor = static_cast<float>(z[j]);
    const float* solved = solved_[j].data();
    for (std::size_t c = 0; c < candidates_; ++c) sum[c] += factor * solved[c];
  }
  result.assign(sum.begin(), sum.end());
}

double GaussianProcess::scale(std::span<const double> targets) const {
  double square = 0;
  for (const double z : whiten(targets)) square += z * z;
  return std::max(square / static_cast<double>(std::max<std::size_t>(targets.size(), 1)), 1e-12);
}

}  // namespace tunebook
