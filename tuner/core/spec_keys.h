#pragma once

#include <string_view>
#include <vector>

namespace tunebook {

// The keys that one kind of object in kernel.json may have. KernelSpec::parse() knows no others; kernel.schema.json has the same
// (a test compares them), the root as itself and the others in its "$defs" under the same names.
struct SpecKey {
  std::string_view name;
  bool required = false;
};
struct SpecObject {
  std::string_view name;   // "kernel" (the root), "size", "category", "parameter", "launch", "pointer", "scalar", ...
  std::string_view words;  // for messages: "a parameter"
  std::vector<SpecKey> keys;
};

const std::vector<SpecObject>& spec_objects();
// `name` must be one of them.
const SpecObject& spec_object(std::string_view name);

}  // namespace tunebook
