#include "core/problem.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace tunebook {

void NamedValues::set(std::string name, Value value) {
  for (auto& [known, old] : items_) {
    if (known == name) {
      old = std::move(value);
      return;
    }
  }
  items_.emplace_back(std::move(name), std::move(value));
}

const Value* NamedValues::find(std::string_view name) const {
  for (const auto& [known, value] : items_) {
    if (known == name) return &value;
  }
  return nullptr;
}

const Value& NamedValues::at(std::string_view name) const {
  if (const Value* value = find(name)) return *value;
  throw std::out_of_range(fmt::format("no value named \"{}\" in \"{}\"", name, display()));
}

std::string NamedValues::canonical() const {
  nlohmann::json object = nlohmann::json::object();  // its map sorts the keys
  for (const auto& [name, value] : items_) object[name] = to_json_value(value);
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string NamedValues::display() const {
  std::string out;
  for (const auto& [name, value] : items_) {
    if (!out.empty()) out += ',';
    out += name + '=' + to_text(value);
  }
  return out;
}

nlohmann::ordered_json NamedValues::to_json() const {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [name, value] : items_) object[name] = nlohmann::ordered_json(to_json_value(value));
  return object;
}

NamedValues NamedValues::from_json(const nlohmann::ordered_json& object, std::string_view where) {
  if (!object.is_object()) throw InputError(fmt::format("{}: found {}, expected an object of names and values", where, object.type_name()));
  NamedValues out;
  for (const auto& [name, value] : object.items()) {
    // Only what can be a value is converted: the copy of a nested document would be thrown away.
    const nlohmann::json plain = value.is_structured() ? nlohmann::json(nullptr) : nlohmann::json(value);
    out.set(name, value_from_json(plain, fmt::format("{}/{}", where, name)));
  }
  return out;
}

bool operator==(const NamedValues& x, const NamedValues& y) {
  if (x.items_.size() != y.items_.size()) return false;
  return std::all_of(x.items_.begin(), x.items_.end(), [&](const auto& item) {
    const Value* other = y.find(item.first);
    return other != nullptr && *other == item.second;
  });
}

}  // namespace tunebook
