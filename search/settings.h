#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace tunebook {

// The constants of a strategy by name, so that they can be chosen by replay (tests/bench/choose_constants.py).
using NamedSettings = std::vector<std::pair<std::string_view, double*>>;

}  // namespace tunebook
