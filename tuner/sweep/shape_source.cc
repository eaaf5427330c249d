#include "sweep/shape_source.h"

#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"
#include "core/spec.h"
#include "sweep/plan.h"
#include "sweep/plan_keys.h"
#include "sweep/plan_settings.h"

namespace tunebook {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{64} << 20;  // what a file of misses grows to at most

std::vector<Value> read_values(SpecReader& reader, const SpecNode& node) {
  if (node.json.is_number_integer()) {
    const auto size = reader.integer(node, 1, kMaxDimension);
    return size ? std::vector<Value>{*size} : std::vector<Value>();
  }
  if (node.json.is_string() && !node.json.get_ref<const std::string&>().empty()) return {node.json.get<std::string>()};
  if (node.json.is_object()) {
    const std::vector<std::int64_t> sizes = read_range(reader, node);
    return {sizes.begin(), sizes.end()};
  }
  if (!node.json.is_array()) {
    reader.wrong(node, "a size, a category, a list of them, or a range such as {\"from\": 64, \"to\": 4096, \"factor\": 2}");
    return {};
  }
  if (node.json.empty()) reader.wrong_empty(node);
  std::vector<Value> values;
  std::set<Value> seen;
  for (std::size_t i = 0; i < node.json.size() && values.size() <= kMaxItems; ++i) {
    const SpecNode element = node.at(i);
    if (element.json.is_array()) {
      reader.wrong(element, "a size, a category or a range");
      continue;
    }
    for (Value& value : read_values(reader, element)) {
      if (seen.insert(value).second) values.push_back(std::move(value));
    }
  }
  return values;
}

// Every combination, the last dimension varying fastest.
std::vector<WantedShape> product(SpecReader& reader, const SpecNode& node) {
  if (node.json.empty()) {
    reader.wrong(node, "a size for each dimension");
    return {};
  }
  std::vector<std::pair<std::string, std::vector<Value>>> dimensions;
  std::size_t count = 1;
  for (const auto& [name, unused] : node.json.items()) {
    dimensions.emplace_back(name, read_values(reader, node.at(name)));
    count = count > kMaxItems ? count : count * dimensions.back().second.size();
  }
  if (count > kMaxItems) {
    reader.problem(node.path, fmt::format("found a product of more than {} shapes, expected that many at most", kMaxItems));
    return {};
  }
  std::vector<WantedShape> shapes(count);
  std::size_t repeat = count;
  for (const auto& [name, values] : dimensions) {
    if (values.empty()) return {};  // its fault is noted
    repeat /= values.size();
    for (std::size_t i = 0; i < count; ++i) shapes[i].values.set(name, values[i / repeat % values.size()]);
  }
  for (WantedShape& shape : shapes) shape.path = node.path;
  return shapes;
}

// The text of a file that the plan names; nothing, and a message, if it cannot be read.
std::optional<std::string> read_named_file(SpecReader& reader, const SpecNode& node, const std::string& folder, std::string& file) {
  const auto name = reader.text(node, "the path of a file");
  if (!name) return std::nullopt;
  file = plan_path(*name, folder);
  try {
    return read_text_file(file, kMostFileBytes);
  } catch (const InputError& error) {
    reader.problem(node.path, error.what());
    return std::nullopt;
  }
}

// Whether it is a log of misses that nobody has written to so far: the first miss makes it.
bool is_not_begun(const SpecNode& node, const std::string& folder) {
  if (!node.json.is_string()) return false;
  const std::filesystem::path file = plan_path(node.json.get<std::string>(), folder);
  std::error_code error;
  return !std::filesystem::exists(file, error) && !error && std::filesystem::is_directory(file.parent_path(), error);
}

}  // namespace

std::vector<std::int64_t> read_range(SpecReader& reader, const SpecNode& node) {
  if (!reader.object(node, plan_object("range"))) return {};
  const auto member = [&](const char* key, std::int64_t least) {
    return node.find(key) == nullptr ? std::nullopt : reader.integer(node.at(key), least, kMaxDimension);
  };
  const auto from = member("from", 1);
  const auto to = member("to", 1);
  const auto step = member("step", 1);
  const auto factor = member("factor", 2);
  if ((node.find("step") != nullptr) == (node.find("factor") != nullptr)) {
    reader.problem(node.path, fmt::format("found {} step {} factor, expected either of them", node.find("step") ? "both" : "neither", node.find("step") ? "and" : "nor"));
    return {};
  }
  if (!from || !to || (!step && !factor)) return {};
  if (*from > *to) {
    reader.problem(node.path, fmt::format("found a range from {} to {}, expected \"from\" to be the smaller one", *from, *to));
    return {};
  }
  std::vector<std::int64_t> values;
  // No overflow: sizes and steps are at most kMaxDimension = 2^36, and a factor is compared by division.
  for (std::int64_t value = *from; value <= *to;) {
    if (values.size() == kMaxRange) {
      reader.problem(node.path, fmt::format("found a range of more than {} values, expected that many at most", kMaxRange));
      return {};
    }
    values.push_back(value);
    if (step) value += *step;
    else if (value > *to / *factor) break;
    else value *= *factor;
  }
  return values;
}

std::vector<WantedShape> read_shape_source(SpecReader& reader, const SpecNode& node, const std::string& folder, std::vector<std::string>& notes) {
  if (node.json.is_string()) {
    WantedShape shape;
    shape.path = node.path;
    shape.text = node.json.get<std::string>();
    if (!shape.text.empty()) return {std::move(shape)};
  }
  if (!node.json.is_object()) {
    reader.wrong(node, "a shape (\"512,512,512\"), an object of sizes, {\"from_file\": PATH} or {\"from_misses\": PATH}");
    return {};
  }
  const bool misses = node.find("from_misses") != nullptr;
  if (!misses && node.find("from_file") == nullptr) return product(reader, node);
  if (!reader.object(node, plan_object(misses ? "misses" : "file"))) return {};
  const SpecNode name = node.at(misses ? "from_misses" : "from_file");
  if (misses && is_not_begun(name, folder)) {
    notes.push_back(fmt::format("{}: {} is not there yet, and no recorded miss is tuned", name.path, plan_path(name.json.get<std::string>(), folder)));
    return {};
  }
  std::string file;
  const auto text = read_named_file(reader, name, folder, file);
  if (!text) return {};
  return misses ? read_misses(reader, *text, file, name.path, notes) : read_shape_file(reader, *text, file, name.path);
}

}  // namespace tunebook
