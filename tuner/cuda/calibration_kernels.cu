#include "cuda/calibration_kernels.h"

#include <algorithm>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cuda/cuda_error.h"

namespace tunebook {
namespace {

// ---- memory

template <Transfer transfer, int items>
__global__ void transfer_kernel(uint4* buffer, std::uint64_t count, std::uint64_t* sink) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * blockDim.x * items + threadIdx.x;
  uint4 words[items];
  for (int i = 0; i < items; ++i) words[i] = uint4{0, 0, 0, 0};
  if (transfer != Transfer::write) {
#pragma unroll
    for (int i = 0; i < items; ++i) {
      const std::uint64_t at = first + std::uint64_t(i) * blockDim.x;
      if (at < count) words[i] = buffer[at];
    }
  }
  if (transfer == Transfer::read) {
    unsigned any = 0;
    for (int i = 0; i < items; ++i) any |= words[i].x | words[i].y | words[i].z | words[i].w;
    // The buffer holds zeros, so this never happens; the compiler does not know.
    if (any != 0) *sink = any;
    return;
  }
  uint4* target = transfer == Transfer::copy ? buffer + count : buffer;
#pragma unroll
  for (int i = 0; i < items; ++i) {
    const std::uint64_t at = first + std::uint64_t(i) * blockDim.x;
    if (at < count) target[at] = words[i];
  }
}

template <Transfer transfer>
void launch_transfer(const TransferShape& shape, uint4* buffer, std::uint64_t count, std::uint64_t* sink, cudaStream_t stream) {
  const std::uint64_t per_block = std::uint64_t(shape.threads) * shape.items;
  const auto blocks = static_cast<unsigned>((count + per_block - 1) / per_block);
  const auto threads = static_cast<unsigned>(shape.threads);
  if (shape.items == 1) {
    transfer_kernel<transfer, 1><<<blocks, threads, 0, stream>>>(buffer, count, sink);
  } else if (shape.items == 4) {
    transfer_kernel<transfer, 4><<<blocks, threads, 0, stream>>>(buffer, count, sink);
  } else {
    transfer_kernel<transfer, 8><<<blocks, threads, 0, stream>>>(buffer, count, sink);
  }
}

// The first thread copies what is left behind the last whole word.
template <int items>
__global__ void copy_kernel(const uint4* __restrict__ source, uint4* __restrict__ target, std::uint64_t bytes) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * blockDim.x * items + threadIdx.x;
  const std::uint64_t count = bytes / sizeof(uint4);
  uint4 words[items];
#pragma unroll
  for (int i = 0; i < items; ++i) {
    const std::uint64_t at = first + std::uint64_t(i) * blockDim.x;
    if (at < count) words[i] = source[at];
  }
#pragma unroll
  for (int i = 0; i < items; ++i) {
    const std::uint64_t at = first + std::uint64_t(i) * blockDim.x;
    if (at < count) target[at] = words[i];
  }
  if (first != 0) return;
  for (std::uint64_t at = count * sizeof(uint4); at < bytes; ++at) {
    reinterpret_cast<unsigned char*>(target)[at] = reinterpret_cast<const unsigned char*>(source)[at];
  }
}

// ---- arithmetic

constexpr int kThreads = 256;
constexpr int kChains = 8;       // independent of each other, in each thread or warp: more than the units' latency needs
constexpr int kFmaSteps = 16384; // operations of each chain: about a millisecond
constexpr int kMmaSteps = 2048;
constexpr int kUnroll = 16;

__device__ float multiply_add(float x, float a, float b) { return __fmaf_rn(x, a, b); }
__device__ double multiply_add(double x, double a, double b) { return __fma_rn(x, a, b); }
__device__ __half2 multiply_add(__half2 x, __half2 a, __half2 b) { return __hfma2(x, a, b); }

__device__ void set_value(float& x, float value) { x = value; }
__device__ void set_value(double& x, float value) { x = value; }
__device__ void set_value(__half2& x, float value) { x = __float2half2_rn(value); }

