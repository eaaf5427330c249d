#include "worker/object_reader.h"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "worker/channel.h"

namespace tunebook {

ObjectReader::ObjectReader(const nlohmann::json& json, std::string path) : json_(&json), path_(std::move(path)) {
  if (!json.is_object()) throw ProtocolError(fmt::format("message: {} is not an object", path_));
}

void ObjectReader::fail(std::string_view name, std::string_view problem) const {
  throw ProtocolError(fmt::format("message: {} {}", field_path(name), problem));
}

std::string ObjectReader::field_path(std::string_view name) const { return fmt::format("{}.{}", path_, name); }

std::string ObjectReader::element_path(const char* name, std::size_t index) const {
  return fmt::format("{}.{}[{}]", path_, name, index);
}

bool ObjectReader::has(const char* name) const { return json_->contains(name); }

const nlohmann::json& ObjectReader::field(const char* name) const {
  const auto found = json_->find(name);
  if (found == json_->end()) fail(name, "is missing");
  return *found;
}

std::string ObjectReader::text(const char* name) const {
  const nlohmann::json& value = field(name);
  if (!value.is_string()) fail(name, "is not text");
  return value.get<std::string>();
}

bool ObjectReader::boolean(const char* name) const {
  const nlohmann::json& value = field(name);
  if (!value.is_boolean()) fail(name, "is not a boolean");
  return value.get<bool>();
}

namespace {

// MessagePack has one form for non-negative integers, so a signed field can arrive as unsigned.
bool fits_int64(const nlohmann::json& value) {
  if (!value.is_number_integer()) return false;
  return !value.is_number_unsigned() ||
         value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

}  // namespace

std::int64_t ObjectReader::integer(const char* name) const {
  const nlohmann::json& value = field(name);
  if (!fits_int64(value)) fail(name, "is not a 64-bit integer");
  return value.get<std::int64_t>();
}

std::int64_t ObjectReader::count(const char* name) const {
  const std::int64_t value = integer(name);
  if (value < 0) fail(name, "is negative");
  return value;
}

std::uint64_t ObjectReader::unsigned_integer(const char* name) const {
  const nlohmann::json& value = field(name);
  if (!value.is_number_integer()) fail(name, "is not an integer");
  if (!value.is_number_unsigned() && value.get<std::int64_t>() < 0) fail(name, "is negative");
  return value.get<std::uint64_t>();
}

double ObjectReader::real(const char* name) const {
  const nlohmann::json& value = field(name);
  if (!value.is_number()) fail(name, "is not a number");
  return value.get<double>();
}

double ObjectReader::finite(const char* name) const {
  const double value = real(name);
  if (!std::isfinite(value)) fail(name, "is not a finite number");
  return value;
}

double ObjectReader::at_least_zero(const char* name) const {
  const double value = finite(name);
  if (value < 0) fail(name, "is negative");
  return value;
}

ObjectReader ObjectReader::object(const char* name) const { return {field(name), field_path(name)}; }

const nlohmann::json& ObjectReader::array(const char* name) const {
  const nlohmann::json& value = field(name);
  if (!value.is_array()) fail(name, "is not an array");
  return value;
}

std::array<std::int64_t, 3> ObjectReader::sizes(const char* name) const {
  const nlohmann::json& values = array(name);
  if (values.size() != 3) fail(name, "does not have three elements");
  std::array<std::int64_t, 3> result{};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!fits_int64(values[i]) || values[i].get<std::int64_t>() < 0) fail(name, "has an element that is no size");
    result[i] = values[i].get<std::int64_t>();
  }
  return result;
}

std::vector<std::int64_t> ObjectReader::counts(const char* name) const {
  std::vector<std::int64_t> result;
  for (const nlohmann::json& value : array(name)) {
    if (!fits_int64(value) || value.get<std::int64_t>() < 0) fail(name, "has an element that is no count");
    result.push_back(value.get<std::int64_t>());
  }
  return result;
}

std::vector<std::string> ObjectReader::texts(const char* name) const {
  std::vector<std::string> result;
  for (const nlohmann::json& element : array(name)) {
    if (!element.is_string()) fail(name, "has an element that is not text");
    result.push_back(element.get<std::string>());
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> ObjectReader::text_pairs(const char* name) const {
  std::vector<std::pair<std::string, std::string>> result;
  for (const nlohmann::json& pair : array(name)) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      fail(name, "has an element that is not a pair of texts");
    }
    result.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
  }
  return result;
}

std::vector<double> ObjectReader::finite_numbers(const char* name) const {
  const nlohmann::json& values = array(name);
  std::vector<double> result;
  result.reserve(values.size());
  for (const nlohmann::json& value : values) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) fail(name, "has an element that is not a finite number");
    result.push_back(value.get<double>());
  }
  return result;
}

}  // namespace tunebook
