#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/template_folder.h"
#include "search/space.h"
#include "session/tune.h"

namespace tunebook {

// Floating-point operations and bytes that one launch must do, by the spec's "work"; empty where it says nothing.
// Throws InputError if an expression fails.
struct WorkAmount {
  std::optional<double> flops;
  std::optional<double> bytes;
};
WorkAmount evaluate_work(const KernelSpec& spec, const Problem& problem, const Device& device);

// A template's session subject: presets that are valid for this problem on this device, and its work.
TuneSubject template_subject(const KernelTemplate& kernel, const Problem& problem, const Device& device);

// The space of one problem on one device: constraints, --where, and on the cpu device what the spec's "cpu" allows.
SpaceDefinition template_space(const KernelSpec& spec, const Problem& problem, const Device& device,
                               const std::vector<std::string>& where);

}  // namespace tunebook