// Results that the compiler must not know to be useless; they stay near 1, so that this never happens.
__device__ bool impossible(float x) { return x < -1e30f; }
__device__ bool impossible(double x) { return x < -1e30; }
__device__ bool impossible(__half2 x) { return __low2float(x) < -60000.0f; }

template <typename T>
__global__ void __launch_bounds__(kThreads) fma_kernel(float factor, float term, std::uint64_t* sink) {
  T a, b, x[kChains];
  set_value(a, factor);
  set_value(b, term);
#pragma unroll
  for (int c = 0; c < kChains; ++c) set_value(x[c], 1.0f + 0.001f * static_cast<float>((threadIdx.x + c) % 32));
  for (int step = 0; step < kFmaSteps; step += kUnroll) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (int c = 0; c < kChains; ++c) x[c] = multiply_add(x[c], a, b);
    }
  }
  bool any = false;
#pragma unroll
  for (int c = 0; c < kChains; ++c) any = any || impossible(x[c]);
  if (any) *sink = 1;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

// Two f16 or bf16 numbers, or one tf32, in a register: within [-0.5, 0.5], different in each lane, so that the units switch as they do
// on real data.
__device__ float operand_value(int index) { return static_cast<float>((threadIdx.x * 37u + static_cast<unsigned>(index) * 11u) % 64u) / 64.0f - 0.5f; }

struct MmaF16 {
  using Accumulator = float;
  unsigned a[4], b[2];
  __device__ unsigned pack(int i) const {
    const __half2 pair = __floats2half2_rn(operand_value(2 * i), operand_value(2 * i + 1));
    return *reinterpret_cast<const unsigned*>(&pair);
  }
  __device__ MmaF16() {
    for (int i = 0; i < 4; ++i) a[i] = pack(i);
    for (int i = 0; i < 2; ++i) b[i] = pack(4 + i);
  }
  __device__ void operator()(float (&c)[4]) const {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

struct MmaBf16 {
  using Accumulator = float;
  unsigned a[4], b[2];
  __device__ unsigned pack(int i) const {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(operand_value(2 * i), operand_value(2 * i + 1));
    return *reinterpret_cast<const unsigned*>(&pair);
  }
  __device__ MmaBf16() {
    for (int i = 0; i < 4; ++i) a[i] = pack(i);
    for (int i = 0; i < 2; ++i) b[i] = pack(4 + i);
  }
  __device__ void operator()(float (&c)[4]) const {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

struct MmaTf32 {
  using Accumulator = float;
  unsigned a[4], b[2];
  __device__ MmaTf32() {
    for (int i = 0; i < 4; ++i) a[i] = __float_as_uint(operand_value(i));
    for (int i = 0; i < 2; ++i) b[i] = __float_as_uint(operand_value(4 + i));
  }
  __device__ void operator()(float (&c)[4]) const {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

// One step is 16 x 8 x 16 on every architecture; before compute capability 9.0 in eight smaller instructions.
struct MmaF64 {
  using Accumulator = double;
  double a[8], b[4];
  __device__ MmaF64() {
    for (int i = 0; i < 8; ++i) a[i] = operand_value(i);
    for (int i = 0; i < 4; ++i) b[i] = operand_value(8 + i);
  }
  __device__ void operator()(double (&c)[4]) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]),
                   "d"(b[3]));
#else
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(c[0]), "+d"(c[1]) : "d"(a[i]), "d"(b[i]));
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(c[2]), "+d"(c[3]) : "d"(a[4 + i]), "d"(b[i]));
    }
#endif
  }
};

template <typename Mma>
__device__ void repeat_mma(std::uint64_t* sink) {
  const Mma mma;
  typename Mma::Accumulator x[kChains][4];
#pragma unroll
  for (int c = 0; c < kChains; ++c) {
    for (int i = 0; i < 4; ++i) x[c][i] = 0;
  }
#pragma unroll 2
  for (int step = 0; step < kMmaSteps; ++step) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) mma(x[c]);
  }
  bool any = false;
#pragma unroll
  for (int c = 0; c < kChains; ++c) {
    for (int i = 0; i < 4; ++i) any = any || impossible(x[c][i]);
  }
  if (any) *sink = 1;
}

#else

