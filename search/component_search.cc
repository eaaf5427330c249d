#include "search/component_search.h"

#include <algorithm>
#include <utility>

#include "search/space_builder.h"

namespace tunebook {
namespace {

// Bytes of one table of results. A constraint over more combinations is evaluated each time.
constexpr std::uint64_t kMaxTable = std::uint64_t{1} << 22;

}  // namespace

ComponentSearch::ComponentSearch(const SpaceDefinition& definition, const KeyLayout& layout, std::vector<Scalar> scope,
                                 std::vector<Level> levels)
    : definition_(definition), layout_(layout), scope_(std::move(scope)), levels_(std::move(levels)),
      row_(definition.parameters.size(), 0), prefix_((levels_.size() + 1) * layout.words(), 0) {
  for (const Level& level : levels_) {
    std::vector<Table>& tables = tables_.emplace_back(level.checks.size());
    for (std::size_t n = 0; n < tables.size(); ++n) {
      if (!level.checks[n].repeats) continue;
      std::uint64_t size = 1;
      for (const std::size_t parameter : level.checks[n].parameters) {
        tables[n].strides.push_back(size);
        size *= definition.parameters[parameter].values.size();
        if (size > kMaxTable) break;
      }
      if (size <= kMaxTable) tables[n].verdicts.assign(size, Verdict::unknown);
    }
  }
}

ComponentSearch::Result ComponentSearch::run(const Limits& limits) {
  limits_ = limits;
  result_ = Result{};
  failed_.reset();
  result_.complete = descend(0);
  return std::move(result_);
}

bool ComponentSearch::descend(std::size_t level) {
  if (level == levels_.size()) return leaf();
  const std::size_t words = layout_.words();
  const Level& plan = levels_[level];
  const KeyLayout::Digit& digit = layout_.digit(plan.parameter);
  const std::size_t slot = static_cast<std::size_t>(definition_.slots[plan.parameter]);
  const std::uint64_t* above = prefix_.data() + level * words;
  std::uint64_t* own = prefix_.data() + (level + 1) * words;
  const std::optional<std::size_t> failed_above = failed_;
  for (const std::uint16_t index : plan.domain) {
    if (result_.steps >= limits_.steps) return false;
    ++result_.steps;
    scope_[slot] = plan.scalars[index];
    row_[plan.parameter] = index;
    failed_ = failed_above;
    bool rejected = false;
    for (std::size_t n = 0; n < plan.checks.size() && !rejected; ++n) {
      const Verdict verdict = check(plan.checks[n], tables_[level][n]);
      rejected = verdict == Verdict::reject || (verdict == Verdict::fail && limits_.skip_failures);
      if (verdict == Verdict::fail && !failed_) failed_ = plan.checks[n].constraint;
    }
    if (rejected) continue;
    std::copy_n(above, words, own);
    own[digit.word] += digit.stride * index;
    if (!descend(level + 1)) return false;
  }
  return true;
}

bool ComponentSearch::leaf() {
  if (failed_) {
    result_.error = evaluation_failure(definition_, definition_.constraints[*failed_], scope_);
    return false;
  }
  ++result_.count;
  if (result_.count > limits_.count) return false;
  if (result_.count <= limits_.store) {
    const std::uint64_t* key = prefix_.data() + levels_.size() * layout_.words();
    result_.keys.insert(result_.keys.end(), key, key + layout_.words());
  } else if (!result_.keys.empty()) {
    result_.keys = {};
  }
  return true;
}

ComponentSearch::Verdict ComponentSearch::check(const LevelCheck& level_check, Table& table) {
  if (table.verdicts.empty()) return evaluate(level_check.constraint);
  std::uint64_t index = 0;
  for (std::size_t i = 0; i < table.strides.size(); ++i) index += table.strides[i] * row_[level_check.parameters[i]];
  Verdict& verdict = table.verdicts[index];
  if (verdict == Verdict::unknown) verdict = evaluate(level_check.constraint);
  return verdict;
}

ComponentSearch::Verdict ComponentSearch::evaluate(std::size_t constraint) const {
  try {
    return definition_.constraints[constraint].evaluate_bool(scope_) ? Verdict::pass : Verdict::reject;
  } catch (const ExpressionError&) {
    return Verdict::fail;
  }
}

}  // namespace tunebook
