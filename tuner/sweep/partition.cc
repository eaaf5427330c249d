#include <algorithm>
#include <numeric>

#include "sweep/plan.h"

namespace tunebook {

std::vector<std::vector<std::size_t>> balanced_partition(const std::vector<double>& seconds, std::size_t shards) {
  std::vector<std::vector<std::size_t>> parts(shards);
  if (shards == 0) return parts;
  std::vector<std::size_t> longest_first(seconds.size());
  std::iota(longest_first.begin(), longest_first.end(), std::size_t{0});
  std::stable_sort(longest_first.begin(), longest_first.end(), [&](std::size_t x, std::size_t y) { return seconds[x] > seconds[y]; });
  std::vector<double> load(shards, 0);
  for (const std::size_t index : longest_first) {
    const auto least = static_cast<std::size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    load[least] += seconds[index];
    parts[least].push_back(index);
  }
  for (std::vector<std::size_t>& part : parts) std::sort(part.begin(), part.end());
  return parts;
}

}  // namespace tunebook
