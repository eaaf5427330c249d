#pragma once

// Internal to the spec's source files: reading checked JSON values while collecting every problem found.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/spec_keys.h"
#include "core/value.h"

namespace tunebook {

// A place in a document: its value and JSON path.
struct SpecNode {
  const nlohmann::ordered_json& json;
  std::string path;
  SpecNode at(const std::string& key) const;   // an object's member; must exist
  SpecNode at(std::size_t index) const;        // an array's element; must exist
  const nlohmann::ordered_json* find(std::string_view key) const;
};

// "found" texts: a short value as written, else its kind ("an array").
std::string describe(const nlohmann::ordered_json& json);
bool is_identifier(std::string_view text);
std::string in_quotes(std::string_view text);
// "; did you mean "x"?", or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// Reads values and notes what is wrong with them; a read that failed returns nothing and has left a message.
class SpecReader {
 public:
  void problem(const std::string& path, const std::string& message);
  void wrong(const SpecNode& node, std::string_view expected, std::string_view hint = "");
  void wrong_empty(const SpecNode& node);  // "expected at least one value"
  const std::vector<std::string>& problems() const { return problems_; }

  // Checks that the node is an object with the keys of `object`: reports unknown and missing ones. False if it is no object.
  bool object(const SpecNode& node, const SpecObject& object);
  bool object(const SpecNode& node, std::string_view expected);  // any keys
  bool array(const SpecNode& node, std::string_view expected);

  std::optional<std::string> text(const SpecNode& node, std::string_view expected = "a string");
  std::optional<std::string> identifier(const SpecNode& node);
  std::optional<std::int64_t> integer(const SpecNode& node, std::int64_t least, std::int64_t most);
  std::optional<bool> boolean(const SpecNode& node);
  std::optional<Value> value(const SpecNode& node);
  // An optional text member; "" if absent.
  std::string optional_text(const SpecNode& parent, const std::string& key);
  std::vector<std::string> texts(const SpecNode& node, std::string_view expected);

 private:
  std::vector<std::string> problems_;
};

}  // namespace tunebook
