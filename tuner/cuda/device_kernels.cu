#include "cuda/device_kernels.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "core/fill_value.h"

namespace tunebook {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kMaxBlocks = 2048;

unsigned blocks_for(std::uint64_t items) {
  const std::uint64_t blocks = (items + kThreads - 1) / kThreads;
  return blocks < 1 ? 1 : blocks > kMaxBlocks ? kMaxBlocks : static_cast<unsigned>(blocks);
}

__device__ std::uint64_t thread_index() { return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::uint64_t thread_count() { return std::uint64_t{gridDim.x} * blockDim.x; }

// 64-bit atomics of CUDA are declared for unsigned long long, which is another type than std::uint64_t.
__device__ void atomic_min(std::uint64_t* address, std::uint64_t value) {
  if (value < *static_cast<volatile std::uint64_t*>(address)) atomicMin(reinterpret_cast<unsigned long long*>(address), value);
}

// The bits of an element of any type, in the low bytes. The type is the same for all threads: the branch does not diverge.
__device__ std::uint64_t load_bits(int bytes, const void* payload, std::uint64_t index) {
  switch (bytes) {
    case 1: return static_cast<const std::uint8_t*>(payload)[index];
    case 2: return static_cast<const std::uint16_t*>(payload)[index];
    case 4: return static_cast<const std::uint32_t*>(payload)[index];
    default: return static_cast<const std::uint64_t*>(payload)[index];
  }
}

__device__ void store_bits(int bytes, void* payload, std::uint64_t index, std::uint64_t bits) {
  switch (bytes) {
    case 1: static_cast<std::uint8_t*>(payload)[index] = static_cast<std::uint8_t>(bits); break;
    case 2: static_cast<std::uint16_t*>(payload)[index] = static_cast<std::uint16_t>(bits); break;
    case 4: static_cast<std::uint32_t*>(payload)[index] = static_cast<std::uint32_t>(bits); break;
    default: static_cast<std::uint64_t*>(payload)[index] = bits; break;
  }
}

__device__ double to_double(DType dtype, std::uint64_t bits) {
  switch (dtype) {
    case DType::f16: return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
    case DType::bf16: return __bfloat162float(__ushort_as_bfloat16(static_cast<unsigned short>(bits)));
    case DType::f32: return __uint_as_float(static_cast<unsigned>(bits));
    default: return __longlong_as_double(static_cast<long long>(bits));
  }
}

// The bits that store_from_double() of core/dtype.h gives.
__device__ std::uint64_t from_double(DType dtype, double value) {
  switch (dtype) {
    case DType::f16: return __half_as_ushort(__double2half(value));
    case DType::bf16: return __bfloat16_as_ushort(__double2bfloat16(value));
    case DType::f32: return __float_as_uint(static_cast<float>(value));
    case DType::f64: return static_cast<std::uint64_t>(__double_as_longlong(value));
    case DType::boolean: return value != 0 ? 1 : 0;
    case DType::u64: return static_cast<std::uint64_t>(value);
    default: return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
}

__device__ bool floating(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
}

__device__ std::uint64_t low_bytes(int bytes, std::uint64_t bits) { return bytes == 8 ? bits : bits & ((std::uint64_t{1} << (8 * bytes)) - 1); }

// The bits of an input's element, in the low bytes.
__device__ std::uint64_t element_bits(DType dtype, int bytes, const FillRule& rule, std::uint64_t index) {
  const unsigned special = floating(dtype) ? special_of(rule.special, rule.seed, index) : 0;
  if (special != 0) return special_bits(special, bytes, fraction_bits(dtype));
  return low_bytes(bytes, from_double(dtype, fill_value(rule.kind, rule.low, rule.high, rule.seed, index)));
}

__global__ void fill_kernel(DType dtype, int bytes, void* payload, std::uint64_t count, FillRule rule) {
  for (std::uint64_t i = thread_index(); i < count; i += thread_count()) {
    store_bits(bytes, payload, i, element_bits(dtype, bytes, rule, i));
  }
}

__global__ void check_fill_kernel(DType dtype, int bytes, const void* payload, std::uint64_t count, FillRule rule, CheckResult* result) {
  std::uint64_t first = kNone;
  for (std::uint64_t i = thread_index(); i < count && first == kNone; i += thread_count()) {
    if (load_bits(bytes, payload, i) != element_bits(dtype, bytes, rule, i)) first = i;
  }
  if (first != kNone) atomic_min(&result->first_modified, first);
}

__device__ unsigned char guard_byte(std::uint64_t offset) {
  if (offset % 2 == 1) return 0xFF;
  return static_cast<unsigned char>(0x81 + offset / 2 * 37 % 126);
}

// Calls visit(offset from the start of the front guard) for this thread's guard bytes of one range.
template <typename Visit>
__device__ void for_each_guard_byte(const GuardedRange& range, Visit visit) {
  for (std::uint64_t i = thread_index(); i < 2 * kGuardBytes; i += thread_count()) visit(i < kGuardBytes ? i : i + range.bytes);
}

__global__ void fill_guards_kernel(const GuardedRange* ranges) {
  const GuardedRange range = ranges[blockIdx.y];
  unsigned char* start = range.payload - kGuardBytes;
  for_each_guard_byte(range, [&](std::uint64_t offset) { start[offset] = guard_byte(offset); });
}

__global__ void check_guards_kernel(const GuardedRange* ranges, std::uint64_t* first_bytes) {
  const GuardedRange range = ranges[blockIdx.y];
  const unsigned char* start = range.payload - kGuardBytes;
  std::uint64_t first = kNone;
  for_each_guard_byte(range, [&](std::uint64_t offset) {
    if (start[offset] != guard_byte(offset) && offset < first) first = offset;
  });
  if (first != kNone) atomic_min(&first_bytes[blockIdx.y], first);
}

__global__ void reset_kernel(CheckResult* results, int count, std::uint64_t* first_bytes, int ranges) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) results[i] = {kNone, kNone, kNone, 0.0};
  for (int i = static_cast<int>(threadIdx.x); i < ranges; i += static_cast<int>(blockDim.x)) first_bytes[i] = kNone;
}

// |d| / (abs + rel * |ref|), negative if wrong.
__device__ double relative_error(double value, double reference, double rel, double abs) {
  if (isnan(reference)) return isnan(value) ? 0.0 : -1.0;
  if (isinf(reference)) return value == reference ? 0.0 : -1.0;
  if (isinf(value)) return -1.0;  // also where what is allowed overflows
  const double difference = fabs(value - reference);
  const double allowed = abs + rel * fabs(reference);
  if (!(difference <= allowed)) return -1.0;
  return difference == 0.0 ? 0.0 : difference / allowed;
}

__global__ void compare_kernel(DType dtype, int bytes, Comparison c, CheckResult* result) {
  const bool real = floating(dtype);
  std::uint64_t wrong = kNone, different = kNone;
  double worst = 0.0;
  for (std::uint64_t i = thread_index(); i < c.count; i += thread_count()) {
    const std::uint64_t reference = load_bits(bytes, c.reference, i);
    const std::uint64_t runs[2] = {load_bits(bytes, c.run_a, i), load_bits(bytes, c.run_b, i)};
    if (c.same_bits && runs[0] != runs[1] && different == kNone) different = i;
    for (int run = 0; run < 2; ++run) {
      double error = runs[run] == reference ? 0.0 : -1.0;
      if (real) error = relative_error(to_double(dtype, runs[run]), to_double(dtype, reference), c.rel, c.abs);
      if (error < 0.0 && wrong == kNone) wrong = 2 * i + static_cast<unsigned>(run);
      worst = fmax(worst, error);
    }
  }
  if (wrong != kNone) atomic_min(&result->first_wrong, wrong);
  if (different != kNone) atomic_min(&result->first_difference, different);
  for (int lane = 16; lane > 0; lane /= 2) worst = fmax(worst, __shfl_xor_sync(0xFFFFFFFFu, worst, lane));
  // Bits of doubles that are not negative are ordered like the numbers.
  if (threadIdx.x % 32 == 0 && worst > 0.0) {
    atomicMax(reinterpret_cast<unsigned long long*>(&result->max_error), static_cast<unsigned long long>(__double_as_longlong(worst)));
  }
}

__global__ void checksum_kernel(const unsigned char* payload, std::uint64_t bytes, std::uint64_t* sum) {
  std::uint64_t own = 0;
  const std::uint64_t words = bytes / 8;
  for (std::uint64_t i = thread_index(); i < words; i += thread_count()) own += mix64(reinterpret_cast<const std::uint64_t*>(payload)[i], i);
  for (std::uint64_t i = words * 8 + thread_index(); i < bytes; i += thread_count()) own += mix64(payload[i], i);
  atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(own));
}

