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

// Squares are looked at in blocks of this many; each member's begin with a block.
constexpr std::size_t kBlock = 64;

// The least of a block's numbers above `limit`. Eight at a time, so that the compiler uses vector instructions.
double least_above(const double* block, double limit) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> least;
  least.fill(kInfinity);
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double candidate = block[i + lane] > limit ? block[i + lane] : kInfinity;
      least[lane] = candidate < least[lane] ? candidate : least[lane];
    }
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
    total += (member.group->rows.size() + kBlock - 1) / kBlock * kBlock;
  }
  squares_ = std::make_unique_for_overwrite<double[]>(total);
  block_least_.reserve(total / kBlock);
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const Member& member = members_[m];
    const std::size_t dimensions = member.asked_sizes.size();
    std::vector<double> asked(dimensions);
    for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
      asked[dimension] = std::log2(static_cast<double>(member.asked_sizes[dimension]));
    }
    const std::size_t rows = member.group->rows.size();
    for (std::size_t first = 0; first < rows; first += kBlock) {
      double* const squares = squares_.get() + starts_[m] + first;
      const std::size_t count = std::min(kBlock, rows - first);
      std::fill(squares, squares + count, 0.0);
      for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
        const double* const sizes = member.group->log2_sizes[dimension].data() + first;
        for (std::size_t i = 0; i < count; ++i) {
          const double difference = sizes[i] - asked[dimension];
          squares[i] += difference * difference;
        }
      }
      std::fill(squares + count, squares + kBlock, kInfinity);
      block_least_.push_back(least_above(squares, limit_));
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

std::vector<std::pair<double, std::size_t>> NearestFirst::rows_up_to(double most) const {
  std::vector<std::pair<double, std::size_t>> found;
  for (std::size_t block = 0; block < block_least_.size(); ++block) {
    for (std::size_t i = block * kBlock; block_least_[block] <= most && i < (block + 1) * kBlock; ++i) {
      if (squares_[i] > limit_ && squares_[i] <= most && squares_[i] != kInfinity) {
        found.emplace_back(squares_[i], i);
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

void NearestFirst::pass(double limit) {
  limit_ = limit;
  for (std::size_t block = 0; block < block_least_.size(); ++block) {
    if (block_least_[block] <= limit_) {
      block_least_[block] = least_above(squares_.get() + block * kBlock, limit_);
    }
  }
}

void NearestFirst::fill() {
  batch_.clear();
  taken_ = 0;
  const auto least = std::min_element(block_least_.begin(), block_least_.end());
  if (least == block_least_.end() || *least == kInfinity) {
    return;
  }
  const double most = ++batches_ > kMostSearches ? kInfinity : *least + kBatchSquare;
  std::vector<std::pair<double, std::size_t>> found = rows_up_to(most);
  if (most != kInfinity) {
    // Cut at a gap, so that what is equally far stays together; without one, everything is taken.
    const auto gap = std::adjacent_find(found.begin(), found.end(), [](const auto& x, const auto& y) { return y.first - x.first > kGap; });
    if (gap != found.end()) {
      found.erase(gap + 1, found.end());
    } else if (rows_up_to(most + kGap).size() > found.size()) {
      found = rows_up_to(kInfinity);
    }
  }
  for (const auto& [square, position] : found) {
    batch_.push_back(refine(position));
  }
  pass(found.back().first);
  std::sort(batch_.begin(), batch_.end(), comes_before);
}

}  // namespace tunebook
