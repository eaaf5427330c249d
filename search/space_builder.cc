#include "search/space_builder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/random.h"
#include "core/value.h"
#include "search/component_search.h"

namespace tunebook {
namespace {

// Samples per constraint for its selectivity: enough to tell 1 % from 10 %, little beside the search itself.
constexpr int kSelectivitySamples = 192;
constexpr std::uint64_t kSelectivitySeed = 0x7475'6e65'626f'6f6b;

// A component with more keys than this is counted before it is stored, so that a space that is too large costs no memory.
constexpr std::uint64_t kCountFirst = std::uint64_t{1} << 24;

// Keys of one component: 1.6 GB. Configurations of several components are not limited by it.
constexpr std::uint64_t kMaxKeys = SearchSpace::kMaxGroup;

// Random descents for an estimate: a second or two at worst.
constexpr int kDescents = 20'000;

// Cost of a search step that evaluates nothing, in evaluations.
constexpr double kStepCost = 0.1;

// Saturating product: sizes beyond 64 bits only have to compare as too large.
std::uint64_t multiply(std::uint64_t x, std::uint64_t y) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(x, y, &product) ? std::numeric_limits<std::uint64_t>::max() : product;
}

// Insertion moves, as long as they lower the cost.
template <typename Cost>
void improve_order(std::vector<std::size_t>& order, const Cost& cost_of) {
  double best = cost_of(order);
  for (bool improved = true; improved;) {
    improved = false;
    for (std::size_t from = 0; from < order.size(); ++from) {
      for (std::size_t to = 0; to < order.size(); ++to) {
        if (to == from) continue;
        std::vector<std::size_t> candidate = order;
        candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(from));
        candidate.insert(candidate.begin() + static_cast<std::ptrdiff_t>(to), order[from]);
        const double cost = cost_of(candidate);
        if (cost < best * (1 - 1e-9)) {
          best = cost;
          order = std::move(candidate);
          improved = true;
        }
      }
    }
  }
}

}  // namespace

std::string evaluation_failure(const SpaceDefinition& definition, const Expression& constraint,
                               std::span<const Scalar> scope) {
  std::string values;
  for (std::size_t i = 0; i < definition.parameters.size(); ++i) {
    const int slot = definition.slots[i];
    if (!std::binary_search(constraint.slots().begin(), constraint.slots().end(), slot)) continue;
    for (const Value& value : definition.parameters[i].values) {
      if (!(Scalar::from(value) == scope[static_cast<std::size_t>(slot)])) continue;
      values += fmt::format("{}{}={}", values.empty() ? "" : ", ", definition.parameters[i].name, to_text(value));
      break;
    }
  }
  try {
    constraint.evaluate_bool(scope);
  } catch (const ExpressionError& error) {
    return fmt::format("constraint \"{}\", column {}: {}{}{}; correct it, or exclude such values with another constraint",
                       constraint.text(), error.column, error.what(), values.empty() ? "" : ", with ", values);
  }
  throw std::logic_error("evaluation_failure: the constraint evaluates");
}

SpaceBuilder::SpaceBuilder(const SpaceDefinition& definition, const KeyLayout& layout, std::optional<std::size_t> without)
    : definition_(definition), layout_(layout), scope_(definition.scope) {
  const std::size_t parameters = definition.parameters.size();
  int last_slot = -1;
  for (std::size_t i = 0; i < parameters; ++i) {
    const std::vector<Value>& values = definition.parameters[i].values;
    domains_.emplace_back(values.size());
    std::iota(domains_.back().begin(), domains_.back().end(), std::uint16_t{0});
    std::vector<Scalar>& scalars = scalars_.emplace_back();
    for (const Value& value : values) scalars.push_back(Scalar::from(value));
    last_slot = std::max(last_slot, definition.slots[i]);
  }
  for (const Expression& constraint : definition.constraints) {
    std::vector<std::size_t>& reads = parameters_.emplace_back();
    for (std::size_t i = 0; i < parameters; ++i) {
      if (std::binary_search(constraint.slots().begin(), constraint.slots().end(), definition.slots[i])) reads.push_back(i);
    }
    if (!constraint.slots().empty()) last_slot = std::max(last_slot, constraint.slots().back());
  }
  if (scope_.size() < static_cast<std::size_t>(last_slot + 1)) scope_.resize(static_cast<std::size_t>(last_slot + 1));
  settled_.assign(definition.constraints.size(), false);
  if (without) settled_[*without] = true;

  bind_constants_and_filter();
  if (!empty_) find_components();
}

