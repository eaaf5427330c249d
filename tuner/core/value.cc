#include "core/value.h"

#include <charconv>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace tunebook {

std::string to_text(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  return std::get<std::string>(value);
}

nlohmann::json to_json_value(const Value& value) {
  return std::visit([](const auto& held) { return nlohmann::json(held); }, value);
}

Value value_from_json(const nlohmann::json& json, std::string_view where) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number_unsigned()) {
    const auto number = json.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      throw InputError(fmt::format("{}: {} does not fit into 64 bits with a sign", where, number));
    }
    return static_cast<std::int64_t>(number);
  }
  if (json.is_number_integer()) return json.get<std::int64_t>();
  // An invalid UTF-8 byte must not turn the message into an exception of its own.
  throw InputError(fmt::format("{}: found {}, expected an integer, true, false or a string", where,
                               json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
}

Value parse_value(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  std::int64_t integer = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, integer);
  if (error == std::errc() && stop == end) return integer;
  return std::string(text);
}

}  // namespace tunebook
