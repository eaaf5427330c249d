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

// A device with the limits of an architecture ("sm_90", "cpu"), to choose and compile for it without having one.
Device stand_in_device(const std::string& arch);

// What one configuration is compiled for: `native_arch`, or on a GPU what the spec's "arch" asks for. Throws InputError if that
// expression fails or gives no text.
std::string compile_architecture(const KernelSpec& spec, const Problem& problem, const Configuration& configuration,
                                 const Device& device, const std::string& native_arch);

}  // namespace tunebook
