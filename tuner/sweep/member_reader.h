#pragma once

// Internal to the sweep's files: members of a JSON object that Tunebook itself wrote, each checked as it is read.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace tunebook {

// Every failure is an InputError "WHERE: /member: ..."; finish() refuses members that nobody asked for.
class MemberReader {
 public:
  // Throws if `json` is no object. Both must outlive the reader.
  MemberReader(const nlohmann::ordered_json& json, std::string where);

  bool has(std::string_view name) const;
  const nlohmann::ordered_json& json(std::string_view name);
  std::string text(std::string_view name);
  bool boolean(std::string_view name);
  std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most);
  std::uint64_t unsigned_integer(std::string_view name);
  double number(std::string_view name, double least, double most);
  std::vector<std::string> texts(std::string_view name);
  const nlohmann::ordered_json& array(std::string_view name);
  void finish() const;

  [[noreturn]] void fail(std::string_view name, std::string_view expected) const;
  std::string path(std::string_view name) const;

 private:
  const nlohmann::ordered_json& json_;
  std::string where_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace tunebook
