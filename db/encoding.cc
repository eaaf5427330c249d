#include "db/encoding.h"

#include <bit>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <optional>

#include <fmt/format.h>

#include "core/error.h"

namespace tunebook {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
}

}  // namespace

Hash to_hash(std::string_view hex) {
  Hash hash{};
  for (std::size_t i = 0; i < hash.size() && 2 * i + 1 < hex.size(); ++i) {
    hash[i] = static_cast<char>(hex_digit(hex[2 * i]) * 16 + hex_digit(hex[2 * i + 1]));
  }
  return hash;
}

std::string encode_doubles(std::span<const double> values) {
  std::string bytes;
  bytes.reserve(values.size() * 8);
  for (const double value : values) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) {
      bytes += static_cast<char>((bits >> shift) & 0xff);
    }
  }
  return bytes;
}

std::vector<double> decode_doubles(std::string_view bytes) {
  std::vector<double> values;
  values.reserve(bytes.size() / 8);
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
    }
    values.push_back(std::bit_cast<double>(bits));
  }
  return values;
}

std::vector<std::string> declared_order(const nlohmann::ordered_json& spec, const char* member) {
  std::vector<std::string> names;
  if (spec.is_object()) {
    const auto found = spec.find(member);
    if (found != spec.end() && found->is_object()) {
      for (const auto& [name, value] : found->items()) {
        names.push_back(name);
      }
    }
  }
  return names;
}

std::vector<std::string> declared_order_of_text(const std::string& spec, const char* member) {
  const auto json = nlohmann::ordered_json::parse(spec, nullptr, false);
  return json.is_discarded() ? std::vector<std::string>() : declared_order(json, member);
}

NamedValues read_values(const std::string& canonical, const std::vector<std::string>& order, std::string_view where) {
  const auto json = nlohmann::ordered_json::parse(canonical, nullptr, false);
  if (json.is_discarded()) {
    throw InputError(fmt::format("{}: the stored text is no JSON", where));
  }
  const NamedValues stored = NamedValues::from_json(json, where);
  NamedValues values;
  for (const std::string& name : order) {
    if (const Value* value = stored.find(name)) {
      values.set(name, *value);
    }
  }
  for (const auto& [name, value] : stored.items()) {
    if (values.find(name) == nullptr) {
      values.set(name, value);
    }
  }
  return values;
}

namespace {

std::string utc_text(std::int64_t microseconds) {
  const auto seconds = static_cast<std::time_t>(microseconds / 1'000'000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                     utc.tm_min, utc.tm_sec, microseconds % 1'000'000);
}

// Microseconds since 1970 of a text as utc_text() writes it.
std::optional<std::int64_t> parse_utc(const std::string& text) {
  std::tm utc{};
  long microseconds = 0;
  int length = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%6ldZ%n", &utc.tm_year, &utc.tm_mon, &utc.tm_mday, &utc.tm_hour, &utc.tm_min,
                  &utc.tm_sec, &microseconds, &length) != 7 ||
      static_cast<std::size_t>(length) != text.size()) {
    return std::nullopt;
  }
  utc.tm_year -= 1900;
  utc.tm_mon -= 1;
  return static_cast<std::int64_t>(timegm(&utc)) * 1'000'000 + microseconds;
}

}  // namespace

std::string now_utc() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return utc_text(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

std::string now_utc_after(const std::string& last) {
  const std::string now = now_utc();
  if (now > last) {
    return now;
  }
  const std::optional<std::int64_t> microseconds = parse_utc(last);
  return microseconds ? utc_text(*microseconds + 1) : last;
}

}  // namespace tunebook
