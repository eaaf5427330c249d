#pragma once

#include <string>

#include "core/spec.h"

namespace tunebook::cli {

// `--config K=V,...` or `--preset P` (exactly one; neither: preset "default"). Throws InputError, with the nearest preset.
Configuration chosen_configuration(const KernelSpec& spec, const std::string& config, const std::string& preset);

// The problem of `--shape`; with an empty text the spec's defaults.
Problem chosen_problem(const KernelSpec& spec, const std::string& shape);

}  // namespace tunebook::cli
