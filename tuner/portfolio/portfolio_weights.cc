#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"
#include "portfolio/portfolio_input.h"

namespace tunebook {
namespace {

// The problem of an entry, complete and in declared order.
Problem read_problem(const nlohmann::ordered_json& json, const KernelSpec& spec,
                     const std::string& where) {
  if (!json.is_object())
    throw InputError(fmt::format("{}: expected \"problem\": {{\"m\": 1, ...}}", where));
  Problem given;
  std::vector<std::string> known;
  for (const Dimension& dimension : spec.dimensions) known.push_back(dimension.name);
  for (const auto& [name, value] : json.items()) {
    if (spec.find_dimension(name) == nullptr) {
      const std::string near = nearest_word(name, known);
      throw InputError(fmt::format("{}: kernel {} has no dimension '{}'{}", where, spec.name, name,
                                   near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
    if (value.is_number_integer())
      given.set(name, value.get<std::int64_t>());
    else if (value.is_string())
      given.set(name, value.get<std::string>());
    else
      throw InputError(
          fmt::format("{}: the dimension {} is neither an integer nor a text", where, name));
  }
  Problem problem;
  for (const Dimension& dimension : spec.dimensions) {
    if (const Value* value = given.find(dimension.name))
      problem.set(dimension.name, *value);
    else if (dimension.categorical)
      problem.set(dimension.name, spec.default_of(dimension, given));
    else
      throw InputError(fmt::format("{}: the problem lacks the size {}", where, dimension.name));
  }
  try {
    spec.check_problem(problem);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", where, error.what()));
  }
  return problem;
}

// The entries of the file with the places for messages: of an array its elements, else of each
// line.
std::vector<std::pair<std::string, nlohmann::ordered_json>> entries_of(
    const std::filesystem::path& file) {
  const std::string text = read_text_file(file);
  std::vector<std::pair<std::string, nlohmann::ordered_json>> entries;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '[') {
    const nlohmann::ordered_json list = parse_json_text(text, file.string());
    for (std::size_t i = 0; i < list.size(); ++i) {
      entries.emplace_back(fmt::format("{}: /{}", file.string(), i), list[i]);
    }
    return entries;
  }
  std::size_t start = 0;
  for (std::size_t line = 1; start < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string one = text.substr(start, end - start);
    start = end + 1;
    if (one.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = fmt::format("{}:{}", file.string(), line);
    entries.emplace_back(where, parse_json_text(one, where));
  }
  return entries;
}

}  // namespace

std::vector<WeightedProblem> read_weights(const std::filesystem::path& file, const KernelSpec& spec,
                                          const std::string& dtype) {
  std::map<std::string, WeightedProblem> by_text;
  for (const auto& [where, entry] : entries_of(file)) {
    if (!entry.is_object() || !entry.contains("problem")) {
      throw InputError(fmt::format(
          "{}: expected an object such as {{\"problem\": {{\"m\": 1}}, \"weight\": 2}}", where));
    }
    if (entry.contains("kernel") && entry["kernel"] != spec.name) continue;
    double weight = 1;
    if (entry.contains("weight")) {
      const auto& given = entry["weight"];
      weight = given.is_number() ? given.get<double>() : -1;
      if (!(weight > 0) || !std::isfinite(weight)) {
        throw InputError(
            fmt::format("{}: found the weight {}, expected a number above 0", where, given.dump()));
      }
    }
    const Problem problem = read_problem(entry["problem"], spec, where);
    if (!dtype.empty() && to_text(problem.at("dtype")) != dtype) continue;
    const auto [place, added] =
        by_text.try_emplace(problem.canonical(), WeightedProblem{problem, 0});
    place->second.weight += weight;
  }
  if (by_text.empty()) {
    throw InputError(fmt::format("{}: no entry is of kernel {}{}", file.string(), spec.name,
                                 dtype.empty() ? "" : " with dtype " + dtype));
  }
  std::vector<WeightedProblem> weighted;
  for (auto& [text, one] : by_text) weighted.push_back(std::move(one));
  std::stable_sort(
      weighted.begin(), weighted.end(),
      [](const WeightedProblem& x, const WeightedProblem& y) { return x.weight > y.weight; });
  return weighted;
}

}  // namespace tunebook
