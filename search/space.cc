#include "search/space.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "search/space_builder.h"

namespace tunebook {
namespace {

// Decimal product of the domain sizes by schoolbook multiplication in base 10^9.
std::string decimal_product(const std::vector<Parameter>& parameters) {
  constexpr std::uint64_t kBase = 1'000'000'000;
  std::vector<std::uint64_t> digits = {1};
  for (const Parameter& parameter : parameters) {
    std::uint64_t carry = 0;
    for (std::uint64_t& digit : digits) {
      carry += digit * parameter.values.size();
      digit = carry % kBase;
      carry /= kBase;
    }
    if (carry > 0) digits.push_back(carry);
  }
  std::string text = fmt::format("{}", digits.back());
  for (std::size_t i = digits.size() - 1; i-- > 0;) text += fmt::format("{:09}", digits[i]);
  return text;
}

}  // namespace

std::vector<Expression> compile_where(const std::vector<std::string>& where, const Names& names) {
  std::vector<Expression> compiled;
  for (const std::string& text : where) {
    try {
      compiled.push_back(Expression::compile(text, names));
    } catch (const ExpressionError& error) {
      throw InputError(fmt::format("--where \"{}\", column {}: {}", text, error.column, error.what()));
    }
  }
  return compiled;
}

SpaceDefinition space_definition(const KernelSpec& spec, const Problem& problem, const Device& device,
                                 const std::vector<std::string>& where) {
  SpaceDefinition definition;
  definition.parameters = spec.parameters;
  for (const Parameter& parameter : spec.parameters) {
    const std::optional<int> slot = spec.names.find(parameter.name);
    if (!slot) throw std::logic_error("space_definition: the spec does not name its parameter " + parameter.name);
    definition.slots.push_back(*slot);
  }
  definition.constraints = spec.constraints;
  for (Expression& constraint : compile_where(where, spec.names)) definition.constraints.push_back(std::move(constraint));
  definition.scope = spec.scope(problem, device);
  return definition;
}

SearchSpace::SearchSpace(SpaceDefinition definition) : definition_(std::move(definition)), layout_(definition_.parameters) {
  if (definition_.slots.size() != definition_.parameters.size()) {
    throw std::logic_error("SearchSpace: one slot per parameter is needed");
  }
}

SearchSpace SearchSpace::build(SpaceDefinition definition, std::uint64_t max_size) {
  SearchSpace space(std::move(definition));
  space.keys_ = SpaceBuilder(space.definition_, space.layout_).build(max_size);
  return space;
}

SearchSpace SearchSpace::from_rows(SpaceDefinition definition, std::span<const std::uint16_t> rows) {
  SearchSpace space(std::move(definition));
  space.listed_ = true;
  const std::size_t width = space.parameter_count();
  if (width == 0 || rows.size() % width != 0) throw std::logic_error("SearchSpace::from_rows: incomplete rows");
  const std::size_t words = space.layout_.words();
  space.keys_.resize(rows.size() / width * words);
  for (std::size_t n = 0; n * width < rows.size(); ++n) {
    const std::span<const std::uint16_t> row = rows.subspan(n * width, width);
    for (std::size_t i = 0; i < width; ++i) {
      if (row[i] >= space.domain_size(i)) throw std::logic_error("SearchSpace::from_rows: value index out of range");
    }
    space.layout_.encode(row, space.keys_.data() + n * words);
  }
  space.layout_.sort(space.keys_);
  space.layout_.remove_duplicates(space.keys_);
  space.keys_.shrink_to_fit();
  return space;
}

std::string SearchSpace::cartesian_size_text() const { return decimal_product(definition_.parameters); }

double SearchSpace::cartesian_size() const {
  double product = 1;
  for (const Parameter& parameter : definition_.parameters) product *= static_cast<double>(parameter.values.size());
  return product;
}

void SearchSpace::row(std::uint64_t index, std::span<std::uint16_t> value_indices) const {
  if (index >= size()) throw std::out_of_range(fmt::format("configuration {} of a space of {}", index, size()));
  layout_.decode(keys_.data() + index * layout_.words(), value_indices);
}

std::optional<std::uint64_t> SearchSpace::find(std::span<const std::uint16_t> value_indices) const {
  if (value_indices.size() != parameter_count()) return std::nullopt;
  for (std::size_t i = 0; i < value_indices.size(); ++i) {
    if (value_indices[i] >= domain_size(i)) return std::nullopt;
  }
  const std::size_t words = layout_.words();
  std::vector<std::uint64_t> key(words);
  layout_.encode(value_indices, key.data());
  std::uint64_t low = 0;
  std::uint64_t high = size();
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const int order = layout_.compare(keys_.data() + middle * words, key.data());
    if (order == 0) return middle;
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return std::nullopt;
}

Configuration SearchSpace::configuration(std::uint64_t index) const {
  std::vector<std::uint16_t> indices(parameter_count());
  row(index, indices);
  Configuration result;
  for (std::size_t i = 0; i < indices.size(); ++i) result.set(parameters()[i].name, parameters()[i].values[indices[i]]);
  return result;
}

std::optional<std::uint64_t> SearchSpace::find(const Configuration& configuration) const {
  if (configuration.items().size() != parameter_count()) return std::nullopt;
  std::vector<std::uint16_t> indices;
  for (const Parameter& parameter : parameters()) {
    const Value* value = configuration.find(parameter.name);
    if (value == nullptr) return std::nullopt;
    const auto found = std::find(parameter.values.begin(), parameter.values.end(), *value);
    if (found == parameter.values.end()) return std::nullopt;
    indices.push_back(static_cast<std::uint16_t>(found - parameter.values.begin()));
  }
  return find(std::span<const std::uint16_t>(indices));
}

}  // namespace tunebook
