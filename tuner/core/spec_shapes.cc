#include "core/spec_shapes.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/random.h"

namespace tunebook {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 18;  // of all arguments together
constexpr double kMostFlops = 2e7;                              // by the kernel's own account
constexpr int kAttempts = 50;                                   // to find one more shape that is small enough
constexpr std::uint64_t kMaxLog2 = 10;

class ShapeSweep {
 public:
  ShapeSweep(const KernelSpec& spec, const Problem& categories) : spec_(spec), categories_(categories), random_(20) {
    std::set<std::string> fixed(spec.define.begin(), spec.define.end());
    for (const Launch& launch : spec.launches) fixed.insert(launch.instantiate.begin(), launch.instantiate.end());
    for (const Dimension& dimension : spec.dimensions) {
      if (!dimension.categorical && fixed.count(dimension.name) == 0) free_.push_back(dimension.name);
    }
  }

  std::vector<Problem> run(int random) {
    for (const std::string& name : free_) {
      for (std::int64_t size = 1; size <= kEverySize; ++size) {
        attempt([&](Problem& problem) {
          for (const std::string& other : free_) problem.set(other, static_cast<std::int64_t>(1 + random_.below(2 * kEverySize)));
          problem.set(name, size);
        });
      }
    }
    for (int i = 0; i < random; ++i) {
      attempt([&](Problem& problem) {
        for (const std::string& name : free_) problem.set(name, random_size());
      });
    }
    return std::move(found_);
  }

 private:
  std::int64_t random_size() {
    const std::uint64_t power = std::uint64_t{1} << random_.below(kMaxLog2);
    const auto size = static_cast<std::int64_t>(power + random_.below(power));
    return random_.below(2) == 0 ? size : (size + 7) / 8 * 8;
  }

  template <typename Choose>
  void attempt(Choose choose) {
    for (int i = 0; i < kAttempts; ++i) {
      Problem problem = categories_;
      choose(problem);
      if (!small_enough(problem)) continue;
      if (seen_.insert(problem.canonical()).second) found_.push_back(std::move(problem));
      return;
    }
  }

  bool small_enough(const Problem& problem) const {
    KernelSpec::Scope scope = spec_.scope(problem, KernelSpec::generic_device());
    spec_.bind(scope, spec_.default_preset(problem, KernelSpec::generic_device()));
    try {
      std::int64_t elements = 0;
      for (const Argument& argument : spec_.arguments) {
        if (argument.pointer) elements += std::min(argument.count.evaluate_integer(scope), kMostElements + 1);
      }
      const double flops = spec_.work.flops.empty() ? 0 : spec_.work.flops.evaluate_real(scope);
      return elements <= kMostElements && flops <= kMostFlops;
    } catch (const ExpressionError&) {
      return false;  // not a problem of this kernel
    }
  }

  const KernelSpec& spec_;
  const Problem& categories_;
  Random random_;
  std::vector<std::string> free_;
  std::set<std::string> seen_;
  std::vector<Problem> found_;
};

}  // namespace

std::vector<Problem> sweep_shapes(const KernelSpec& spec, const Problem& categories, int random) {
  return ShapeSweep(spec, categories).run(random);
}

}  // namespace tunebook
