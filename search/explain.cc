#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/random.h"
#include "search/space.h"
#include "search/space_builder.h"

namespace tunebook {
namespace {

// Up to here the share that a constraint alone removes is counted, beyond it estimated.
constexpr std::uint64_t kExactCombinations = std::uint64_t{1} << 22;
constexpr int kSamples = 1 << 17;  // standard error at most 0.14 % of the product
constexpr std::uint64_t kSampleSeed = 0x7370'6163'6521;

// Search steps spent on counting the space without one constraint: some seconds at worst.
constexpr std::uint64_t kMaxSteps = 20'000'000;

// What one constraint alone removes: only the parameters that it reads matter.
class AloneEffect {
 public:
  AloneEffect(const SpaceDefinition& definition, const Expression& constraint)
      : constraint_(constraint), scope_(definition.scope) {
    for (const int slot : constraint.slots()) {
      if (scope_.size() <= static_cast<std::size_t>(slot)) scope_.resize(static_cast<std::size_t>(slot) + 1);
    }
    for (std::size_t i = 0; i < definition.parameters.size(); ++i) {
      const int slot = definition.slots[i];
      if (!std::binary_search(constraint.slots().begin(), constraint.slots().end(), slot)) continue;
      slots_.push_back(static_cast<std::size_t>(slot));
      std::vector<Scalar>& scalars = scalars_.emplace_back();
      for (const Value& value : definition.parameters[i].values) scalars.push_back(Scalar::from(value));
      if (combinations_ <= kExactCombinations) combinations_ *= scalars.size();
    }
  }

  bool exact() const { return combinations_ <= kExactCombinations; }

  double removed_share() { return exact() ? count_all() : sample(); }

 private:
  // A combination for which it fails to evaluate is not a valid one either.
  bool removes() const {
    try {
      return !constraint_.evaluate_bool(scope_);
    } catch (const ExpressionError&) {
      return true;
    }
  }

  double count_all() {
    std::vector<std::size_t> odometer(slots_.size(), 0);
    for (std::size_t i = 0; i < slots_.size(); ++i) scope_[slots_[i]] = scalars_[i][0];
    std::uint64_t removed = 0;
    for (std::uint64_t n = 0; n < combinations_; ++n) {
      removed += removes() ? 1 : 0;
      for (std::size_t i = 0; i < slots_.size(); ++i) {
        const bool wrapped = ++odometer[i] == scalars_[i].size();
        if (wrapped) odometer[i] = 0;
        scope_[slots_[i]] = scalars_[i][odometer[i]];
        if (!wrapped) break;
      }
    }
    return static_cast<double>(removed) / static_cast<double>(combinations_);
  }

  double sample() {
    Random random(kSampleSeed);
    int removed = 0;
    for (int n = 0; n < kSamples; ++n) {
      for (std::size_t i = 0; i < slots_.size(); ++i) scope_[slots_[i]] = scalars_[i][random.below(scalars_[i].size())];
      removed += removes() ? 1 : 0;
    }
    return static_cast<double>(removed) / kSamples;
  }

  const Expression& constraint_;
  std::vector<Scalar> scope_;
  std::vector<std::size_t> slots_;
  std::vector<std::vector<Scalar>> scalars_;
  std::uint64_t combinations_ = 1;
};

std::vector<std::pair<std::string, std::vector<Value>>> find_unused_values(const SearchSpace& space) {
  std::vector<std::pair<std::string, std::vector<Value>>> result;
  for (std::size_t i = 0; i < space.parameter_count(); ++i) {
    std::vector<Value> values;
    for (const std::uint16_t v : space.unused_values(i)) values.push_back(space.parameters()[i].values[v]);
    if (!values.empty()) result.emplace_back(space.parameters()[i].name, std::move(values));
  }
  return result;
}

std::vector<SpaceExplanation::ConstraintEffect> effects(const SpaceDefinition& definition, bool listed) {
  const KeyLayout layout(definition.parameters);
  std::vector<SpaceExplanation::ConstraintEffect> result;
  for (std::size_t c = 0; c < definition.constraints.size(); ++c) {
    AloneEffect alone(definition, definition.constraints[c]);
    SpaceExplanation::ConstraintEffect effect;
    effect.text = definition.constraints[c].text();
    effect.exact = alone.exact();
    effect.alone = alone.removed_share();
    if (!listed) effect.valid_without = SpaceBuilder(definition, layout, c).count(kMaxSteps);
    result.push_back(std::move(effect));
  }
  return result;
}

}  // namespace

SpaceExplanation explain(const SearchSpace& space) {
  SpaceExplanation explanation;
  explanation.constraints = effects(space.definition(), space.listed());
  explanation.unused_values = find_unused_values(space);
  return explanation;
}

SpaceExplanation explain(const SpaceDefinition& definition) {
  SpaceExplanation explanation;
  explanation.constraints = effects(definition, false);
  const KeyLayout layout(definition.parameters);
  const SpaceBuilder builder(definition, layout);
  for (std::size_t i = 0; i < definition.parameters.size(); ++i) {
    const std::vector<std::uint16_t>& possible = builder.possible_values(i);
    std::vector<Value> values;
    for (std::size_t v = 0; v < definition.parameters[i].values.size(); ++v) {
      if (!std::binary_search(possible.begin(), possible.end(), v)) values.push_back(definition.parameters[i].values[v]);
    }
    if (!values.empty()) explanation.unused_values.emplace_back(definition.parameters[i].name, std::move(values));
  }
  return explanation;
}

}  // namespace tunebook
