#include "sweep/member_reader.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"
#include "core/spec_reader.h"

namespace tunebook {

MemberReader::MemberReader(const nlohmann::ordered_json& json, std::string where) : json_(json), where_(std::move(where)) {
  if (json.is_object()) return;
  const std::string place = where_.ends_with(": ") ? where_.substr(0, where_.size() - 2) : where_;  // the root of a file
  throw InputError(fmt::format("{}: found {}, expected an object", place, describe(json)));
}

std::string MemberReader::path(std::string_view name) const { return fmt::format("{}/{}", where_, json_pointer_step(name)); }

void MemberReader::fail(std::string_view name, std::string_view expected) const {
  const auto found = json_.find(std::string(name));
  throw InputError(fmt::format("{}: found {}, expected {}", path(name), found == json_.end() ? "nothing" : describe(*found), expected));
}

bool MemberReader::has(std::string_view name) const { return json_.contains(std::string(name)); }

const nlohmann::ordered_json& MemberReader::json(std::string_view name) {
  asked_.emplace(name);
  const auto found = json_.find(std::string(name));
  if (found == json_.end()) fail(name, "a value");
  return *found;
}

std::string MemberReader::text(std::string_view name) {
  const auto& value = json(name);
  if (!value.is_string()) fail(name, "a string");
  return value.get<std::string>();
}

bool MemberReader::boolean(std::string_view name) {
  const auto& value = json(name);
  if (!value.is_boolean()) fail(name, "true or false");
  return value.get<bool>();
}

std::int64_t MemberReader::integer(std::string_view name, std::int64_t least, std::int64_t most) {
  const auto& value = json(name);
  const std::string expected = fmt::format("an integer from {} to {}", least, most);
  if (!value.is_number_integer()) fail(name, expected);
  const auto number = value.get<std::int64_t>();
  if ((value.is_number_unsigned() && number < 0) || number < least || number > most) fail(name, expected);
  return number;
}

std::uint64_t MemberReader::unsigned_integer(std::string_view name) {
  const auto& value = json(name);
  if (!value.is_number_unsigned() && !(value.is_number_integer() && value.get<std::int64_t>() >= 0)) fail(name, "an integer that is not negative");
  return value.get<std::uint64_t>();
}

double MemberReader::number(std::string_view name, double least, double most) {
  const auto& value = json(name);
  if (!value.is_number()) fail(name, fmt::format("a number from {} to {}", least, most));
  const auto number = value.get<double>();
  if (!(number >= least && number <= most)) fail(name, fmt::format("a number from {} to {}", least, most));
  return number;
}

std::vector<std::string> MemberReader::texts(std::string_view name) {
  std::vector<std::string> out;
  for (const auto& value : array(name)) {
    if (!value.is_string()) fail(name, "a list of strings");
    out.push_back(value.get<std::string>());
  }
  return out;
}

const nlohmann::ordered_json& MemberReader::array(std::string_view name) {
  const auto& value = json(name);
  if (!value.is_array()) fail(name, "an array");
  return value;
}

void MemberReader::finish() const {
  std::vector<std::string> known(asked_.begin(), asked_.end());
  for (const auto& [key, value] : json_.items()) {
    if (!asked_.contains(key)) throw InputError(fmt::format("{}: unknown key{}", path(key), did_you_mean(key, known)));
  }
}

}  // namespace tunebook
