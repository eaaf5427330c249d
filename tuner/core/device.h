#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tunebook {

// Limits that decide whether a launch is possible; bytes, counts.
struct DeviceLimits {
  std::int64_t max_threads_per_block = 1024;
  std::array<std::int64_t, 3> max_block = {1024, 1024, 64};
  std::array<std::int64_t, 3> max_grid = {2147483647, 65535, 65535};
  std::int64_t shared_bytes_per_block = 49152;        // without opting in
  std::int64_t shared_bytes_per_block_optin = 49152;  // the most a block can have
  std::int64_t shared_bytes_per_sm = 65536;
  std::int64_t reserved_shared_bytes_per_block = 0;
  std::int64_t registers_per_block = 65536;
  std::int64_t registers_per_sm = 65536;
  std::int64_t max_threads_per_sm = 2048;
  std::int64_t max_blocks_per_sm = 32;
  std::int64_t warp_size = 32;
  std::int64_t l2_bytes = 0;
  friend bool operator==(const DeviceLimits&, const DeviceLimits&) = default;
};

// What a device is, independent of where it is plugged in.
struct Device {
  std::string kind;              // "cuda", "cpu", "replay"
  std::string name;              // "NVIDIA H200", cpu model; a MIG profile is part of it
  int compute_capability = 0;    // 90 for sm_90; 0 on cpu and replay
  std::string instruction_set;   // cpu: "x86-64 avx2"; "" otherwise
  std::int64_t sm_count = 0;     // cpu: cores used
  std::int64_t memory_gib = 0;   // rounded; cpu: 0 (not part of its identity)
  std::string host_compiler;     // cpu: "clang 14.0.6"; "" otherwise
  DeviceLimits limits;

  // The identity: canonical JSON of all fields but the limits. Equal keys mean results can be exchanged.
  std::string key() const;
  nlohmann::json to_json() const;  // with "limits"
  static Device from_json(const nlohmann::json& json);  // throws InputError
};

// Static resources of a compiled configuration. Bytes; -1 where unknown.
struct Resources {
  std::int64_t registers = -1;        // per thread
  std::int64_t shared_static_bytes = -1;
  std::int64_t shared_dynamic_bytes = -1;
  std::int64_t spill_load_bytes = -1;
  std::int64_t spill_store_bytes = -1;
  std::int64_t stack_bytes = -1;
  std::int64_t code_bytes = -1;
  std::int64_t max_threads_per_block = -1;  // from __launch_bounds__ and registers, as the driver reports it
  std::int64_t blocks_per_sm = -1;          // achievable
  nlohmann::json to_json() const;           // leaves out what is unknown
  static Resources from_json(const nlohmann::json& json);
};

// Of a configuration with several kernels: the most that any of them needs, the least that any of them allows, and all their code.
Resources most_needed(const Resources& x, const Resources& y);

// Blocks of `threads` threads that fit one SM at once (0: none), by the rules of the CUDA occupancy calculator:
// registers are allocated per warp in units of 256, shared memory in units of 128 (compute capability >= 8) plus the reserved bytes.
// Unknown (negative) resources do not limit.
std::int64_t achievable_blocks_per_sm(const DeviceLimits& limits, const Resources& resources, std::int64_t threads);

}  // namespace tunebook
