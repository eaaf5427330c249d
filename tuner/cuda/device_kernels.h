#pragma once

// Tunebook's own kernels: filling, checking, flushing. All are queued on `stream` and return at once; launch errors are thrown as
// CudaError by the caller's next check.

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "core/dtype.h"

namespace tunebook {

// Guard bytes before and behind each payload.
inline constexpr std::size_t kGuardBytes = std::size_t{64} << 10;
inline constexpr std::uint64_t kNone = ~std::uint64_t{0};

// How an element is made: core/fill_value.h.
struct FillRule {
  int kind = 0;
  double low = 0;
  double high = 0;
  std::uint64_t seed = 0;
  unsigned special = 0;
};

// What was found wrong with one argument; indices are the smallest ones, kNone if there is none.
struct CheckResult {
  std::uint64_t first_wrong;       // 2 * element + run
  std::uint64_t first_difference;  // element that differs between the two runs
  std::uint64_t first_modified;    // element of an input
  double max_error;                // largest |d| / (abs + rel * |ref|) of right elements
};

// A payload with kGuardBytes before and behind it.
struct GuardedRange {
  unsigned char* payload;
  std::uint64_t bytes;
};

void queue_fill(DType dtype, void* payload, std::uint64_t count, const FillRule& rule, cudaStream_t stream);
// first_modified = the first element whose bits are not those queue_fill() gives.
void queue_check_fill(DType dtype, const void* payload, std::uint64_t count, const FillRule& rule, CheckResult* result,
                      cudaStream_t stream);

// Writes the guard pattern around `count` ranges (an array in device memory). Every aligned 16 bits of it are a NaN as f16 and as
// bf16, and so are 4 and 8 bytes as f32 and f64: a value read from there shows in the result. It depends on the position.
void queue_fill_guards(const GuardedRange* ranges, int count, cudaStream_t stream);
// first_bytes[i] = the first byte of range i that is not the pattern, counted from the start of the front guard
// (so >= kGuardBytes: behind the payload), else kNone. The caller sets kNone first.
void queue_check_guards(const GuardedRange* ranges, int count, std::uint64_t* first_bytes, cudaStream_t stream);

void queue_reset(CheckResult* results, int count, std::uint64_t* first_bytes, int ranges, cudaStream_t stream);

// Compares two results with the reference, and with each other's bits if `same_bits`. Floating types:
// !(|d| <= abs + rel * |ref|) is wrong; a reference that is not finite needs the same class and sign. Others: exact.
struct Comparison {
  const void* run_a;
  const void* run_b;
  const void* reference;
  std::uint64_t count;
  double rel;
  double abs;
  bool same_bits;
};
void queue_compare(DType dtype, const Comparison& comparison, CheckResult* result, cudaStream_t stream);

// *sum += a checksum of the bytes that depends on their position, not on the order of threads.
void queue_checksum(const void* payload, std::uint64_t bytes, std::uint64_t* sum, cudaStream_t stream);

// Reads all of `bytes` (a multiple of 16), which replaces what L2 held by clean lines.
void queue_read(const void* buffer, std::uint64_t bytes, std::uint64_t* sink, cudaStream_t stream);
// Keeps the stream busy for about `nanoseconds`, so that the host gets ahead with queuing.
void queue_hold(std::uint64_t nanoseconds, cudaStream_t stream);

}  // namespace tunebook
