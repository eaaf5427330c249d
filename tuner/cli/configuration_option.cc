#include "cli/configuration_option.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"

namespace tunebook::cli {

Configuration chosen_configuration(const KernelSpec& spec, const std::string& config, const std::string& preset) {
  if (!config.empty() && !preset.empty()) throw InputError("give either --config or --preset, not both");
  if (!config.empty()) return spec.parse_configuration(config);
  const std::string name = preset.empty() ? "default" : preset;
  if (const Configuration* found = spec.find_preset(name)) return *found;
  std::vector<std::string> names;
  std::string list;
  for (const auto& entry : spec.presets) {
    names.push_back(entry.first);
    list += (list.empty() ? "" : ", ") + entry.first;
  }
  const std::string nearest = nearest_word(name, names);
  throw InputError(fmt::format("kernel {} has no preset '{}'{}; its presets: {}", spec.name, name,
                               nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest), list));
}

Problem chosen_problem(const KernelSpec& spec, const std::string& shape) {
  return shape.empty() ? spec.default_problem() : spec.parse_shape(shape);
}

}  // namespace tunebook::cli
