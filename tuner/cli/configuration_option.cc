#include "cli/configuration_option.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"

namespace tunebook::cli {

std::optional<Configuration> given_configuration(const KernelSpec& spec, const std::string& config,
                                                 const std::string& preset) {
  if (!config.empty() && !preset.empty()) throw InputError("give either --config or --preset, not both");
  if (!config.empty()) return spec.parse_configuration(config);
  if (preset.empty() || preset == "default") return std::nullopt;
  if (const Configuration* found = spec.find_preset(preset)) return *found;
  std::vector<std::string> names;
  std::string list;
  for (const auto& entry : spec.presets) {
    names.push_back(entry.first);
    list += (list.empty() ? "" : ", ") + entry.first;
  }
  const std::string nearest = nearest_word(preset, names);
  throw InputError(fmt::format("kernel {} has no preset '{}'{}; its presets: {}", spec.name, preset,
                               nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest),
                               list));
}

Problem chosen_problem(const KernelSpec& spec, const std::string& shape) {
  return shape.empty() ? spec.default_problem() : spec.parse_shape(shape);
}

}  // namespace tunebook::cli
