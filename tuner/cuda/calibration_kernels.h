#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <cuda_runtime_api.h>

namespace tunebook {

// Kernels that do nothing but move memory or calculate, to measure what a device can do. Launch errors are in the caller's next check.

enum class Transfer { copy, read, write };

// Ways to move the same bytes; which is fastest depends on the size.
struct TransferShape {
  int threads;  // of a block
  int items;    // accesses of 16 bytes per thread, all in flight together
};
inline constexpr std::array<TransferShape, 5> kTransferShapes = {{{64, 1}, {256, 1}, {256, 4}, {512, 4}, {256, 8}}};

// Queues one launch that moves `bytes` (a multiple of 32) at `buffer`, 16-byte aligned and all zeros, which it stays: copy reads the
// first half and writes the second. `sink` is a word of device memory that is never written.
void queue_transfer(Transfer transfer, const TransferShape& shape, void* buffer, std::uint64_t bytes, std::uint64_t* sink,
                    cudaStream_t stream);

// Queues one launch that copies `bytes` from `source` to `target`, both 16-byte aligned, in the same way.
void queue_copy(const TransferShape& shape, const void* source, void* target, std::uint64_t bytes, cudaStream_t stream);

// The units whose peak is measured; names as in Ceiling::what.
enum class Unit { fma_f32, fma_f64, fma_f16, mma_f16, mma_bf16, mma_tf32, mma_f64 };
struct UnitName {
  Unit unit;
  std::string_view what;
  int least_compute_capability;  // of the instructions used
};
inline constexpr std::array<UnitName, 7> kUnits = {{{Unit::fma_f32, "fma_f32", 0},
                                                    {Unit::fma_f64, "fma_f64", 0},
                                                    {Unit::fma_f16, "fma_f16", 53},
                                                    {Unit::mma_f16, "mma_f16", 80},
                                                    {Unit::mma_bf16, "mma_bf16", 80},
                                                    {Unit::mma_tf32, "mma_tf32", 80},
                                                    {Unit::mma_f64, "mma_f64", 80}}};

// Queues one launch of independent chains of operations that fills the device once, for about a millisecond; returns how many
// floating-point operations it does. Throws CudaError if the device cannot be asked how many blocks it holds.
double queue_arithmetic(Unit unit, std::uint64_t* sink, cudaStream_t stream);

}  // namespace tunebook
