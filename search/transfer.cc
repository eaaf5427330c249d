#include "search/transfer.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "core/error.h"
#include "search/portable_math.h"

namespace tunebook {
namespace {

// The constants stand on wide plateaus of the recorded cases: search/transfer.md.
constexpr double kKinWeight = 3;          // of a donor of the same vendor
constexpr double kNeighbourShareKin = 0.2, kNeighbourShareStrange = 0.5;
constexpr double kDisagreementKin = 1;    // times the standard deviation over the donors
// The process: standard deviations of the part by distance, of each donor's weight, and of a measurement, in log time.
constexpr double kSpaceSigma = 0.5, kDonorSigma = 0.5, kNoise = 0.03;
constexpr double kLength = 0.5;           // of a distance to which a changed parameter adds from a half to one
constexpr double kOffsetVariance = 4;     // how fast the target's best is, nobody knows
constexpr double kBounds = 4;             // standard deviations below the mean at the first trial; none at the last
constexpr double kMaxSlowdown = 2;        // log: beyond a factor of seven it no longer matters how bad it is
constexpr double kFailed = 1.5 * kMaxSlowdown;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Log slowdowns by configuration of `space`; what has no time is as bad as the worst.
std::vector<double> slowdowns(const SearchSpace& space, const Recording& donor) {
  std::vector<double> result(space.size(), kNone);
  double best = std::numeric_limits<double>::infinity();
  for (std::uint64_t i = 0; i < donor.size(); ++i) {
    if (const auto time = donor.entry(i).time_us) best = std::min(best, *time);
  }
  if (!std::isfinite(best)) throw InputError(fmt::format("{}: no configuration has a time, so it tells nothing of other GPUs", donor.name()));
  double worst = 0;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    const auto entry = donor.lookup(space.configuration(i));
    if (!entry || !entry->time_us) continue;
    result[i] = portable_log(*entry->time_us / best);
    worst = std::max(worst, result[i]);
  }
  for (double& value : result) {
    if (std::isnan(value)) value = worst;
  }
  return result;
}

double middle(std::vector<double> values) {
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  return *half;
}

}  // namespace

