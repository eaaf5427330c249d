#include "core/spec_baseline.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/json_text.h"

namespace tunebook {
namespace {

using nlohmann::ordered_json;

std::vector<std::string> strings(const std::vector<std::string_view>& views) { return {views.begin(), views.end()}; }

const BaselineOperation* read_operation(SpecReader& reader, const SpecNode& node) {
  std::vector<std::string> known;
  for (const BaselineOperation& operation : baseline_operations()) known.emplace_back(operation.name);
  const std::string expected = fmt::format("one of {}", fmt::join(known, ", "));
  const auto text = reader.text(node, expected);
  if (!text) return nullptr;
  const BaselineOperation* operation = find_baseline_operation(*text);
  if (operation == nullptr) reader.wrong(node, expected, did_you_mean(*text, known));
  return operation;
}

void read_buffers(SpecReader& reader, const SpecNode& node, const BaselineOperation& operation, const KernelSpec& spec, BaselineSpec& baseline) {
  const std::string words = fmt::format("{}", fmt::join(operation.buffers, ", "));
  const std::string expected = fmt::format("an array with the arguments that are {} of {}", words, operation.name);
  baseline.buffers = reader.texts(node, expected);
  if (!node.json.is_array()) return;
  if (node.json.size() < operation.required_buffers || node.json.size() > operation.buffers.size()) {
    reader.problem(node.path, fmt::format("found {} buffers, expected {}", node.json.size(), expected));
  }
  std::vector<std::string> pointers;
  for (const Argument& argument : spec.arguments) if (argument.pointer && !argument.is_workspace()) pointers.push_back(argument.name);
  for (std::size_t i = 0; i < node.json.size(); ++i) {
    const ordered_json& item = node.json[i];
    if (!item.is_string() || item.get_ref<const std::string&>().empty()) continue;  // reported
    const auto& name = item.get_ref<const std::string&>();
    if (std::find(pointers.begin(), pointers.end(), name) != pointers.end()) {
      const auto argument = std::find_if(spec.arguments.begin(), spec.arguments.end(), [&](const Argument& one) { return one.name == name; });
      if (i == 0 && !argument->is_result()) reader.wrong(node.at(i), fmt::format("a result (access out or inout): {} is written", operation.buffers[0]));
      continue;
    }
    reader.wrong(node.at(i), fmt::format("a pointer argument ({})", fmt::join(pointers, ", ")), did_you_mean(name, pointers));
  }
}

void read_parameters(SpecReader& reader, const SpecNode& node, const BaselineOperation& operation, const KernelSpec& spec,
                     const ReadExpression& expression, BaselineSpec& baseline) {
  std::vector<std::string> known;
  for (const BaselineParameter& parameter : operation.parameters) known.emplace_back(parameter.name);
  for (const auto& [name, json] : node.json.items()) {
    const auto parameter = std::find_if(operation.parameters.begin(), operation.parameters.end(), [&, key = name](const auto& one) { return one.name == key; });
    const SpecNode value = node.at(name);
    if (parameter == operation.parameters.end()) {
      reader.problem(value.path, fmt::format("found the unknown parameter {}, expected {}{}", in_quotes(name),
                                             known.empty() ? fmt::format("none: {} has no parameters", operation.name) : fmt::format("one of {}", fmt::join(known, ", ")),
                                             did_you_mean(name, known)));
      continue;
    }
    const std::vector<std::string> words = strings(parameter->words);
    if (json.is_string() && std::find(words.begin(), words.end(), json.get_ref<const std::string&>()) != words.end() &&
        !spec.names.find(json.get_ref<const std::string&>())) {
      reader.problem(value.path, fmt::format("found {}, expected an expression: a text in it has quotes of its own, \"'{}'\"", describe(json), json.get<std::string>()));
      continue;
    }
    baseline.parameters.emplace_back(name, expression(value));
  }
}

}  // namespace

void read_baseline(SpecReader& reader, const SpecNode& node, KernelSpec& spec, const ReadExpression& expression, const ReadExpression& condition) {
  if (!reader.object(node, spec_object("baseline"))) return;
  BaselineSpec baseline;
  const BaselineOperation* operation = node.find("operation") == nullptr ? nullptr : read_operation(reader, node.at("operation"));
  if (operation == nullptr) return;
  baseline.operation = operation->name;
  if (node.find("buffers") != nullptr) read_buffers(reader, node.at("buffers"), *operation, spec, baseline);
  const bool has_parameters = node.find("parameters") != nullptr;
  if (has_parameters && reader.object(node.at("parameters"), "an object with the operation's parameters")) {
    read_parameters(reader, node.at("parameters"), *operation, spec, expression, baseline);
  }
  for (const BaselineParameter& parameter : operation->parameters) {
    if (!parameter.fallback.empty() || (has_parameters && node.at("parameters").find(parameter.name) != nullptr)) continue;
    reader.problem(node.path + "/parameters", fmt::format("found no parameter \"{}\", expected {} to have it", parameter.name, operation->name));
  }
  if (node.find("when") != nullptr) baseline.when = condition(node.at("when"));
  spec.baseline = std::move(baseline);
}

ordered_json write_baseline(const BaselineSpec& baseline) {
  ordered_json object = {{"operation", baseline.operation}, {"buffers", baseline.buffers}};
  ordered_json& parameters = object["parameters"] = ordered_json::object();
  for (const auto& [name, expression] : baseline.parameters) parameters[name] = expression.text();
  if (!baseline.when.empty()) object["when"] = baseline.when.text();
  return object;
}

}  // namespace tunebook
