#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/launch_plan.h"
#include "core/template_folder.h"
#include "launch/launch_device.h"
#include "tunebook/launch.h"

namespace tunebook {

// One configuration on one problem, checked, with all that is known before it is compiled.
struct LaunchPlan {
  CompiledKernel about;  // without what the compiler adds
  Instantiation instantiation;
  LaunchSequence launches;
};

// What to try for a problem, in this order. At least one is there.
struct KernelChoice {
  std::optional<LaunchPlan> best;      // the book's
  std::optional<LaunchPlan> fallback;  // the preset `default` of the template
  std::string fallback_obstacle;       // why there is none
};

// The book's answer (null: none) counts if it is a configuration of the template at hand, valid for the problem and the device;
// otherwise the fallback's note says why not. Throws std::invalid_argument if the preset cannot be used either.
KernelChoice choose(const KernelTemplate& kernel, const Problem& problem, const Device& device, const std::string& native_arch,
                    std::shared_ptr<const Answer> answer);

// The plan of one answer; nothing, with the reason, if it cannot be used on this problem and device.
std::optional<LaunchPlan> plan_answer(const KernelTemplate& kernel, const Problem& problem, const Device& device,
                                      const std::string& native_arch, const std::shared_ptr<const Answer>& answer, std::string& obstacle);

// Whether the application gives the argument: workspaces, and scalars that depend on the configuration, are the library's.
bool is_callers(const KernelSpec& spec, const Argument& argument);
// `symbols`: of the instantiation's kernels.
LaunchRecipe recipe_of(const KernelSpec& spec, const Problem& problem, const LaunchPlan& plan, const std::vector<std::string>& symbols);

// Text of a book or a compiler for a terminal or a log file: control characters other than line ends become spaces.
std::string printable(std::string text);
// Adds a line to a note.
void add_note(std::string& note, const std::string& line);

}  // namespace tunebook