// Until nothing changes: a filtered domain of one value makes its parameter a constant, which may leave another constraint
// with a single parameter.
void SpaceBuilder::bind_constants_and_filter() {
  std::vector<bool> reported(definition_.constraints.size(), false);
  for (std::size_t i = 0; i < domains_.size(); ++i) bind_if_constant(i);
  for (bool changed = true; changed && !empty_;) {
    changed = false;
    for (std::size_t c = 0; c < settled_.size() && !empty_; ++c) {
      if (settled_[c] || reported[c]) continue;
      std::erase_if(parameters_[c], [&](std::size_t i) { return domains_[i].size() == 1; });
      if (parameters_[c].empty()) {
        check_constant(c);
        changed = true;
      } else if (parameters_[c].size() == 1) {
        changed |= filter_domain(c, parameters_[c][0]);
        // Values for which it fails to evaluate stay possible, and the constraint is checked again in the search.
        reported[c] = !settled_[c] && domains_[parameters_[c][0]].size() > 1;
      }
    }
  }
}

void SpaceBuilder::bind_if_constant(std::size_t parameter) {
  if (domains_[parameter].size() != 1) return;
  scope_[static_cast<std::size_t>(definition_.slots[parameter])] = scalars_[parameter][domains_[parameter][0]];
}

void SpaceBuilder::check_constant(std::size_t constraint) {
  settled_[constraint] = true;
  try {
    if (!definition_.constraints[constraint].evaluate_bool(scope_)) empty_ = true;
  } catch (const ExpressionError&) {
    if (!error_) error_ = evaluation_failure(definition_, definition_.constraints[constraint], scope_);
  }
}

bool SpaceBuilder::filter_domain(std::size_t constraint, std::size_t parameter) {
  std::vector<std::uint16_t>& domain = domains_[parameter];
  const std::size_t slot = static_cast<std::size_t>(definition_.slots[parameter]);
  bool fails = false;
  const std::size_t removed = std::erase_if(domain, [&](std::uint16_t index) {
    scope_[slot] = scalars_[parameter][index];
    try {
      return !definition_.constraints[constraint].evaluate_bool(scope_);
    } catch (const ExpressionError&) {
      fails = true;
      return false;
    }
  });
  settled_[constraint] = !fails;
  empty_ = domain.empty();
  bind_if_constant(parameter);
  return removed > 0;
}

void SpaceBuilder::find_components() {
  std::vector<std::size_t> root(domains_.size());
  std::iota(root.begin(), root.end(), std::size_t{0});
  const auto find_root = [&](std::size_t i) {
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
  };
  for (std::size_t c = 0; c < settled_.size(); ++c) {
    if (settled_[c]) continue;
    Check check;
    check.constraint = c;
    check.parameters = parameters_[c];
    estimate_selectivity(check);
    for (const std::size_t i : check.parameters) root[find_root(i)] = find_root(check.parameters[0]);
    checks_.push_back(std::move(check));
  }
  std::vector<std::size_t> component_of(domains_.size(), domains_.size());
  for (std::size_t i = 0; i < domains_.size(); ++i) {
    std::size_t& component = component_of[find_root(i)];
    if (component == domains_.size()) {
      component = components_.size();
      components_.emplace_back();
    }
    components_[component].parameters.push_back(i);
  }
  for (std::size_t k = 0; k < checks_.size(); ++k) {
    components_[component_of[find_root(checks_[k].parameters[0])]].checks.push_back(k);
  }
}

