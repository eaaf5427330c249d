#pragma once

#include <string>

#include "worker/message.h"

namespace tunebook {

// Ordinal from "cuda:N" or "cuda". Throws EnvironmentError for anything else.
int parse_cuda_device(const std::string& device);

// Throws EnvironmentError if there is no driver, no GPU, no such GPU, or nobody may use it; the message says what to do. Creates no
// context, which takes 200 ms.
void find_device(int ordinal);

// Device, native_arch, toolchain, driver and environment of a device that was found. Creates no context either. `nvml_driver`: the
// driver's version as NVML gives it, or "", for machines whose kernel module does not say it.
Hello describe_device(int ordinal, const std::string& nvml_driver);

// Creates the context of device `ordinal`, for this process, and makes it current. Throws EnvironmentError if it cannot be used.
void open_device(int ordinal);

}  // namespace tunebook
