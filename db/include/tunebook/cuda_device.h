#pragma once

// The key of a CUDA device from what cudaGetDeviceProperties() says of it. A template, so that this header needs no CUDA header:
//
//   cudaDeviceProp properties;
//   cudaGetDeviceProperties(&properties, 0);
//   query.device = tunebook::device_key(properties);

#include <cstdint>

#include <tunebook/lookup.h>

namespace tunebook {

// Properties: cudaDeviceProp of any CUDA version (hipDeviceProp_t has the same members). Memory is rounded to GiB, as in the book.
template <class Properties>
DeviceKey device_key(const Properties& properties) {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
  DeviceKey key;
  key.kind = "cuda";
  key.name = properties.name;
  key.compute_capability = properties.major * 10 + properties.minor;
  key.sm_count = properties.multiProcessorCount;
  key.memory_gib = static_cast<std::int64_t>((static_cast<std::uint64_t>(properties.totalGlobalMem) + kGib / 2) / kGib);
  key.max_threads_per_block = properties.maxThreadsPerBlock;
  key.shared_bytes_per_block_optin = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin);
  key.registers_per_block = properties.regsPerBlock;
  return key;
}

}  // namespace tunebook
