#include "sweep/region_source.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"
#include "sweep/plan.h"
#include "sweep/plan_keys.h"

namespace tunebook {
namespace {

constexpr double kMostWeight = 1e12;

void read_list(SpecReader& reader, const SpecNode& node, CoverDimension& dimension) {
  if (node.json.empty()) reader.wrong_empty(node);
  if (node.json.size() > kMaxRange) {
    reader.problem(node.path,
                   fmt::format("found more than {} sizes, expected that many at most", kMaxRange));
    return;
  }
  for (std::size_t i = 0; i < node.json.size(); ++i) {
    const auto size = reader.integer(node.at(i), 1, kMaxDimension);
    if (size) dimension.values.push_back(*size);
  }
  std::sort(dimension.values.begin(), dimension.values.end());
  const auto end = std::unique(dimension.values.begin(), dimension.values.end());
  dimension.values.erase(end, dimension.values.end());
}

void read_sizes(SpecReader& reader, const SpecNode& node, CoverDimension& dimension) {
  if (node.json.is_array()) return read_list(reader, node, dimension);
  if (node.json.is_number_integer()) {
    if (const auto size = reader.integer(node, 1, kMaxDimension)) dimension.values = {*size};
    return;
  }
  if (!node.json.is_object()) {
    reader.wrong(node, "a size, a list of sizes, a category, or {\"from\": 1, \"to\": 8192}");
    return;
  }
  if (!reader.object(node, plan_object("sizes"))) return;
  const auto end = [&](const char* key) {
    return node.find(key) == nullptr ? std::nullopt
                                     : reader.integer(node.at(key), 1, kMaxDimension);
  };
  const auto from = end("from"), to = end("to");
  if (!from || !to) return;
  if (*from > *to) {
    reader.problem(node.path,
                   fmt::format("found sizes from {} to {}, expected \"from\" to be the smaller one",
                               *from, *to));
    return;
  }
  dimension.from = *from;
  dimension.to = *to;
}

// "512,512,512 3.5": what follows a space is the weight.
std::optional<double> take_weight(std::string& text) {
  const std::size_t space = text.find_last_of(" \t");
  if (space == std::string::npos) return 1;
  const std::string number = text.substr(space + 1);
  double weight = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), weight);
  const bool whole = error == std::errc{} && end == number.data() + number.size();
  if (!whole || !(weight > 0) || weight > kMostWeight) return std::nullopt;
  text.resize(text.find_last_not_of(" \t", space) + 1);
  return weight;
}

// Whether all that is no size agrees.
bool same_categories(const Problem& x, const Problem& y, const KernelSpec& spec) {
  return std::all_of(
      spec.dimensions.begin(), spec.dimensions.end(), [&](const Dimension& dimension) {
        return !dimension.categorical || x.at(dimension.name) == y.at(dimension.name);
      });
}

// The problem of a weighted shape; categories that it does not name are the region's.
Problem shape_problem(const WantedShape& shape, const std::string& text, const KernelSpec& spec,
                      const Problem& region) {
  if (!shape.text.empty()) {
    std::string whole = text;
    for (const Dimension& dimension : spec.dimensions) {
      const bool named = text.find(dimension.name + "=") != std::string::npos;
      if (dimension.categorical && !named) {
        whole += fmt::format(",{}={}", dimension.name, to_text(region.at(dimension.name)));
      }
    }
    return spec.parse_shape(whole);
  }
  Problem problem = region;
  for (const auto& [name, value] : shape.values.items()) problem.set(name, value);
  spec.check_problem(problem);
  return problem;
}

// Which sizes a condition of the plan leaves; null with a fault if it is none.
std::function<bool(const std::vector<std::int64_t>&)> compile_condition(
    const std::string& text, const KernelSpec& spec, const CoverRegion& region,
    std::vector<std::string>& faults) {
  Expression condition;
  try {
    condition = Expression::compile(text, spec.names);
  } catch (const ExpressionError& error) {
    faults.push_back(fmt::format("\"when\": column {}: {}", error.column, error.what()));
    return nullptr;
  }
  for (const int slot : condition.slots()) {
    if (static_cast<std::size_t>(slot) >= spec.dimensions.size()) {
      faults.push_back(fmt::format(
          "\"when\": found `{}`, which reads more than sizes and categories, expected these alone",
          text));
      return nullptr;
    }
  }
  return [condition = std::move(condition), spec, region](const std::vector<std::int64_t>& sizes) {
    try {
      return condition.evaluate_bool(spec.scope(region.item_for(sizes).problem, Device()));
    } catch (const ExpressionError&) {  // a condition without a value is one that does not hold
      return false;
    }
  };
}

}  // namespace

