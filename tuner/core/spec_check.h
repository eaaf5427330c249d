#pragma once

// Internal to the spec's source files: checks that need a whole, well-formed spec.

#include <string>
#include <vector>

#include "core/spec.h"

namespace tunebook {

// What parse() requires of the preset `default` on the default problem and the verify problems, for each combination of
// categorical values: constraints hold; on the default problem also that every expression can be evaluated and gives a sensible
// size. Located messages ("/presets/default: ...").
std::vector<std::string> check_default_preset(const KernelSpec& spec);

}  // namespace tunebook
