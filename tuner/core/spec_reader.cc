#include "core/spec_reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"

namespace tunebook {

using nlohmann::ordered_json;

SpecNode SpecNode::at(const std::string& key) const { return {json.at(key), path + '/' + json_pointer_step(key)}; }
SpecNode SpecNode::at(std::size_t index) const { return {json.at(index), path + '/' + std::to_string(index)}; }

const ordered_json* SpecNode::find(std::string_view key) const {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(std::string(key));
  return found == json.end() ? nullptr : &*found;
}

std::string describe(const ordered_json& json) {
  if (json.is_object()) return "an object";
  if (json.is_array()) return "an array";
  std::string text = json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  constexpr std::size_t kMost = 80;
  if (text.size() > kMost) {
    std::size_t end = kMost;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not inside a character
    text.resize(end);
    text += "...";
  }
  return text;
}

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string in_quotes(std::string_view text) { return describe(ordered_json(std::string(text))); }

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_word(word, candidates);
  return nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest);
}

void SpecReader::problem(const std::string& path, const std::string& message) {
  problems_.push_back(fmt::format("{}: {}", path.empty() ? "/" : path, message));
}

void SpecReader::wrong(const SpecNode& node, std::string_view expected, std::string_view hint) {
  problem(node.path, fmt::format("found {}, expected {}{}", describe(node.json), expected, hint));
}

void SpecReader::wrong_empty(const SpecNode& node) { problem(node.path, "found an empty array, expected at least one value"); }

bool SpecReader::object(const SpecNode& node, std::string_view expected) {
  if (!node.json.is_object()) wrong(node, expected);
  return node.json.is_object();
}

bool SpecReader::object(const SpecNode& node, const SpecObject& object) {
  std::vector<std::string> known;
  for (const SpecKey& key : object.keys) known.emplace_back(key.name);
  if (!node.json.is_object()) {
    wrong(node, fmt::format("an object with the keys {}", fmt::join(known, ", ")));
    return false;
  }
  for (const auto& [key, value] : node.json.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    problem(node.path + '/' + json_pointer_step(key), fmt::format("found the unknown key {}, expected {} to have {}{}", in_quotes(key), object.words,
                                                                  fmt::join(known, ", "), did_you_mean(key, known)));
  }
  for (const SpecKey& key : object.keys) {
    if (key.required && node.find(key.name) == nullptr) {
      problem(node.path, fmt::format("found no key \"{}\", expected {} to have it", key.name, object.words));
    }
  }
  return true;
}

bool SpecReader::array(const SpecNode& node, std::string_view expected) {
  if (!node.json.is_array()) wrong(node, expected);
  return node.json.is_array();
}

std::optional<std::string> SpecReader::text(const SpecNode& node, std::string_view expected) {
  if (node.json.is_string() && !node.json.get_ref<const std::string&>().empty()) return node.json.get<std::string>();
  wrong(node, expected);
  return std::nullopt;
}

std::optional<std::string> SpecReader::identifier(const SpecNode& node) {
  if (node.json.is_string() && is_identifier(node.json.get_ref<const std::string&>())) return node.json.get<std::string>();
  wrong(node, "an identifier (letters, digits and underscores, not starting with a digit)");
  return std::nullopt;
}

std::optional<std::int64_t> SpecReader::integer(const SpecNode& node, std::int64_t least, std::int64_t most) {
  // An unsigned number beyond 63 bits turns negative here and is refused with the others.
  if (node.json.is_number_integer()) {
    const auto number = node.json.get<std::int64_t>();
    const bool wrapped = node.json.is_number_unsigned() && number < 0;
    if (!wrapped && number >= least && number <= most) return number;
  }
  wrong(node, fmt::format("an integer from {} to {}", least, most));
  return std::nullopt;
}

std::optional<bool> SpecReader::boolean(const SpecNode& node) {
  if (node.json.is_boolean()) return node.json.get<bool>();
  wrong(node, "true or false");
  return std::nullopt;
}

std::optional<Value> SpecReader::value(const SpecNode& node) {
  if (node.json.is_boolean()) return Value(node.json.get<bool>());
  if (node.json.is_number_integer()) {
    const auto number = node.json.get<std::int64_t>();
    if (!node.json.is_number_unsigned() || number >= 0) return Value(number);
  }
  if (node.json.is_string()) {
    const auto& text = node.json.get_ref<const std::string&>();
    // Values are written on command lines as K=V,K=V.
    const auto unfit = [](char c) { return c == ',' || c == '=' || static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
    if (!text.empty() && text.front() != ' ' && text.back() != ' ' && std::none_of(text.begin(), text.end(), unfit)) return Value(text);
    wrong(node, "a text without commas, equal signs, control characters or spaces at its ends");
    return std::nullopt;
  }
  wrong(node, "an integer of at most 64 bits, true, false or a string");
  return std::nullopt;
}

std::string SpecReader::optional_text(const SpecNode& parent, const std::string& key) {
  if (parent.find(key) == nullptr) return "";
  const SpecNode node = parent.at(key);
  if (node.json.is_string()) return node.json.get<std::string>();
  wrong(node, "a string");
  return "";
}

std::vector<std::string> SpecReader::texts(const SpecNode& node, std::string_view expected) {
  std::vector<std::string> out;
  if (!array(node, expected)) return out;
  for (std::size_t i = 0; i < node.json.size(); ++i) {
    const SpecNode item = node.at(i);
    std::optional<std::string> read = text(item);
    if (!read) continue;
    if (std::find(out.begin(), out.end(), *read) != out.end()) problem(item.path, fmt::format("found {} a second time, expected each once", in_quotes(*read)));
    else out.push_back(std::move(*read));
  }
  return out;
}

}  // namespace tunebook