std::string_view gpu_vendor(std::string_view name) {
  std::string lower;
  for (const char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto has = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
  // A word of letters and then digits, such as MI250X or W7800.
  const auto model = [&](std::string_view letters) {
    for (std::size_t at = lower.find(letters); at != std::string::npos; at = lower.find(letters, at + 1)) {
      const bool begins = at == 0 || std::isalnum(static_cast<unsigned char>(lower[at - 1])) == 0;
      const std::size_t next = at + letters.size();
      if (begins && next + 1 < lower.size() && std::isdigit(static_cast<unsigned char>(lower[next])) != 0 &&
          std::isdigit(static_cast<unsigned char>(lower[next + 1])) != 0) {
        return true;
      }
    }
    return false;
  };
  for (const char* const word : {"nvidia", "geforce", "rtx", "gtx", "tesla", "quadro", "titan"}) {
    if (has(word)) return "nvidia";
  }
  for (const char* const word : {"amd", "radeon", "instinct", "gfx"}) {
    if (has(word)) return "amd";
  }
  for (const char* const word : {"intel", "arc "}) {
    if (has(word)) return "intel";
  }
  for (const char* const letters : {"a", "b", "h", "l", "t", "v", "p", "gh", "gb", "rtx"}) {
    if (model(letters)) return "nvidia";
  }
  for (const char* const letters : {"mi", "w", "rx"}) {
    if (model(letters)) return "amd";
  }
  return "";
}

const std::string& gpu_of(const Recording& recording) {
  return recording.device().name.empty() ? recording.name() : recording.device().name;
}

GpuTransfer::GpuTransfer(const SearchSpace& space, std::string_view target_gpu, const std::vector<const Recording*>& donors)
    : space_(space), size_(static_cast<std::size_t>(space.size())), width_(space.parameter_count()), tried_(size_, false) {
  if (donors.empty()) throw InputError("no other GPU was recorded for this kernel and problem");
  rows_.resize(size_ * width_);
  place_.resize(size_ * width_);
  for (std::size_t i = 0; i < size_; ++i) {
    space.row(i, std::span(rows_).subspan(i * width_, width_));
    for (std::size_t p = 0; p < width_; ++p) {
      const std::size_t domain = space.domain_size(p);
      place_[i * width_ + p] = domain < 2 ? 0 : static_cast<double>(rows_[i * width_ + p]) / static_cast<double>(domain - 1);
    }
  }
  const std::string_view vendor = gpu_vendor(target_gpu);
  std::vector<double> weights;
  bool kin = false;
  for (const Recording* donor : donors) {
    const bool same = !vendor.empty() && gpu_vendor(gpu_of(*donor)) == vendor;
    kin = kin || same;
    weights.push_back(same ? kKinWeight : 1);
    donors_.push_back(slowdowns(space, *donor));
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= total;

  const double share = kin ? kNeighbourShareKin : kNeighbourShareStrange;
  std::vector<std::vector<double>> words;
  for (const std::vector<double>& donor : donors_) {
    std::vector<double> word = smoothed(donor);
    for (std::size_t i = 0; i < size_; ++i) word[i] = (1 - share) * donor[i] + share * word[i];
    words.push_back(std::move(word));
  }
  score_.resize(size_);
  mean_.resize(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    double mean = 0, plain = 0, square = 0;
    for (std::size_t d = 0; d < words.size(); ++d) {
      mean += weights[d] * words[d][i];
      plain += weights[d] * donors_[d][i];
    }
    for (std::size_t d = 0; d < words.size(); ++d) square += weights[d] * (words[d][i] - mean) * (words[d][i] - mean);
    score_[i] = mean + (kin ? kDisagreementKin * std::sqrt(square) : 0);
    mean_[i] = plain;
  }
  for (const std::vector<double>& donor : donors_) {
    std::vector<double> feature = donor;
    for (double& value : feature) value = std::min(value, kMaxSlowdown);
    const double centre = middle(feature);
    for (double& value : feature) value -= centre;
    features_.push_back(std::move(feature));
  }
  variance_.resize(size_);
  for (std::size_t i = 0; i < size_; ++i) variance_[i] = covariance(i, i);
}

// Mean over the parameters of the mean over the configurations in which only this one differs.
std::vector<double> GpuTransfer::smoothed(const std::vector<double>& values) const {
  std::vector<double> sums(size_, 0), counts(size_, 0);
  for (std::size_t p = 0; p < width_; ++p) {
    if (space_.domain_size(p) < 2) continue;
    // Configurations that agree in all other parameters lie together.
    std::map<std::vector<std::uint16_t>, std::pair<double, double>> groups;
    std::vector<std::uint16_t> key(width_);
    const auto key_of = [&](std::size_t i) -> const std::vector<std::uint16_t>& {
      std::copy_n(rows_.begin() + static_cast<std::ptrdiff_t>(i * width_), width_, key.begin());
      key[p] = 0;
      return key;
    };
    for (std::size_t i = 0; i < size_; ++i) {
      auto& [sum, count] = groups[key_of(i)];
      sum += values[i];
      count += 1;
    }
    for (std::size_t i = 0; i < size_; ++i) {
      const auto& [sum, count] = groups.at(key_of(i));
      if (count < 2) continue;
      sums[i] += (sum - values[i]) / (count - 1);
      counts[i] += 1;
    }
  }
  for (std::size_t i = 0; i < size_; ++i) sums[i] = counts[i] > 0 ? sums[i] / counts[i] : values[i];
  return sums;
}

double GpuTransfer::covariance(std::uint64_t x, std::uint64_t y) const {
  double distance = 0;
  for (std::size_t p = 0; p < width_; ++p) {
    const double difference = std::abs(place_[x * width_ + p] - place_[y * width_ + p]);
    if (difference > 0) distance += 0.5 + 0.5 * difference;
  }
  double donors = 0;
  for (const std::vector<double>& feature : features_) donors += feature[x] * feature[y];
  return kSpaceSigma * kSpaceSigma * portable_exp(-distance / (2 * kLength)) + kDonorSigma * kDonorSigma * donors + kOffsetVariance;
}

std::vector<std::uint64_t> GpuTransfer::order() const {
  std::vector<std::uint64_t> order(size_);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::uint64_t x, std::uint64_t y) { return score_[x] < score_[y]; });
  return order;
}