__global__ void read_kernel(const uint4* buffer, std::uint64_t count, std::uint64_t* sink) {
  unsigned own = 0;
  for (std::uint64_t i = thread_index(); i < count; i += thread_count()) {
    const uint4 word = buffer[i];
    own |= word.x | word.y | word.z | word.w;
  }
  // The buffer holds zeros, so this never happens; the compiler does not know.
  if (own != 0) *sink = own;
}

__device__ std::uint64_t nanoseconds_now() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void hold_kernel(std::uint64_t nanoseconds) {
  const std::uint64_t start = nanoseconds_now();
  while (nanoseconds_now() - start < nanoseconds) {
  }
}

}  // namespace

void queue_fill(DType dtype, void* payload, std::uint64_t count, const FillRule& rule, cudaStream_t stream) {
  fill_kernel<<<blocks_for(count), kThreads, 0, stream>>>(dtype, static_cast<int>(dtype_size(dtype)), payload, count, rule);
}

void queue_check_fill(DType dtype, const void* payload, std::uint64_t count, const FillRule& rule, CheckResult* result,
                      cudaStream_t stream) {
  check_fill_kernel<<<blocks_for(count), kThreads, 0, stream>>>(dtype, static_cast<int>(dtype_size(dtype)), payload, count, rule, result);
}

