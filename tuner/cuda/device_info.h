#pragma once

#include <string>

#include "worker/message.h"

namespace tunebook {

// Ordinal from "cuda:N" or "cuda". Throws EnvironmentError for anything else.
int parse_cuda_device(const std::string& device);

// Opens device `ordinal` for this process (creates its context). Throws EnvironmentError if there is no driver, no GPU, no such
// GPU, or it cannot be used; the message says what to do.
void open_device(int ordinal);

// Device, native_arch, toolchain, driver and environment of an open device.
Hello describe_device(int ordinal);

}  // namespace tunebook