std::optional<std::uint64_t> GpuTransfer::next(std::size_t trials) {
  if (trials_.size() >= size_) return std::nullopt;
  if (trials_.empty()) return static_cast<std::uint64_t>(std::min_element(score_.begin(), score_.end()) - score_.begin());
  // Times relative to the best so far; where nothing has run yet, all failed alike.
  double best = std::numeric_limits<double>::infinity();
  for (const Trial& trial : trials_) best = std::min(best, trial.log_time.value_or(best));
  std::vector<double> whitened(trials_.size());
  for (std::size_t n = 0; n < trials_.size(); ++n) {
    const double seen = trials_[n].log_time ? std::min(*trials_[n].log_time - best, kFailed) : kFailed;
    double rest = seen - mean_[trials_[n].index];
    for (std::size_t k = 0; k < n; ++k) rest -= factor_[n][k] * whitened[k];
    whitened[n] = rest / factor_[n][n];
  }
  const double done = static_cast<double>(trials_.size() - 1);
  const double last = std::max<double>(static_cast<double>(trials) - 1, 1);
  const double bounds = kBounds * std::max(0.0, 1 - done / last);
  std::optional<std::uint64_t> chosen;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < size_; ++i) {
    if (tried_[i]) continue;
    double mean = mean_[i];
    for (std::size_t n = 0; n < trials_.size(); ++n) mean += solved_[n][i] * whitened[n];
    const double bound = mean - bounds * std::sqrt(std::max(variance_[i], 1e-9));
    if (!chosen || bound < least) {
      least = bound;
      chosen = i;
    }
  }
  return chosen;
}

void GpuTransfer::tell(std::uint64_t index, std::optional<double> time_us) {
  trials_.push_back({index, time_us ? std::optional(portable_log(*time_us)) : std::nullopt});
  tried_[static_cast<std::size_t>(index)] = true;
  condition();
}

// Takes the last trial into the factor, and its share out of all variances.
void GpuTransfer::condition() {
  const std::uint64_t point = trials_.back().index;
  std::vector<double> row;
  double diagonal = covariance(point, point) + kNoise * kNoise;
  for (std::size_t n = 0; n + 1 < trials_.size(); ++n) {
    row.push_back(solved_[n][point]);
    diagonal -= row[n] * row[n];
  }
  row.push_back(std::sqrt(std::max(diagonal, kNoise * kNoise)));
  std::vector<double> solved(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    double value = covariance(i, point);
    for (std::size_t n = 0; n + 1 < trials_.size(); ++n) value -= row[n] * solved_[n][i];
    solved[i] = value / row.back();
    variance_[i] -= solved[i] * solved[i];
  }
  factor_.push_back(std::move(row));
  solved_.push_back(std::move(solved));
}

TransferScore score_transfer(const Recording& target, const std::vector<const Recording*>& donors, std::size_t trials) {
  const SearchSpace space = target.space();
  double optimum = std::numeric_limits<double>::infinity();
  for (std::uint64_t i = 0; i < target.size(); ++i) {
    if (const auto time = target.entry(i).time_us) optimum = std::min(optimum, *time);
  }
  if (!std::isfinite(optimum)) throw InputError(fmt::format("{}: no configuration has a time", target.name()));
  const auto time_of = [&](const Configuration& configuration) {
    const auto entry = target.lookup(configuration);
    return entry ? entry->time_us : std::nullopt;
  };
  const auto speed = [&](std::optional<double> time) { return time ? optimum / *time : 0; };

  TransferScore score;
  score.target = target.name();
  for (const Recording* donor : donors) score.donors.push_back(donor->name());
  const std::string_view vendor = gpu_vendor(gpu_of(target));
  const auto kin = std::find_if(donors.begin(), donors.end(), [&](const Recording* donor) {
    return !vendor.empty() && gpu_vendor(gpu_of(*donor)) == vendor;
  });
  GpuTransfer transfer(space, gpu_of(target), donors);
  const Recording& similar = kin == donors.end() ? *donors.front() : **kin;
  std::optional<std::uint64_t> winner;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint64_t i = 0; i < similar.size(); ++i) {
    const auto time = similar.entry(i).time_us;
    if (time && *time < least) {
      least = *time;
      winner = i;
    }
  }
  if (winner) score.similar_winner = speed(time_of(similar.rows().configuration(*winner)));
  double best = 0;
  while (score.best_after.size() < trials) {
    const auto index = transfer.next(trials);
    if (!index) break;
    const auto time = time_of(space.configuration(*index));
    transfer.tell(*index, time);
    best = std::max(best, speed(time));
    if (score.best_after.empty()) score.answered = best;
    score.best_after.push_back(best);
  }
  return score;
}

std::vector<std::vector<std::size_t>> transfer_groups(const std::vector<Recording>& recordings) {
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    std::string key = recordings[i].kernel() + '\n' + recordings[i].problem().canonical();
    std::vector<std::string> names;
    for (const Parameter& parameter : recordings[i].rows().parameters()) names.push_back(parameter.name);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) key += '\n' + name;
    const auto [place, added] = known.emplace(key, groups.size());
    if (added) groups.emplace_back();
    groups[place->second].push_back(i);
  }
  std::erase_if(groups, [](const std::vector<std::size_t>& group) { return group.size() < 2; });
  return groups;
}

}  // namespace tunebook