// Architectures without these instructions; kUnits keeps such a device from being asked.
struct MmaF16 {};
struct MmaBf16 {};
struct MmaTf32 {};
struct MmaF64 {};
template <typename Mma>
__device__ void repeat_mma(std::uint64_t*) {}

#endif

template <typename Mma>
__global__ void __launch_bounds__(kThreads) mma_kernel(std::uint64_t* sink) {
  repeat_mma<Mma>(sink);
}

// As many blocks as the device holds at once.
template <typename Kernel>
unsigned full_grid(Kernel kernel) {
  int device = 0, multiprocessors = 0, blocks = 0;
  check_cuda(cudaGetDevice(&device), "calibrating");
  check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), "calibrating");
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, 0), "calibrating");
  return static_cast<unsigned>(multiprocessors * (blocks < 1 ? 1 : blocks));
}

template <typename T>
double launch_fma(int lanes, std::uint64_t* sink, cudaStream_t stream) {
  const unsigned blocks = full_grid(fma_kernel<T>);
  // x = 0.5 x + 0.5 keeps near 1.
  fma_kernel<T><<<blocks, kThreads, 0, stream>>>(0.5f, 0.5f, sink);
  return 2.0 * lanes * blocks * kThreads * kChains * kFmaSteps;
}

// `flops`: of one step of a warp.
template <typename Mma>
double launch_mma(double flops, std::uint64_t* sink, cudaStream_t stream) {
  const unsigned blocks = full_grid(mma_kernel<Mma>);
  mma_kernel<Mma><<<blocks, kThreads, 0, stream>>>(sink);
  return flops * blocks * (kThreads / 32) * kChains * kMmaSteps;
}

}  // namespace

void queue_copy(const TransferShape& shape, const void* source, void* target, std::uint64_t bytes, cudaStream_t stream) {
  const std::uint64_t per_block = std::uint64_t(shape.threads) * shape.items * sizeof(uint4);
  const auto blocks = static_cast<unsigned>(std::max<std::uint64_t>(1, (bytes + per_block - 1) / per_block));
  const auto threads = static_cast<unsigned>(shape.threads);
  const auto* from = static_cast<const uint4*>(source);
  auto* to = static_cast<uint4*>(target);
  if (shape.items == 1) {
    copy_kernel<1><<<blocks, threads, 0, stream>>>(from, to, bytes);
  } else if (shape.items == 4) {
    copy_kernel<4><<<blocks, threads, 0, stream>>>(from, to, bytes);
  } else {
    copy_kernel<8><<<blocks, threads, 0, stream>>>(from, to, bytes);
  }
}

void queue_transfer(Transfer transfer, const TransferShape& shape, void* buffer, std::uint64_t bytes, std::uint64_t* sink,
                    cudaStream_t stream) {
  auto* words = static_cast<uint4*>(buffer);
  switch (transfer) {
    case Transfer::copy: return launch_transfer<Transfer::copy>(shape, words, bytes / 32, sink, stream);
    case Transfer::read: return launch_transfer<Transfer::read>(shape, words, bytes / 16, sink, stream);
    case Transfer::write: return launch_transfer<Transfer::write>(shape, words, bytes / 16, sink, stream);
  }
}

double queue_arithmetic(Unit unit, std::uint64_t* sink, cudaStream_t stream) {
  switch (unit) {
    case Unit::fma_f32: return launch_fma<float>(1, sink, stream);
    case Unit::fma_f64: return launch_fma<double>(1, sink, stream);
    case Unit::fma_f16: return launch_fma<__half2>(2, sink, stream);
    case Unit::mma_f16: return launch_mma<MmaF16>(2.0 * 16 * 8 * 16, sink, stream);
    case Unit::mma_bf16: return launch_mma<MmaBf16>(2.0 * 16 * 8 * 16, sink, stream);
    case Unit::mma_tf32: return launch_mma<MmaTf32>(2.0 * 16 * 8 * 8, sink, stream);
    case Unit::mma_f64: return launch_mma<MmaF64>(2.0 * 16 * 8 * 16, sink, stream);
  }
  return 0;
}

}  // namespace tunebook
