#include "search/space_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"

namespace tunebook {
namespace {

constexpr std::size_t kMaxValues = 65'535;

[[noreturn]] void fail(const std::string& file, std::string_view json_path, std::string_view message) {
  throw InputError(fmt::format("{}: {}: {}", file, json_path, message));
}

Value parse_parameter_value(const nlohmann::ordered_json& json, const std::string& where) {
  if (json.is_number_float()) return json.dump();
  return value_from_json(json, where);
}

Parameter parse_parameter(const std::string& name, const nlohmann::ordered_json& json, const std::string& file) {
  const std::string json_path = "/parameters/" + name;
  if (name.empty()) fail(file, "/parameters", "a parameter has an empty name");
  if (!json.is_array() || json.empty()) fail(file, json_path, "expected a list with at least one value");
  if (json.size() > kMaxValues) fail(file, json_path, fmt::format("{} values, at most {} are supported", json.size(), kMaxValues));
  Parameter parameter;
  parameter.name = name;
  for (std::size_t i = 0; i < json.size(); ++i) {
    parameter.values.push_back(parse_parameter_value(json[i], fmt::format("{}: {}/{}", file, json_path, i)));
  }
  const auto of_other_kind = [&](const Value& value) { return value.index() != parameter.values.front().index(); };
  if (std::any_of(parameter.values.begin(), parameter.values.end(), of_other_kind)) {
    for (Value& value : parameter.values) value = to_text(value);
  }
  std::vector<Value> sorted = parameter.values;
  std::sort(sorted.begin(), sorted.end());
  const auto repeated = std::adjacent_find(sorted.begin(), sorted.end());
  if (repeated != sorted.end()) fail(file, json_path, fmt::format("the value {} is listed twice", to_text(*repeated)));
  return parameter;
}

}  // namespace

std::vector<Parameter> parse_parameters(const nlohmann::ordered_json& json, const std::string& file) {
  if (!json.is_object()) fail(file, "/", "expected an object");
  const auto found = json.find("parameters");
  if (found == json.end()) fail(file, "/", "the key \"parameters\" is missing");
  if (!found->is_object() || found->empty()) {
    fail(file, "/parameters", "expected an object with at least one parameter and its list of values");
  }
  std::vector<Parameter> parameters;
  for (const auto& [name, values] : found->items()) parameters.push_back(parse_parameter(name, values, file));
  return parameters;
}

std::optional<std::vector<std::string>> parse_constraint_texts(const nlohmann::ordered_json& json, const std::string& file) {
  const auto found = json.find("constraints");
  if (found == json.end() || found->is_null()) return std::nullopt;
  if (!found->is_array()) fail(file, "/constraints", "expected a list of expressions");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < found->size(); ++i) {
    if (!(*found)[i].is_string()) fail(file, fmt::format("/constraints/{}", i), "expected an expression in quotes");
    texts.push_back((*found)[i].get<std::string>());
  }
  return texts;
}

SpaceDefinition define_space(std::vector<Parameter> parameters, const std::vector<std::pair<std::string, Value>>& bound,
                             Names& names) {
  SpaceDefinition definition;
  for (const Parameter& parameter : parameters) definition.slots.push_back(names.add(parameter.name));
  definition.scope.resize(parameters.size());
  for (const auto& [name, value] : bound) {
    if (names.find(name)) continue;
    names.add(name);
    definition.scope.push_back(Scalar::from(value));
  }
  definition.parameters = std::move(parameters);
  return definition;
}

SpaceFile load_space_file(const std::filesystem::path& path, const std::vector<std::string>& where) {
  const std::string file = path.string();
  const nlohmann::ordered_json json = parse_json_text(read_text_file(path), file);
  SpaceFile result;
  result.name = path.stem().string();
  std::vector<Parameter> parameters = parse_parameters(json, file);
  if (const auto name = json.find("name"); name != json.end() && name->is_string()) result.name = name->get<std::string>();
  result.definition = define_space(std::move(parameters), {}, result.names);
  const std::vector<std::string> texts = parse_constraint_texts(json, file).value_or(std::vector<std::string>{});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    try {
      result.definition.constraints.push_back(Expression::compile(texts[i], result.names));
    } catch (const ExpressionError& error) {
      fail(file, fmt::format("/constraints/{}", i), fmt::format("column {}: {}", error.column, error.what()));
    }
  }
  for (Expression& constraint : compile_where(where, result.names)) {
    result.definition.constraints.push_back(std::move(constraint));
  }
  return result;
}

}  // namespace tunebook
