#pragma once

#include <string>

namespace tunebook {

// Kernels compiled with this option need a worker that was started with $TUNEBOOK_CPU_SANITIZE=address.
inline constexpr const char* kAsanOption = "-fsanitize=address";

// Whether this worker was started to run such kernels.
bool sanitizer_wanted();

// First thing in main(): starts the program anew, in the same process, with AddressSanitizer's runtime loaded first, if it was
// started to sanitize kernels and does not have the runtime yet. `argv` as main() has it.
void load_asan_runtime(char** argv);

// Why kernels cannot be sanitized though this worker was started for it; empty if they can, or if it was not.
std::string sanitizer_missing();

}  // namespace tunebook
