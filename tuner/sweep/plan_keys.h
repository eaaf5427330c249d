#pragma once

#include <string_view>
#include <vector>

#include "core/spec_keys.h"

namespace tunebook {

// The keys that one kind of object in a plan may have. The reader knows no others; plan_schema.json has the same (a test compares them),
// the root as itself and the others in its "$defs" under the same names.
const std::vector<SpecObject>& plan_objects();
// `name` must be one of them: "plan" (the root), "sessions", "freshness", "range", "misses", "file".
const SpecObject& plan_object(std::string_view name);

// The keys of a session's settings: in "sessions" and, for all of them, in the root.
const std::vector<SpecKey>& settings_keys();

}  // namespace tunebook
