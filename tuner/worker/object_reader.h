#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace tunebook {

// Strict access to the fields of one message or of one object within it. Every accessor throws ProtocolError naming the field
// by its path ("run.timing.max_seconds") if it is missing or not of the kind that is asked for.
class ObjectReader {
 public:
  ObjectReader(const nlohmann::json& json, std::string path);

  bool has(const char* name) const;
  const nlohmann::json& field(const char* name) const;
  std::string field_path(std::string_view name) const;

  std::string text(const char* name) const;
  bool boolean(const char* name) const;
  std::int64_t integer(const char* name) const;
  std::int64_t count(const char* name) const;  // an integer >= 0
  std::uint64_t unsigned_integer(const char* name) const;
  double real(const char* name) const;    // may be infinite or NaN
  double finite(const char* name) const;
  double at_least_zero(const char* name) const;  // finite
  ObjectReader object(const char* name) const;
  const nlohmann::json& array(const char* name) const;
  std::array<std::int64_t, 3> sizes(const char* name) const;  // three integers >= 0
  std::vector<std::string> texts(const char* name) const;
  std::vector<std::pair<std::string, std::string>> text_pairs(const char* name) const;  // [["a", "b"], ...]
  std::vector<double> finite_numbers(const char* name) const;
  std::vector<std::int64_t> counts(const char* name) const;  // integers >= 0

  // A word out of a table of {word, value} pairs.
  template <typename Table>
  auto word(const char* name, const Table& table) const {
    const std::string found = text(name);
    for (const auto& [known, value] : table) {
      if (found == known) return value;
    }
    fail(name, "has an unknown value");
  }

  // An object per element of an array, by `decode(ObjectReader)`.
  template <typename Decode>
  auto objects(const char* name, Decode decode) const {
    std::vector<decltype(decode(*this))> result;
    std::size_t index = 0;
    for (const nlohmann::json& element : array(name)) {
      result.push_back(decode(ObjectReader(element, element_path(name, index++))));
    }
    return result;
  }

  [[noreturn]] void fail(std::string_view name, std::string_view problem) const;

 private:
  std::string element_path(const char* name, std::size_t index) const;

  const nlohmann::json* json_;
  std::string path_;
};

}  // namespace tunebook
