#include "sweep/time_division.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace tunebook {
namespace {

constexpr double kSlack = 1.25;       // estimates are medians
constexpr double kLeastWorth = 1e-6;  // whoever is not worth anything still gets what nobody else wants

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

std::vector<double> divide_time(double left_s, const std::vector<TimeClaim>& items) {
  std::vector<double> wanted, given;
  for (const TimeClaim& item : items) wanted.push_back(kSlack * std::max(item.seconds, 0.0));
  if (items.empty()) return {};
  const double all = sum(wanted);
  if (all <= left_s) {
    wanted.front() += left_s - all;
    return wanted;
  }

  given.assign(items.size(), 0);
  std::vector<std::size_t> open;
  double rest = left_s;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const double floor = std::min(wanted[i], kLeastSessionSeconds);
    if (floor > rest) continue;
    given[i] = floor;
    rest -= floor;
    open.push_back(i);
  }
  // Each round shares the rest by worth; whoever has enough then leaves, and what it did not need is shared again.
  while (rest > 0 && !open.empty()) {
    double worth = 0;
    for (const std::size_t i : open) worth += std::max(items[i].worth, kLeastWorth);
    const double share = rest / worth;
    std::vector<std::size_t> still_open;
    double used = 0;
    for (const std::size_t i : open) {
      const double part = share * std::max(items[i].worth, kLeastWorth);
      if (given[i] + part < wanted[i]) {
        still_open.push_back(i);
        continue;
      }
      used += wanted[i] - given[i];
      given[i] = wanted[i];
    }
    if (still_open.size() == open.size()) {
      for (const std::size_t i : open) given[i] += share * std::max(items[i].worth, kLeastWorth);
      break;
    }
    rest -= used;
    open = std::move(still_open);
  }
  return given;
}

}  // namespace tunebook
