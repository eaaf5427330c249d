#pragma once

#include <string>

namespace tunebook {

// A vendor's tool that starts our worker and looks into it.
struct ToolLocation {
  std::string path;    // empty: there is none
  std::string reason;  // then why, and what to do
};

// `compute-sanitizer`, or the program that $TUNEBOOK_COMPUTE_SANITIZER names.
ToolLocation find_compute_sanitizer();
// Nsight Compute's `ncu`, or the program that $TUNEBOOK_NCU names.
ToolLocation find_ncu();

// The program `name` where `variable` says, else in $PATH, the CUDA toolkits ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda*) and, of
// Nsight Compute's own packages, /opt/nvidia. A variable that names no program is a reason, not passed over.
ToolLocation find_tool(const std::string& name, const char* variable);

}  // namespace tunebook