void SpaceBuilder::estimate_selectivity(Check& check) {
  Random random(kSelectivitySeed + check.constraint);
  int passed = 0;
  for (int sample = 0; sample < kSelectivitySamples; ++sample) {
    for (const std::size_t i : check.parameters) {
      scope_[static_cast<std::size_t>(definition_.slots[i])] = scalars_[i][domains_[i][random.below(domains_[i].size())]];
    }
    try {
      passed += definition_.constraints[check.constraint].evaluate_bool(scope_) ? 1 : 0;
    } catch (const ExpressionError&) {
      ++passed;
    }
  }
  check.selectivity = std::max(passed, 1) / static_cast<double>(kSelectivitySamples);
}

// From the declared order, by the estimated number of evaluations.
std::vector<std::size_t> SpaceBuilder::search_order(const Component& component) const {
  std::vector<std::size_t> order = component.parameters;
  std::vector<std::size_t> position(domains_.size());
  std::vector<std::vector<std::size_t>> completed(order.size());
  std::vector<double> combinations;  // of each check's own parameters: with a table, it is never evaluated more often
  for (const std::size_t k : component.checks) {
    double product = 1;
    for (const std::size_t i : checks_[k].parameters) product *= static_cast<double>(domains_[i].size());
    combinations.push_back(product);
  }
  const auto cost_of = [&](const std::vector<std::size_t>& candidate) {
    for (std::size_t level = 0; level < candidate.size(); ++level) {
      position[candidate[level]] = level;
      completed[level].clear();
    }
    for (std::size_t n = 0; n < component.checks.size(); ++n) {
      std::size_t last = 0;
      for (const std::size_t i : checks_[component.checks[n]].parameters) last = std::max(last, position[i]);
      completed[last].push_back(n);
    }
    double nodes = 1;
    double cost = 0;
    for (std::size_t level = 0; level < candidate.size(); ++level) {
      nodes *= static_cast<double>(domains_[candidate[level]].size());
      cost += nodes * kStepCost;
      for (const std::size_t n : completed[level]) {
        cost += nodes * kStepCost + std::min(nodes, combinations[n]);
        nodes *= checks_[component.checks[n]].selectivity;
      }
    }
    return cost;
  };
  improve_order(order, cost_of);
  return order;
}

// Likewise for counting, where combinations are told apart only as far as a later check reads them.
std::vector<std::size_t> SpaceBuilder::counting_order(const Component& component) const {
  std::vector<std::size_t> order = component.parameters;
  std::vector<std::size_t> position(domains_.size());
  const auto cost_of = [&](const std::vector<std::size_t>& candidate) {
    for (std::size_t level = 0; level < candidate.size(); ++level) position[candidate[level]] = level;
    std::vector<std::size_t> last_read(candidate.size(), 0);       // level of the last check that reads the parameter of a level
    std::vector<double> selectivity(candidate.size(), 1.0);
    for (const std::size_t k : component.checks) {
      std::size_t last = 0;
      for (const std::size_t i : checks_[k].parameters) last = std::max(last, position[i]);
      for (const std::size_t i : checks_[k].parameters) last_read[position[i]] = std::max(last_read[position[i]], last);
      selectivity[last] *= checks_[k].selectivity;
    }
    double nodes = 1;
    double cost = 0;
    for (std::size_t level = 0; level < candidate.size(); ++level) {
      double told_apart = 1;
      for (std::size_t above = 0; above < level; ++above) {
        if (last_read[above] >= level) told_apart *= static_cast<double>(domains_[candidate[above]].size());
      }
      const double values = static_cast<double>(domains_[candidate[level]].size());
      cost += std::min(nodes, told_apart) * values;
      nodes *= values * selectivity[level];
    }
    return cost;
  };
  improve_order(order, cost_of);
  return order;
}

