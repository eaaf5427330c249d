#include "core/spec_keys.h"

#include <algorithm>
#include <cassert>

namespace tunebook {

const std::vector<SpecObject>& spec_objects() {
  static const std::vector<SpecObject> objects = {
      {"kernel", "a kernel",
       {{"tunebook", true}, {"kernel", true}, {"summary"}, {"source", true}, {"entry", true}, {"instantiate", true}, {"define"},
        {"options"}, {"problem", true}, {"parameters", true}, {"constraints"}, {"presets", true}, {"launch", true},
        {"arguments", true}, {"reference", true}, {"tolerance"}, {"work"}, {"features"}, {"arch"}, {"cpu"}, {"nondeterministic"}, {"restore"}, {"baseline"}}},
      {"size", "a size", {{"default", true}, {"verify"}, {"help"}}},
      {"category", "a dimension with values", {{"values", true}, {"default", true}, {"help"}}},
      {"parameter", "a parameter", {{"values", true}, {"type"}, {"help"}}},
      {"launch", "a launch",
       {{"entry"}, {"instantiate"}, {"repeat"}, {"block", true}, {"grid", true}, {"shared_bytes"}, {"static_shared_bytes"}}},
      {"pointer", "a pointer argument", {{"name", true}, {"type", true}, {"count", true}, {"access", true}, {"fill"}, {"special"}}},
      {"scalar", "a scalar argument", {{"name", true}, {"type", true}, {"value", true}}},
      {"reference", "a reference",
       {{"source", true}, {"entry", true}, {"instantiate"}, {"block", true}, {"grid", true}, {"shared_bytes"}}},
      {"tolerance", "a tolerance", {{"rel", true}, {"abs", true}}},
      {"choice", "a choice of the default", {{"when"}, {"preset", true}}},
      {"work", "work", {{"flops"}, {"bytes"}}},
      {"baseline", "a baseline", {{"operation", true}, {"buffers", true}, {"parameters"}, {"when"}}},
  };
  return objects;
}

const SpecObject& spec_object(std::string_view name) {
  const auto found = std::find_if(spec_objects().begin(), spec_objects().end(), [&](const SpecObject& object) { return object.name == name; });
  assert(found != spec_objects().end());
  return *found;
}

}  // namespace tunebook
