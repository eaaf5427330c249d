// Constraints that remove nothing, and presets off the space.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/json_text.h"
#include "core/random.h"
#include "search/space.h"
#include "search/space_builder.h"
#include "session/lint.h"
#include "session/subject.h"

namespace tunebook {
namespace {

// Shapes beside the default and the verify problems; log-uniform, so that small ragged ones are frequent and the largest that a size can
// be occur too (a constraint may be there for them alone).
constexpr int kRandomShapes = 200;
constexpr std::uint64_t kRandomShapesSeed = 2;
constexpr std::uint64_t kMaxLog2 = 36;
// Combinations of the values of a constraint's parameters that are looked at on one problem.
constexpr std::uint64_t kMaxCombinations = std::uint64_t{1} << 14;
// Whether the others imply a constraint is looked at on so many problems, with so many search steps for each count: a second for a large space.
constexpr std::size_t kImpliedPlaces = 120;
constexpr std::uint64_t kMaxSteps = 100'000;

struct Place {
  Problem problem;
  Device device;
};

bool reads_device(const KernelSpec& spec, const Expression& constraint) {
  return std::any_of(constraint.slots().begin(), constraint.slots().end(),
                     [&](int slot) { return spec.names.at(slot).starts_with("device."); });
}

bool reads_parameters(const KernelSpec& spec, const Expression& constraint) {
  return std::any_of(constraint.slots().begin(), constraint.slots().end(),
                     [&](int slot) { return spec.find_parameter(spec.names.at(slot)) != nullptr; });
}

// Where a constraint may have something to remove.
std::vector<Place> places(const KernelSpec& spec) {
  std::vector<Problem> problems;
  for (const Problem& tuned : spec.category_problems()) {
    problems.push_back(tuned);
    for (Problem& problem : spec.verify_problems(tuned)) problems.push_back(std::move(problem));
  }
  Random random(kRandomShapesSeed);
  for (int i = 0; i < kRandomShapes; ++i) {
    Problem problem;
    for (const Dimension& dimension : spec.dimensions) {
      if (dimension.categorical) {
        problem.set(dimension.name, dimension.values.at(random.below(dimension.values.size())));
      } else {
        const std::uint64_t power = std::uint64_t{1} << random.below(kMaxLog2);
        problem.set(dimension.name, static_cast<std::int64_t>(power + random.below(power)));
      }
    }
    problems.push_back(std::move(problem));
  }
  // The smallest and the largest limits that GPUs have had since 8.0, the current ones, and a device that is no GPU.
  std::vector<Place> all;
  std::vector<Device> devices = {KernelSpec::generic_device()};
  if (std::any_of(spec.constraints.begin(), spec.constraints.end(), [&](const Expression& e) { return reads_device(spec, e); })) {
    for (const char* arch : {"sm_90", "sm_80", "sm_120", "cpu"}) devices.push_back(stand_in_device(arch));
  }
  for (const Device& device : devices) {
    for (const Problem& problem : problems) all.push_back({problem, device});
  }
  return all;
}

// Whether the constraint is false, or cannot be evaluated, for some values of the parameters that it reads.
bool removes_something(const SpaceDefinition& definition, const Expression& constraint) {
  std::vector<Scalar> scope = definition.scope;
  std::vector<std::size_t> slots;
  std::vector<std::vector<Scalar>> scalars;
  std::uint64_t combinations = 1;
  for (std::size_t i = 0; i < definition.parameters.size(); ++i) {
    if (!std::binary_search(constraint.slots().begin(), constraint.slots().end(), definition.slots[i])) continue;
    slots.push_back(static_cast<std::size_t>(definition.slots[i]));
    std::vector<Scalar>& values = scalars.emplace_back();
    for (const Value& value : definition.parameters[i].values) values.push_back(Scalar::from(value));
    if (combinations <= kMaxCombinations) combinations *= values.size();
  }
  const auto fails = [&] {
    try {
      return !constraint.evaluate_bool(scope);
    } catch (const ExpressionError&) {
      return true;
    }
  };
  Random random(kRandomShapesSeed);
  const bool all = combinations <= kMaxCombinations;
  std::vector<std::size_t> odometer(slots.size(), 0);
  for (std::uint64_t n = 0; n < std::min(combinations, kMaxCombinations); ++n) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      scope[slots[i]] = scalars[i][all ? odometer[i] : random.below(scalars[i].size())];
    }
    if (fails()) return true;
    for (std::size_t i = 0; i < slots.size() && ++odometer[i] == scalars[i].size(); ++i) odometer[i] = 0;
  }
  return false;
}

