#include "search/space.h"

#include <algorithm>
#include <numeric>
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

bool SpaceSize::fits() const {
  return count <= static_cast<double>(SearchSpace::kMaxSize) && largest_group <= static_cast<double>(SearchSpace::kMaxGroup);
}

SearchSpace::SearchSpace(SpaceDefinition definition) : definition_(std::move(definition)), layout_(definition_.parameters) {
  if (definition_.slots.size() != definition_.parameters.size()) {
    throw std::logic_error("SearchSpace: one slot per parameter is needed");
  }
}

void SearchSpace::set_groups(std::vector<Group> groups) {
  groups_ = std::move(groups);
  size_ = groups_.empty() ? 0 : 1;
  for (std::size_t g = groups_.size(); g-- > 0;) {
    groups_[g].size = groups_[g].keys.size() / layout_.words();
    groups_[g].stride = size_;
    size_ *= groups_[g].size;
  }
}

SearchSpace SearchSpace::build(SpaceDefinition definition, std::uint64_t max_size) {
  SearchSpace space(std::move(definition));
  std::vector<Group> groups;
  for (SpaceBuilder::Part& part : SpaceBuilder(space.definition_, space.layout_).build(max_size)) {
    groups.push_back({std::move(part.parameters), std::move(part.keys)});
  }
  space.set_groups(std::move(groups));
  if (space.size_ <= kListed && space.groups_.size() > 1) space.list();
  return space;
}

// Multiplies the groups out. Keys are sums of the groups' keys.
void SearchSpace::list() {
  const std::size_t words = layout_.words();
  std::vector<std::uint64_t> keys(words, 0);
  for (Group& group : groups_) {
    if (keys.size() == words && std::all_of(keys.begin(), keys.end(), [](std::uint64_t word) { return word == 0; })) {
      keys = std::move(group.keys);
      continue;
    }
    std::vector<std::uint64_t> product;
    product.reserve(keys.size() / words * group.keys.size());
    for (std::size_t x = 0; x < keys.size(); x += words) {
      for (std::size_t y = 0; y < group.keys.size(); y += words) {
        for (std::size_t w = 0; w < words; ++w) product.push_back(keys[x + w] + group.keys[y + w]);
      }
    }
    keys = std::move(product);
  }
  layout_.sort(keys);
  std::vector<std::size_t> parameters(parameter_count());
  std::iota(parameters.begin(), parameters.end(), std::size_t{0});
  std::vector<Group> one;
  one.push_back({std::move(parameters), std::move(keys)});
  set_groups(std::move(one));
}

SearchSpace SearchSpace::from_rows(SpaceDefinition definition, std::span<const std::uint16_t> rows) {
  SearchSpace space(std::move(definition));
  space.listed_ = true;
  const std::size_t width = space.parameter_count();
  if (width == 0 || rows.size() % width != 0) throw std::logic_error("SearchSpace::from_rows: incomplete rows");
  const std::size_t words = space.layout_.words();
  std::vector<std::uint64_t> keys(rows.size() / width * words);
  for (std::size_t n = 0; n * width < rows.size(); ++n) {
    const std::span<const std::uint16_t> row = rows.subspan(n * width, width);
    for (std::size_t i = 0; i < width; ++i) {
      if (row[i] >= space.domain_size(i)) throw std::logic_error("SearchSpace::from_rows: value index out of range");
    }
    space.layout_.encode(row, keys.data() + n * words);
  }
  space.layout_.sort(keys);
  space.layout_.remove_duplicates(keys);
  keys.shrink_to_fit();
  std::vector<std::size_t> parameters(width);
  std::iota(parameters.begin(), parameters.end(), std::size_t{0});
  std::vector<Group> groups;
  groups.push_back({std::move(parameters), std::move(keys)});
  space.set_groups(std::move(groups));
  return space;
}

std::string SpaceDefinition::cartesian_size_text() const { return decimal_product(parameters); }

double SpaceDefinition::cartesian_size() const {
  double product = 1;
  for (const Parameter& parameter : parameters) product *= static_cast<double>(parameter.values.size());
  return product;
}

void SearchSpace::row(std::uint64_t index, std::span<std::uint16_t> value_indices) const {
  if (index >= size()) throw std::out_of_range(fmt::format("configuration {} of a space of {}", index, size()));
  const std::size_t words = layout_.words();
  if (groups_.size() == 1) {
    layout_.decode(groups_.front().keys.data() + index * words, value_indices);
    return;
  }
  std::vector<std::uint64_t> key(words, 0);
  for (const Group& group : groups_) {
    const std::uint64_t* own = group.keys.data() + index / group.stride % group.size * words;
    for (std::size_t w = 0; w < words; ++w) key[w] += own[w];
  }
  layout_.decode(key.data(), value_indices);
}

std::optional<std::uint64_t> SearchSpace::find(std::span<const std::uint16_t> value_indices) const {
  if (value_indices.size() != parameter_count() || size_ == 0) return std::nullopt;
  for (std::size_t i = 0; i < value_indices.size(); ++i) {
    if (value_indices[i] >= domain_size(i)) return std::nullopt;
  }
  const std::size_t words = layout_.words();
  std::uint64_t index = 0;
  if (words == 1) {
    for (const Group& group : groups_) {
      std::uint64_t key = 0;
      for (const std::size_t i : group.parameters) key += layout_.digit(i).stride * value_indices[i];
      const auto found = std::lower_bound(group.keys.begin(), group.keys.end(), key);
      if (found == group.keys.end() || *found != key) return std::nullopt;
      index += static_cast<std::uint64_t>(found - group.keys.begin()) * group.stride;
    }
    return index;
  }
  std::vector<std::uint64_t> key(words);
  for (const Group& group : groups_) {
    std::fill(key.begin(), key.end(), std::uint64_t{0});
    for (const std::size_t i : group.parameters) key[layout_.digit(i).word] += layout_.digit(i).stride * value_indices[i];
    std::uint64_t low = 0;
    std::uint64_t high = group.size;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (layout_.compare(group.keys.data() + middle * words, key.data()) < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == group.size || layout_.compare(group.keys.data() + low * words, key.data()) != 0) return std::nullopt;
    index += low * group.stride;
  }
  return index;
}

std::vector<std::uint16_t> SearchSpace::unused_values(std::size_t parameter) const {
  std::vector<bool> used(domain_size(parameter), false);
  const KeyLayout::Digit& digit = layout_.digit(parameter);
  std::size_t unseen = used.size();
  for (const Group& group : groups_) {
    if (std::find(group.parameters.begin(), group.parameters.end(), parameter) == group.parameters.end()) continue;
    for (std::uint64_t n = 0; n < group.size && unseen > 0; ++n) {
      const std::uint64_t value = group.keys[n * layout_.words() + digit.word] / digit.stride % digit.size;
      if (used[value]) continue;
      used[value] = true;
      --unseen;
    }
  }
  std::vector<std::uint16_t> unused;
  for (std::size_t v = 0; v < used.size(); ++v) {
    if (!used[v]) unused.push_back(static_cast<std::uint16_t>(v));
  }
  return unused;
}

std::uint64_t SearchSpace::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const Group& group : groups_) bytes += group.keys.capacity() * sizeof(std::uint64_t);
  return bytes;
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