std::optional<WantedRegion> read_region(SpecReader& reader, const SpecNode& entry,
                                        const std::string& folder,
                                        std::vector<std::string>& notes) {
  if (entry.find("cover") == nullptr) {
    for (const char* key : {"when", "weights", "target_loss", "most_shapes"}) {
      if (entry.find(key) != nullptr)
        reader.problem(entry.path,
                       fmt::format("found \"{}\" without \"cover\", expected both", key));
    }
    return std::nullopt;
  }
  WantedRegion region;
  const SpecNode cover = entry.at("cover");
  region.path = cover.path;
  if (entry.find("shapes") != nullptr) {
    reader.problem(
        entry.path,
        "found \"cover\" and \"shapes\", expected one of them; give each an entry of its own");
  }
  if (!reader.object(
          cover, "an object of sizes such as {\"m\": {\"from\": 1, \"to\": 8192}, \"n\": 4096}"))
    return std::nullopt;
  if (cover.json.empty()) {
    reader.wrong(cover, "sizes for each dimension");
    return std::nullopt;
  }
  for (const auto& [name, unused] : cover.json.items()) {
    const SpecNode node = cover.at(name);
    if (node.json.is_string() && !node.json.get_ref<const std::string&>().empty()) {
      region.categories.set(name, node.json.get<std::string>());
      continue;
    }
    CoverDimension dimension;
    dimension.name = name;
    read_sizes(reader, node, dimension);
    region.sizes.emplace_back(name, std::move(dimension));
  }
  if (entry.find("when") != nullptr) {
    const SpecNode when = entry.at("when");
    if (when.json.is_string() && !when.json.get_ref<const std::string&>().empty())
      region.when = when.json.get<std::string>();
    else
      reader.wrong(when, "an expression over the sizes such as \"m * n <= 2 ** 28\"");
  }
  if (entry.find("most_shapes") != nullptr) {
    const auto most =
        reader.integer(entry.at("most_shapes"), 1, static_cast<std::int64_t>(kMaxItems));
    if (most) region.most_shapes = static_cast<std::size_t>(*most);
  }
  if (entry.find("target_loss") != nullptr) {
    const SpecNode target = entry.at("target_loss");
    const auto share = target.json.is_string()
                           ? parse_percentage(target.json.get_ref<const std::string&>())
                           : std::nullopt;
    if (share)
      region.target_loss = *share;
    else
      reader.wrong(target, "a percentage such as \"3%\"");
  }
  if (entry.find("weights") != nullptr) {
    const SpecNode weights = entry.at("weights");
    const bool file =
        weights.find("from_file") != nullptr || weights.find("from_misses") != nullptr;
    if (file)
      region.weights = read_shape_source(reader, weights, folder, notes);
    else
      reader.wrong(weights, "{\"from_file\": PATH} or {\"from_misses\": PATH}");
  }
  return region;
}

CoverRegion make_region(const WantedRegion& wanted, const KernelSpec& spec, const Problem& problem,
                        std::vector<std::string>& faults) {
  CoverRegion region;
  region.item.kernel = spec.name;
  region.item.problem = problem;
  region.target_loss = wanted.target_loss;
  region.most_shapes = wanted.most_shapes;
  for (const Dimension& dimension : spec.dimensions) {
    if (dimension.categorical) continue;
    const auto found =
        std::find_if(wanted.sizes.begin(), wanted.sizes.end(),
                     [&](const auto& sizes) { return sizes.first == dimension.name; });
    if (found == wanted.sizes.end()) continue;  // problems_of() has told that it is missing
    region.dimensions.push_back(found->second);
    region.dimensions.back().classes = tells_classes_apart(spec, dimension.name);
  }
  region.when = wanted.when;
  if (!wanted.when.empty() && region.dimensions.size() == wanted.sizes.size())
    region.holds = compile_condition(wanted.when, spec, region, faults);
  for (const WantedShape& shape : wanted.weights) {
    if (shape.miss && shape.kernel != spec.name) continue;
    std::string text = shape.text;
    const auto weight = take_weight(text);
    if (!weight) {
      faults.push_back(
          fmt::format("{}{}: found no weight after the space, expected a positive number",
                      shape.place, in_quotes(shape.text)));
      continue;
    }
    try {
      const Problem one = shape_problem(shape, text, spec, problem);
      WeightedShape weighted{{}, *weight};
      for (const CoverDimension& size : region.dimensions)
        weighted.sizes.push_back(std::get<std::int64_t>(one.at(size.name)));
      if (same_categories(one, problem, spec) && region.contains(weighted.sizes))
        region.weights.push_back(std::move(weighted));
    } catch (const InputError& error) {
      if (!shape.miss)
        faults.push_back(fmt::format("{}{}: {}", shape.place, in_quotes(shape.text), error.what()));
    }
  }
  return region;
}

}  // namespace tunebook