// Of `constraints`, those that could be left out without letting configurations in. Where there are too many to count: none.
std::vector<std::size_t> implied_ones(const SpaceDefinition& definition, std::vector<std::size_t> constraints) {
  const KeyLayout layout(definition.parameters);
  const std::optional<std::uint64_t> with = SpaceBuilder(definition, layout).count(kMaxSteps);
  std::erase_if(constraints, [&](std::size_t c) {
    if (!with) return true;
    const std::optional<std::uint64_t> without = SpaceBuilder(definition, layout, c).count(kMaxSteps);
    return !without || *with != *without;
  });
  return constraints;
}

std::string file_of(const KernelTemplate& kernel) { return (kernel.folder / "kernel.json").string(); }

}  // namespace

std::vector<LintFinding> lint_constraints(const KernelTemplate& kernel) {
  const KernelSpec& spec = kernel.spec;
  if (spec.constraints.empty()) return {};
  const std::vector<Place> all = places(spec);
  std::vector<std::size_t> idle, implied;
  for (std::size_t c = 0; c < spec.constraints.size(); ++c) idle.push_back(c);
  for (const Place& place : all) {
    if (idle.empty()) break;
    const SpaceDefinition definition = space_definition(spec, place.problem, place.device);
    // Where categories exclude each other there is no space to take anything from, but for the constraint that says so.
    const bool excluded = spec.category_excluded(place.problem);
    std::erase_if(idle, [&](std::size_t c) {
      return (!excluded || !reads_parameters(spec, spec.constraints[c])) && removes_something(definition, spec.constraints[c]);
    });
  }
  for (std::size_t c = 0; c < spec.constraints.size(); ++c) {
    if (std::find(idle.begin(), idle.end(), c) == idle.end()) implied.push_back(c);
  }
  const std::size_t step = std::max<std::size_t>(1, all.size() / kImpliedPlaces);
  for (std::size_t i = 0; i < all.size() && !implied.empty(); i += step) {
    if (spec.category_excluded(all[i].problem)) {
      std::erase_if(implied, [&](std::size_t c) { return !reads_parameters(spec, spec.constraints[c]); });
    } else {
      implied = implied_ones(space_definition(spec, all[i].problem, all[i].device), std::move(implied));
    }
  }
  std::vector<LintFinding> findings;
  for (std::size_t c = 0; c < spec.constraints.size(); ++c) {
    const bool alone = std::find(idle.begin(), idle.end(), c) != idle.end();
    if (!alone && std::find(implied.begin(), implied.end(), c) == implied.end()) continue;
    LintFinding finding;
    finding.rule = "constraint";
    finding.place = fmt::format("{}: /constraints/{}", file_of(kernel), c);
    // A limit of devices that are not among those looked at.
    finding.failure = alone && !reads_device(spec, spec.constraints[c]);
    finding.message = fmt::format("\"{}\" removes nothing: {} on {} problems", spec.constraints[c].text(),
                                  alone ? "it holds for all values of its parameters" : "the other constraints imply it",
                                  alone ? all.size() : (all.size() + step - 1) / step);
    finding.remedy = alone ? "remove it, or correct it if it was meant to exclude something" : "remove it, or one of those that say the same";
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::vector<LintFinding> lint_presets(const KernelTemplate& kernel) {
  std::vector<LintFinding> findings;
  for (const std::string& fault : kernel.spec.check_presets(stand_in_device("sm_90"))) {
    // "/presets/NAME: found ..., which violates ..."
    const std::size_t end = fault.find(": ");
    findings.push_back({"preset", fmt::format("{}: {}", file_of(kernel), fault.substr(0, end)), fault.substr(end + 2),
                        "give the preset values that the constraints allow, or relax the constraint"});
  }
  return findings;
}

}  // namespace tunebook