// Turns one component into the plan of a ComponentSearch.
class SpaceBuilder::Enumerator {
 public:
  Enumerator(const SpaceBuilder& builder, const Component& component)
      : search_(builder.definition_, builder.layout_, builder.scope_, plan(builder, component)) {}

  ComponentSearch& search() { return search_; }

 private:
  static std::vector<ComponentSearch::Level> plan(const SpaceBuilder& builder, const Component& component) {
    const std::vector<std::size_t> order = builder.search_order(component);
    std::vector<ComponentSearch::Level> levels;
    std::vector<std::size_t> level_of(builder.domains_.size());
    for (const std::size_t parameter : order) {
      level_of[parameter] = levels.size();
      levels.push_back({parameter, builder.domains_[parameter], builder.scalars_[parameter], {}});
    }
    std::vector<std::size_t> checks = component.checks;
    std::stable_sort(checks.begin(), checks.end(), [&](std::size_t x, std::size_t y) {
      return builder.checks_[x].selectivity < builder.checks_[y].selectivity;
    });
    for (const std::size_t k : checks) {
      const Check& check = builder.checks_[k];
      std::size_t last = 0;
      for (const std::size_t i : check.parameters) last = std::max(last, level_of[i]);
      const bool repeats = check.parameters.size() < last + 1;
      levels[last].checks.push_back({check.constraint, check.parameters, repeats});
    }
    return levels;
  }

  ComponentSearch search_;
};

void SpaceBuilder::throw_too_many(std::uint64_t max_size) const {
  double cartesian = 1;
  for (const Parameter& parameter : definition_.parameters) cartesian *= static_cast<double>(parameter.values.size());
  throw InputError(fmt::format("the search space has more than {} valid configurations (of {:.3g} combinations): add "
                               "constraints, declare fewer values, or narrow it with --where",
                               max_size, cartesian));
}

std::vector<SpaceBuilder::Part> SpaceBuilder::build(std::uint64_t max_size) {
  if (empty_) return {};
  std::vector<Part> parts;
  std::optional<std::string> error = error_;
  std::uint64_t total = 1;
  // Small components first: what they multiply to bounds what a large one may add.
  std::vector<const Component*> by_size;
  for (const Component& component : components_) by_size.push_back(&component);
  std::stable_sort(by_size.begin(), by_size.end(), [](const Component* x, const Component* y) {
    return x->parameters.size() < y->parameters.size();
  });
  for (const Component* component : by_size) {
    Enumerator enumerator(*this, *component);
    const std::uint64_t limit = total > max_size ? 0 : std::min(max_size / total, kMaxKeys);
    ComponentSearch::Result part = enumerator.search().run({.store = kCountFirst, .count = limit});
    if (part.error && !error) error = part.error;
    if (part.count == 0 && !part.error) return {};
    total = part.count > limit ? std::numeric_limits<std::uint64_t>::max() : multiply(total, std::max<std::uint64_t>(part.count, 1));
    if (part.count > kCountFirst && part.count <= limit && !part.error) {
      part = enumerator.search().run({.store = part.count, .count = limit});
    }
    layout_.sort(part.keys);
    part.keys.shrink_to_fit();
    parts.push_back({component->parameters, std::move(part.keys)});
  }
  if (error) throw InputError(*error);
  if (parts.empty()) parts.push_back({{}, std::vector<std::uint64_t>(layout_.words(), 0)});  // no parameters: one configuration
  if (total > max_size) throw_too_many(std::min(max_size, kMaxKeys));
  std::sort(parts.begin(), parts.end(), [](const Part& x, const Part& y) { return x.parameters.front() < y.parameters.front(); });
  return parts;
}

