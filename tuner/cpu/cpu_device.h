#pragma once

#include <filesystem>

#include "core/device.h"
#include "cpu/host_compiler.h"

namespace tunebook {

// Cores this process may run on (sched_getaffinity); at least 1.
int available_cores();

// Second-level cache of one core in bytes; 1 MiB if the system does not say.
std::size_t l2_cache_bytes();

// The `cpu` device: model, instruction set, cores used, host compiler, and limits like those of a mid-range GPU, so that the
// same search spaces make sense.
Device describe_cpu_device(const HostCompiler& compiler);

// Folder of the device headers: share/tunebook/cpu beside the running program's folder, the same when installed and in a build
// tree. Throws EnvironmentError if it is not there.
std::filesystem::path device_header_folder();

}  // namespace tunebook
