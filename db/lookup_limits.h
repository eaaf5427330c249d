#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/device.h"
#include "tunebook/lookup.h"

namespace tunebook {

// Limits of NVIDIA GPUs by compute capability ("Technical Specifications per Compute Capability" of the CUDA C++ Programming
// Guide). One that is not listed has those of the nearest older one.
DeviceLimits limits_of_compute_capability(int compute_capability);

// The device that a query describes, with what it leaves open taken from `tuned`, the device that it was matched with, or
// from the table above.
Device actual_device(const DeviceKey& key, const Device* tuned);

// True if what the caller gave of the identity agrees with the device; limits are not part of it.
bool same_identity(const DeviceKey& key, const Device& device);

DeviceKey to_device_key(const Device& device);

// What one block of a recorded configuration needs; empty: not known.
struct BlockNeeds {
  std::optional<std::int64_t> threads;
  std::optional<std::int64_t> registers_per_thread;
  std::optional<std::int64_t> shared_bytes;
};
// Empty if a block can run within the limits, as far as is known; else the reason: "163840 bytes of shared memory per block, the device
// allows 101376".
std::string block_limit_violated(const BlockNeeds& needs, const DeviceLimits& limits);
bool block_fits(const BlockNeeds& needs, const DeviceLimits& limits);

}  // namespace tunebook
