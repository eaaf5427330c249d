// KernelSpec::to_json: the normalised declaration.

#include <string>
#include <utility>

#include "core/spec.h"
#include "core/spec_baseline.h"
#include "core/spec_fill.h"

namespace tunebook {
namespace {

using nlohmann::ordered_json;

void put(ordered_json& object, const char* key, const Expression& expression) {
  if (!expression.empty()) object[key] = expression.text();
}

ordered_json write_extents(const std::array<Expression, 3>& extents) {
  ordered_json list = ordered_json::array();
  for (const Expression& extent : extents) if (!extent.empty()) list.push_back(extent.text());
  return list;
}

void put_shape(ordered_json& object, const Launch& launch) {
  object["block"] = write_extents(launch.block);
  object["grid"] = write_extents(launch.grid);
  put(object, "shared_bytes", launch.shared_bytes);
  put(object, "static_shared_bytes", launch.static_shared_bytes);
}

// One launch is an object, several are an array; what is the kernel's own is not repeated.
ordered_json write_launch(const KernelSpec& spec, const Launch& launch) {
  ordered_json object = ordered_json::object();
  if (launch.entry != spec.entry) object["entry"] = launch.entry;
  if (launch.instantiate != spec.instantiate) object["instantiate"] = launch.instantiate;
  put(object, "repeat", launch.repeat);
  put_shape(object, launch);
  return object;
}

ordered_json write_dimension(const Dimension& dimension) {
  ordered_json object = ordered_json::object();
  if (dimension.categorical) object["values"] = dimension.values;
  if (dimension.default_by_dtype.empty()) object["default"] = ordered_json(to_json_value(dimension.default_value));
  else object["default"] = dimension.default_by_dtype;
  if (!dimension.categorical) object["verify"] = dimension.verify;
  if (!dimension.help.empty()) object["help"] = dimension.help;
  return object;
}

ordered_json write_parameter(const Parameter& parameter) {
  ordered_json object = ordered_json::object();
  ordered_json& values = object["values"] = ordered_json::array();
  for (const Value& value : parameter.values) values.push_back(ordered_json(to_json_value(value)));
  if (parameter.is_type) object["type"] = true;
  if (!parameter.help.empty()) object["help"] = parameter.help;
  return object;
}

ordered_json write_argument(const Argument& argument) {
  ordered_json object = {{"name", argument.name}, {"type", argument.type_text}};
  if (!argument.pointer) {
    put(object, "value", argument.value);
    return object;
  }
  put(object, "count", argument.count);
  static constexpr const char* kAccess[] = {"in", "out", "inout", "workspace"};
  object["access"] = kAccess[static_cast<int>(argument.access)];
  if (argument.fill.kind != Fill::Kind::none) object["fill"] = argument.fill.text;
  for (const auto& [name, bit] : special_names()) if ((argument.fill.special & bit) != 0) object["special"].push_back(name);
  return object;
}

ordered_json write_choices(const std::vector<DefaultChoice>& choices) {
  ordered_json list = ordered_json::array();
  for (const DefaultChoice& choice : choices) {
    ordered_json object = ordered_json::object();
    put(object, "when", choice.when);
    object["preset"] = choice.preset;
    list.push_back(std::move(object));
  }
  return list;
}

}  // namespace

ordered_json KernelSpec::to_json() const {
  ordered_json json = {{"tunebook", 1}, {"kernel", name}, {"summary", summary}, {"source", source}, {"entry", entry}};
  if (macros) json["instantiate"] = "macros";
  else json["instantiate"] = instantiate;
  if (!define.empty()) json["define"] = define;
  json["options"] = options;

  ordered_json& problem = json["problem"] = ordered_json::object();
  for (const Dimension& dimension : dimensions) problem[dimension.name] = write_dimension(dimension);
  for (const Problem& whole : whole_verify) problem["verify"].push_back(whole.to_json());

  ordered_json& domains = json["parameters"] = ordered_json::object();
  for (const Parameter& parameter : parameters) domains[parameter.name] = write_parameter(parameter);
  ordered_json& conditions = json["constraints"] = ordered_json::array();
  for (const Expression& constraint : constraints) conditions.push_back(constraint.text());
  ordered_json& named = json["presets"] = ordered_json::object();
  for (const auto& [preset_name, preset] : presets) named[preset_name] = preset.to_json();
  if (chooses_default()) named["default"] = write_choices(default_choices);

  ordered_json list_of_launches = ordered_json::array();
  for (const Launch& launch : launches) list_of_launches.push_back(write_launch(*this, launch));
  json["launch"] = list_of_launches.size() == 1 ? list_of_launches.front() : list_of_launches;
  ordered_json& list = json["arguments"] = ordered_json::array();
  for (const Argument& argument : arguments) list.push_back(write_argument(argument));

  ordered_json& independent = json["reference"] = {{"source", reference.source}, {"entry", reference.entry}};
  independent["instantiate"] = ordered_json::array();
  if (reference.instantiate_type) independent["instantiate"].push_back("T");
  put_shape(independent, reference.launch);

  ordered_json& bounds = json["tolerance"] = ordered_json::object();
  for (const auto& [type, bound] : tolerance) {
    bounds[std::string(dtype_name(type))] = {{"rel", bound.rel.text()}, {"abs", bound.abs.text()}};
  }
  ordered_json& amounts = json["work"] = ordered_json::object();
  put(amounts, "flops", work.flops);
  put(amounts, "bytes", work.bytes);
  for (const auto& [feature, expression] : features)
    put(json["features"], feature.c_str(), expression);
  put(json, "arch", arch);
  put(json, "cpu", cpu);
  put(json, "nondeterministic", nondeterministic);
  put(json, "restore", restore);
  if (!baseline.empty()) json["baseline"] = write_baseline(baseline);
  return json;
}

}  // namespace tunebook
