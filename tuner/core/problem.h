#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/value.h"

namespace tunebook {

// Named values in a fixed order (the spec's). Used for a problem (m, n, k, dtype) and for a configuration (parameters).
class NamedValues {
 public:
  void set(std::string name, Value value);  // replaces in place or appends
  const Value* find(std::string_view name) const;
  const Value& at(std::string_view name) const;  // throws std::out_of_range naming it
  const std::vector<std::pair<std::string, Value>>& items() const { return items_; }
  bool empty() const { return items_.empty(); }

  // JSON object with keys sorted, no spaces: the identity in the book; order of declaration does not matter.
  std::string canonical() const;
  // "m=4096,n=4096,k=4096,dtype=f32" in declared order.
  std::string display() const;
  nlohmann::ordered_json to_json() const;
  // Throws InputError. Keeps the object's order.
  static NamedValues from_json(const nlohmann::ordered_json& object, std::string_view where);

  friend bool operator==(const NamedValues& x, const NamedValues& y);  // ignores order

 private:
  std::vector<std::pair<std::string, Value>> items_;
};

using Problem = NamedValues;
using Configuration = NamedValues;

}  // namespace tunebook
