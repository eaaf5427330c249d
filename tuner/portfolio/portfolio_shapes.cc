#include "portfolio/portfolio_shapes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/random.h"
#include "db/lookup_nearest.h"

namespace tunebook {
namespace {

constexpr std::uint64_t kSeed = 1;
// A size with so few values in a book is no free size: the sides of a filter, say.
constexpr std::size_t kFewValues = 4;
constexpr std::int64_t kAligned = 8;

std::vector<std::int64_t> sizes_of(const KernelSpec& spec, const Problem& problem) {
  std::vector<std::int64_t> sizes;
  for (const Dimension& dimension : spec.dimensions) {
    if (!dimension.categorical) sizes.push_back(std::get<std::int64_t>(problem.at(dimension.name)));
  }
  return sizes;
}

std::int64_t log_uniform(Random& random, std::int64_t low, std::int64_t high) {
  const double span = std::log2(static_cast<double>(high) / static_cast<double>(low));
  const double size = static_cast<double>(low) * std::exp2(span * random.uniform());
  return std::clamp(static_cast<std::int64_t>(std::llround(size)), low, high);
}

}  // namespace

std::size_t nearest_problem(const KernelSpec& spec, const std::vector<Problem>& problems,
                            const Problem& asked) {
  std::size_t best = 0;
  auto least = std::pair(true, std::numeric_limits<double>::infinity());
  const std::vector<std::int64_t> sizes = sizes_of(spec, asked);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const bool other = std::any_of(
        spec.dimensions.begin(), spec.dimensions.end(), [&](const Dimension& dimension) {
          return dimension.categorical &&
                 !(problems[i].at(dimension.name) == asked.at(dimension.name));
        });
    const auto distance = std::pair(other, problem_distance(sizes, sizes_of(spec, problems[i])));
    if (distance < least) {
      least = distance;
      best = i;
    }
  }
  return best;
}

std::vector<Problem> imagined_problems(const KernelSpec& spec, const std::vector<Problem>& problems,
                                       std::size_t count) {
  std::vector<std::set<std::int64_t>> values(spec.dimensions.size());
  for (std::size_t d = 0; d < spec.dimensions.size(); ++d) {
    if (spec.dimensions[d].categorical) continue;
    for (const Problem& problem : problems) {
      values[d].insert(std::get<std::int64_t>(problem.at(spec.dimensions[d].name)));
    }
  }
  Random random(kSeed);
  std::vector<Problem> imagined;
  for (std::size_t i = 0; i < count; ++i) {
    Problem problem = problems[random.below(problems.size())];
    const bool aligned = random.below(5) < 3;
    for (std::size_t d = 0; d < spec.dimensions.size(); ++d) {
      if (values[d].size() <= kFewValues) continue;  // that of the problem
      std::int64_t size = log_uniform(random, *values[d].begin(), *values[d].rbegin());
      if (aligned) size = std::max(kAligned, size / kAligned * kAligned);
      problem.set(spec.dimensions[d].name, size);
    }
    imagined.push_back(std::move(problem));
  }
  return imagined;
}

}  // namespace tunebook