void queue_fill_guards(const GuardedRange* ranges, int count, cudaStream_t stream) {
  fill_guards_kernel<<<dim3(16, static_cast<unsigned>(count)), kThreads, 0, stream>>>(ranges);
}

void queue_check_guards(const GuardedRange* ranges, int count, std::uint64_t* first_bytes, cudaStream_t stream) {
  check_guards_kernel<<<dim3(16, static_cast<unsigned>(count)), kThreads, 0, stream>>>(ranges, first_bytes);
}

void queue_reset(CheckResult* results, int count, std::uint64_t* first_bytes, int ranges, cudaStream_t stream) {
  reset_kernel<<<1, kThreads, 0, stream>>>(results, count, first_bytes, ranges);
}

void queue_compare(DType dtype, const Comparison& comparison, CheckResult* result, cudaStream_t stream) {
  compare_kernel<<<blocks_for(comparison.count), kThreads, 0, stream>>>(dtype, static_cast<int>(dtype_size(dtype)), comparison, result);
}

void queue_checksum(const void* payload, std::uint64_t bytes, std::uint64_t* sum, cudaStream_t stream) {
  checksum_kernel<<<blocks_for(bytes / 8), kThreads, 0, stream>>>(static_cast<const unsigned char*>(payload), bytes, sum);
}

void queue_read(const void* buffer, std::uint64_t bytes, std::uint64_t* sink, cudaStream_t stream) {
  read_kernel<<<blocks_for(bytes / 16), kThreads, 0, stream>>>(static_cast<const uint4*>(buffer), bytes / 16, sink);
}

void queue_hold(std::uint64_t nanoseconds, cudaStream_t stream) { hold_kernel<<<1, 1, 0, stream>>>(nanoseconds); }

}  // namespace tunebook
