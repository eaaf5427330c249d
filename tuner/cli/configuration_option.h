#pragma once

#include <optional>
#include <string>

#include "core/spec.h"

namespace tunebook::cli {

// `--config K=V,...` or `--preset P`; nothing where neither is given, or the preset "default":
// KernelSpec::default_preset() then chooses by problem and device. Throws InputError: both are
// given, an unknown preset (with the nearest), a configuration that is not declared.
std::optional<Configuration> given_configuration(const KernelSpec& spec, const std::string& config,
                                                 const std::string& preset);

// The problem of `--shape`; with an empty text the spec's defaults.
Problem chosen_problem(const KernelSpec& spec, const std::string& shape);

}  // namespace tunebook::cli
