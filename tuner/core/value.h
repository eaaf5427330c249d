#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json_fwd.hpp>

namespace tunebook {

// A parameter's value or a problem dimension: an integer, a bool, or a string (a type name is a string such as "f32").
using Value = std::variant<std::int64_t, bool, std::string>;

// Plain text for tables and for `--config K=V`: 64, true, f32.
std::string to_text(const Value& value);
nlohmann::json to_json_value(const Value& value);
// Throws InputError("<where>: ...") if `json` is not an integer within 64 bits, a bool or a string.
Value value_from_json(const nlohmann::json& json, std::string_view where);
// The value that the text stands for on a command line: an integer, true/false, or else a string.
Value parse_value(std::string_view text);

}  // namespace tunebook