ComponentCount SpaceBuilder::counter(const Component& component, const std::vector<std::size_t>& order) const {
  std::vector<ComponentCount::Level> levels;
  std::vector<std::size_t> level_of(domains_.size());
  for (const std::size_t parameter : order) {
    level_of[parameter] = levels.size();
    levels.push_back({parameter, domains_[parameter], scalars_[parameter], {}, {}});
  }
  std::vector<std::size_t> last_read(order.size(), 0);
  for (const std::size_t k : component.checks) {
    std::size_t last = 0;
    for (const std::size_t i : checks_[k].parameters) last = std::max(last, level_of[i]);
    for (const std::size_t i : checks_[k].parameters) last_read[level_of[i]] = std::max(last_read[level_of[i]], last);
    levels[last].constraints.push_back(checks_[k].constraint);
  }
  for (std::size_t level = 0; level < levels.size(); ++level) {
    for (std::size_t above = 0; above <= level; ++above) {
      if (last_read[above] > level) levels[level].live.push_back(order[above]);
    }
  }
  return {definition_, scope_, std::move(levels)};
}

std::optional<SpaceSize> SpaceBuilder::counted(const Component& component, std::uint64_t& max_steps, std::uint64_t few_steps) const {
  Enumerator enumerator(*this, component);
  const auto one_by_one = [&](std::uint64_t steps) -> std::optional<SpaceSize> {
    const ComponentSearch::Result each = enumerator.search().run({.store = 0, .steps = steps, .skip_failures = true});
    max_steps -= std::min(max_steps, each.steps);
    const double count = static_cast<double>(each.count);
    return each.complete ? std::optional(SpaceSize{count, each.count, 0, count, 0}) : std::nullopt;
  };
  // Where it ends soon, nothing is quicker: its steps are cheaper. But it does not tell failures apart.
  if (const std::optional<SpaceSize> few = one_by_one(std::min(max_steps, few_steps))) return few;
  const ComponentCount::Result together = counter(component, counting_order(component)).run(max_steps);
  max_steps -= std::min(max_steps, together.steps);
  if (together.complete) return SpaceSize{together.count, together.exact, 0, together.count, together.failing};
  // Few may be valid although many have to be told apart on the way.
  return one_by_one(max_steps);
}

std::optional<std::uint64_t> SpaceBuilder::count(std::uint64_t max_steps) {
  if (empty_ || error_) return 0;
  std::optional<std::uint64_t> total = 1;
  for (const Component& component : components_) {
    const std::optional<SpaceSize> part = counted(component, max_steps, kFewSteps);
    if (part && part->count == 0) return 0;
    std::uint64_t product = 0;
    const bool exact = total && part && part->exact && !__builtin_mul_overflow(*total, *part->exact, &product);
    total = exact ? std::optional(product) : std::nullopt;
  }
  return total;
}

SpaceSize SpaceBuilder::size(std::uint64_t max_steps, std::uint64_t few_steps) {
  SpaceSize size{1, 1, 0, 1, 0};
  if (empty_ || error_) return {0, 0, 0, 0, 0};
  for (const Component& component : components_) {
    std::optional<SpaceSize> part = counted(component, max_steps, few_steps);
    if (!part) {
      const ComponentCount::Estimate estimate = counter(component, search_order(component)).estimate(kDescents);
      part = SpaceSize{estimate.count, std::nullopt, estimate.count > 0 ? estimate.standard_error / estimate.count : 1, estimate.count, 0};
    }
    size.failing = size.failing * (part->count + part->failing) + size.count * part->failing;
    size.count *= part->count;
    size.relative_error = std::hypot(size.relative_error, part->relative_error);
    size.largest_group = std::max(size.largest_group, part->largest_group);
    std::uint64_t product = 0;
    const bool exact = size.exact && part->exact && !__builtin_mul_overflow(*size.exact, *part->exact, &product);
    size.exact = exact ? std::optional(product) : std::nullopt;
  }
  return size;
}

SpaceSize space_size(const SpaceDefinition& definition, std::uint64_t max_steps) {
  return SpaceBuilder(definition, KeyLayout(definition.parameters)).size(max_steps);
}

}  // namespace tunebook
