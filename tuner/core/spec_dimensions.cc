#include "core/spec_dimensions.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "core/spec_keys.h"

namespace tunebook {
namespace {

bool contains(const std::vector<std::string>& list, std::string_view text) { return std::find(list.begin(), list.end(), text) != list.end(); }

}  // namespace

void DimensionReader::read(const SpecNode& node, const std::string& name) {
  Dimension dimension;
  dimension.name = name;
  dimension.categorical = node.find("values") != nullptr;
  if (name == "dtype" && !dimension.categorical && node.json.is_object()) {
    reader_.problem(node.path, "found \"dtype\" as a size, expected it to have \"values\": the data types of T");
  }
  if (reader_.object(node, spec_object(dimension.categorical ? "category" : "size"))) {
    dimension.help = reader_.optional_text(node, "help");
    if (dimension.categorical) read_category(node, dimension);
    else read_size(node, dimension);
  }
  dimensions_.push_back(std::move(dimension));
}

void DimensionReader::read_size(const SpecNode& node, Dimension& dimension) {
  dimension.default_value = std::int64_t{1};
  if (node.find("default") != nullptr) {
    if (const auto size = reader_.integer(node.at("default"), 1, kMaxDimension)) dimension.default_value = *size;
  }
  if (node.find("verify") == nullptr || !reader_.array(node.at("verify"), "an array of sizes")) return;
  const SpecNode sizes = node.at("verify");
  for (std::size_t i = 0; i < sizes.json.size(); ++i) {
    if (const auto size = reader_.integer(sizes.at(i), 1, kMaxDimension)) dimension.verify.push_back(*size);
  }
}

void DimensionReader::read_category(const SpecNode& node, Dimension& dimension) {
  const SpecNode values = node.at("values");
  dimension.values = reader_.texts(values, "an array of names");
  if (values.json.is_array() && values.json.empty()) reader_.wrong_empty(values);
  for (std::size_t i = 0; values.json.is_array() && i < values.json.size(); ++i) {
    const SpecNode item = values.at(i);
    if (!item.json.is_string() || item.json.get_ref<const std::string&>().empty()) continue;  // reported
    const auto text = item.json.get<std::string>();
    if (dimension.name == "dtype") read_dtype_name(reader_, item, text);
    else if (!is_identifier(text)) reader_.wrong(item, "an identifier");
  }
  dimension.default_value = dimension.values.empty() ? std::string() : dimension.values.front();
  if (node.find("default") == nullptr) return;
  const SpecNode chosen = node.at("default");
  if (chosen.json.is_object()) return defaults_by_dtype_.emplace_back(dimension.name, chosen), void();  // dtype may come later
  const auto text = reader_.text(chosen, "one of the values");
  if (!text) return;
  if (contains(dimension.values, *text)) dimension.default_value = *text;
  else reader_.wrong(chosen, fmt::format("one of {}", fmt::join(dimension.values, ", ")), did_you_mean(*text, dimension.values));
}

// "math": {"values": [...], "default": {"f32": "ieee", "f16": "tensor"}}
void DimensionReader::read_default_by_dtype(const SpecNode& node, Dimension& dimension) {
  const auto dtype = std::find_if(dimensions_.begin(), dimensions_.end(), [](const Dimension& one) { return one.name == "dtype"; });
if (dimension.name == "dtype" || dtype == dimensions_.end()) {
    return reader_.wrong(node, "one of the values (defaults by data type are for other dimensions of a kernel with \"dtype\")");
  }
  const std::vector<std::string>& types = dtype->values;
  for (const auto& [type, json] : node.json.items()) {
    const SpecNode item = node.at(type);
    if (!contains(types, type)) {
      reader_.problem(item.path, fmt::format("found the data type {}, expected one of {}{}", in_quotes(type), fmt::join(types, ", "), did_you_mean(type, types)));
    } else if (!json.is_string() || !contains(dimension.values, json.template get<std::string>())) {
      reader_.wrong(item, fmt::format("one of {}", fmt::join(dimension.values, ", ")));
    } else {
      dimension.default_by_dtype[type] = json.template get<std::string>();
    }
  }
  for (const std::string& type : types) {
    if (node.find(type) == nullptr) reader_.problem(node.path, fmt::format("found no default for {}, expected one for each data type", type));
  }
}

void DimensionReader::finish() {
  for (const auto& [name, node] : defaults_by_dtype_) {
    const auto dimension = std::find_if(dimensions_.begin(), dimensions_.end(), [&, wanted = name](const Dimension& one) { return one.name == wanted; });
    read_default_by_dtype(node, *dimension);
  }
}

std::optional<DType> read_dtype_name(SpecReader& reader, const SpecNode& node, std::string_view text) {
  const std::optional<DType> type = parse_dtype(text);
  if (!type) reader.wrong(node, fmt::format("a data type ({})", dtype_names()));
  return type;
}

}  // namespace tunebook
