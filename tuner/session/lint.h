#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/template_folder.h"

namespace tunebook {

// Mistakes in a kernel template that a declaration may have and still be read: `check`.
//   bounds           an access outside a buffer, or a result that is wrong, on a ragged problem
//   ragged           another failure there: a barrier that not all threads reach, results that differ from run to run
//   alignment        a vector access at an address that is no multiple of its size
//   launch_bounds    a launch with more threads than the kernel's __launch_bounds__ allow
//   unused_parameter a parameter that neither the source nor the launch uses: every value of it is the same kernel
//   constraint       a constraint that removes nothing
//   preset           a preset that is not in the space of the default sizes
struct LintFinding {
  std::string rule;
  std::string place;    // "FILE: /constraints/2", "FILE:12"
  std::string message;  // what was found there
  std::string remedy;
  bool failure = true;  // false: worth knowing

  std::string line() const;  // "PLACE: MESSAGE; REMEDY [RULE]"
};

// What needs neither a compiler nor a device: every rule but bounds and alignment. `unread_bounds`: entries whose launch bounds are more
// than the source alone tells; lint_compiled_bounds() reads them from compiled code.
struct LintAnswer {
  std::vector<LintFinding> findings;
  std::vector<std::string> unread_bounds;
};
LintAnswer lint_declaration(const KernelTemplate& kernel);

// The parts of lint_declaration().
std::vector<LintFinding> lint_constraints(const KernelTemplate& kernel);
std::vector<LintFinding> lint_presets(const KernelTemplate& kernel);
std::vector<LintFinding> lint_parameters(const KernelTemplate& kernel);
LintAnswer lint_launch_bounds(const KernelTemplate& kernel);

// Threads that `.maxntid` of an entry in PTX allows; 0 if it says nothing.
std::int64_t ptx_thread_bound(std::string_view ptx, std::string_view symbol);
// Launch bounds as NVRTC compiles them: of every preset, for `arch`, on the default problem of each data type.
std::vector<LintFinding> lint_compiled_bounds(const KernelTemplate& kernel, const std::string& arch);

// Runs presets and `samples` further configurations on small ragged problems on the cpu device: buffers lie between pages that cannot be
// accessed, and AddressSanitizer, where the host compiler has it, sees every byte beside them; each access is checked for the alignment of
// its type. `progress` is told what is being run. Throws EnvironmentError if there is no host compiler.
struct LintAccesses {
  std::vector<LintFinding> findings;
  std::int64_t configurations = 0;   // that were run
  std::vector<std::string> notes;    // what could not be done
};
LintAccesses lint_accesses(const KernelTemplate& kernel, int samples, const std::function<void(const std::string&)>& progress = {});

}  // namespace tunebook
