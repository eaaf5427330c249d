#include "db/lookup_nearest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

namespace tunebook {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Squares are approximate: their error is far below kGap, so rows that are equally far are never further apart than that.
constexpr double kGap = 1e-10;
// Rows within this of the nearest are looked at together.
constexpr double kBatchSquare = 1e-3;
// So many times the nearest few are searched among all; then all that are left are put in order.
constexpr int kMostSearches = 8;

// The smallest number above `limit`. Eight at a time, so that the compiler uses vector instructions.
double least_above(const std::vector<double>& numbers, double limit) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> least;
  least.fill(kInfinity);
  std::size_t i = 0;
  for (; i + kLanes <= numbers.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double candidate = numbers[i + lane] > limit ? numbers[i + lane] : kInfinity;
      least[lane] = candidate < least[lane] ? candidate : least[lane];
    }
  }
  for (; i < numbers.size(); ++i) {
    least[0] = numbers[i] > limit && numbers[i] < least[0] ? numbers[i] : least[0];
  }
  return *std::min_element(least.begin(), least.end());
}

std::string_view problem_text(const NearestFirst::Pick& pick) { return pick.rows->text(pick.rows->rows()[pick.row].problem); }

bool comes_before(const NearestFirst::Pick& x, const NearestFirst::Pick& y) {
  if (x.distance != y.distance) {
    return x.distance < y.distance;
  }
  if (x.volume != y.volume) {
    return x.volume < y.volume;
  }
  if (const int order = problem_text(x).compare(problem_text(y)); order != 0) {
    return order < 0;
  }
  return newer_session(*x.rows, x.row, *y.rows, y.row);
}

}  // namespace

double problem_distance(std::span<const std::int64_t> x, std::span<const std::int64_t> y) {
  std::vector<double> terms(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto [less, more] = std::minmax(x[i], y[i]);
    terms[i] = std::log2(static_cast<double>(more) / static_cast<double>(less));
  }
  std::sort(terms.begin(), terms.end());
  double sum = 0;
  for (const double term : terms) {
    sum += term * term;
  }
  return std::sqrt(sum);
}

double problem_volume(std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> sorted(sizes.begin(), sizes.end());
  std::sort(sorted.begin(), sorted.end());
  double volume = 1;
  for (const std::int64_t size : sorted) {
    volume *= static_cast<double>(size);
  }
  return volume;
}

bool newer_session(const DeviceRows& x_rows, std::uint32_t x, const DeviceRows& y_rows, std::uint32_t y) {
  const DeviceRows::Row& first = x_rows.rows()[x];
  const DeviceRows::Row& second = y_rows.rows()[y];
  if (const int order = x_rows.text(first.finished_utc).compare(y_rows.text(second.finished_utc)); order != 0) {
    return order > 0;
  }
  return x_rows.text(first.session) < y_rows.text(second.session);
}

NearestFirst::NearestFirst(std::vector<Member> members) : members_(std::move(members)) {
  std::size_t total = 0;
  for (const Member& member : members_) {
    starts_.push_back(total);
    total += member.group->rows.size();
  }
  squares_.resize(total);
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const Member& member = members_[m];
    double* const squares = squares_.data() + starts_[m];
    const std::size_t count = member.group->rows.size();
    for (std::size_t dimension = 0; dimension < member.asked_sizes.size(); ++dimension) {
      const double asked = std::log2(static_cast<double>(member.asked_sizes[dimension]));
      const double* const sizes = member.group->log2_sizes[dimension].data();
      for (std::size_t i = 0; i < count; ++i) {
        const double difference = sizes[i] - asked;
        squares[i] += difference * difference;
      }
    }
  }
}

const NearestFirst::Pick* NearestFirst::peek() {
  if (taken_ == batch_.size()) {
    fill();
  }
  return taken_ == batch_.size() ? nullptr : &batch_[taken_];
}

NearestFirst::Pick NearestFirst::refine(std::size_t position) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), position);
  // Members without rows start where the next one does: the last one that starts here has the row.
  const auto m = static_cast<std::size_t>(after - starts_.begin()) - 1;
  const Member& member = members_[m];
  const std::size_t at = position - starts_[m];
  std::vector<std::int64_t> sizes;
  for (const std::vector<std::int64_t>& of_dimension : member.group->sizes) {
    sizes.push_back(of_dimension[at]);
  }
  return {problem_distance(member.asked_sizes, sizes), problem_volume(sizes), member.rows, member.group->rows[at]};
}

void NearestFirst::fill() {
  batch_.clear();
  taken_ = 0;
  const double least = least_above(squares_, limit_);
  if (least == kInfinity) {
    return;
  }
  double most = ++batches_ > kMostSearches ? kInfinity : least + kBatchSquare;
  std::vector<std::pair<double, std::size_t>> found;
  for (std::size_t i = 0; i < squares_.size(); ++i) {
    if (squares_[i] > limit_ && squares_[i] <= most) {
      found.emplace_back(squares_[i], i);
    }
  }
  std::sort(found.begin(), found.end());
  // Cut at a gap, so that what is equally far stays together; without one, everything is taken.
  std::size_t end = found.size();
  if (most != kInfinity) {
    const auto gap = std::adjacent_find(found.begin(), found.end(), [](const auto& x, const auto& y) { return y.first - x.first > kGap; });
    if (gap != found.end()) {
      end = static_cast<std::size_t>(gap - found.begin()) + 1;
    } else if (least_above(squares_, most) - found.back().first <= kGap) {
      for (std::size_t i = 0; i < squares_.size(); ++i) {
        if (squares_[i] > most) {
          found.emplace_back(squares_[i], i);
        }
      }
      most = kInfinity;
      end = found.size();
    }
  }
  for (std::size_t i = 0; i < end; ++i) {
    batch_.push_back(refine(found[i].second));
    limit_ = std::max(limit_, found[i].first);
  }
  std::sort(batch_.begin(), batch_.end(), comes_before);
}

}  // namespace tunebook
