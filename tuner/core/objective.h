#pragma once

#include <string_view>

namespace tunebook {

// What a session makes small.
enum class Objective {
  time,    // median time of a launch, us
  energy,  // energy of a launch, J
};

constexpr std::string_view objective_name(Objective objective) { return objective == Objective::energy ? "energy" : "time"; }

}  // namespace tunebook
