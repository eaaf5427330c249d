#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "core/dtype.h"
#include "kernel_fixture.h"

namespace tunebook::test {
namespace {

#define EXPECT_RUNS(result)                                                             \
  do {                                                                                  \
    const LaunchResult& launch_result = (result);                                       \
    ASSERT_FALSE(launch_result.failure) << launch_result.failure->message;              \
  } while (0)

TEST(Kernel, VectorAdd) {
  const std::string source = R"(
__global__ void vector_add(float* c, const float* a, const float* b, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
})";
  const std::int64_t n = 1000;
  const std::vector<float> a = small_integers(n, 1), b = small_integers(n, 2);
  std::vector<float> c(n, -1);
  EXPECT_RUNS(launch(source, "vector_add", shape({8, 1, 1}, {128, 1, 1}), c.data(), a.data(), b.data(), n));
  for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
}

TEST(Kernel, TiledMatmulWithStaticShared) {
  const std::string source = R"(
template <int TILE>
__global__ void tiled(float* c, const float* a, const float* b, int m, int n, int k) {
  __shared__ float as[TILE][TILE + 1], bs[TILE][TILE];  // two in one statement
  const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int step = 0; step < k; step += TILE) {
    as[threadIdx.y][threadIdx.x] = row < m && step + threadIdx.x < k ? a[row * k + step + threadIdx.x] : 0.0f;
    bs[threadIdx.y][threadIdx.x] = column < n && step + threadIdx.y < k ? b[(step + threadIdx.y) * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
})";
  const int m = 33, n = 50, k = 37;
  const std::vector<float> a = small_integers(m * k, 3), b = small_integers(k * n, 4);
  std::vector<float> c(m * n, -1);
  EXPECT_RUNS(launch(source, "tiled<16>", shape({4, 3, 1}, {16, 16, 1}), c.data(), a.data(), b.data(), m, n, k));
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
      ASSERT_EQ(c[i * n + j], sum) << i << "," << j;
    }
  }
}

TEST(Kernel, DynamicSharedInsideAndOutsideAFunction) {
  const std::string inside = R"(
__global__ void reverse(int* data, int n) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* tile = reinterpret_cast<int*>(raw);
  tile[threadIdx.x] = data[blockIdx.x * n + threadIdx.x];
  __syncthreads();
  data[blockIdx.x * n + threadIdx.x] = tile[n - 1 - threadIdx.x];
})";
  const std::string outside = R"(
extern __shared__ int tile[];
namespace { __device__ int& at(int i) { return tile[i]; } }
__global__ void reverse(int* data, int n) {
  at(threadIdx.x) = data[blockIdx.x * n + threadIdx.x];
  __syncthreads();
  data[blockIdx.x * n + threadIdx.x] = tile[n - 1 - threadIdx.x];
})";
  for (const std::string& source : {inside, outside}) {
    const int n = 96;
    std::vector<int> data(n * 5);
    std::iota(data.begin(), data.end(), 0);
    EXPECT_RUNS(launch(source, "reverse", shape({5, 1, 1}, {n, 1, 1}, n * 4), data.data(), n));
    for (int block = 0; block < 5; ++block) {
      for (int i = 0; i < n; ++i) ASSERT_EQ(data[block * n + i], block * n + n - 1 - i);
    }
  }
}

TEST(Kernel, ReductionWithShuffles) {
  const std::string source = R"(
__device__ int warp_sum(int x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_down_sync(0xffffffffu, x, offset);
  return x;
}
__global__ void reduce(int* out, const int* in, int n) {
  __shared__ int partial[32];
  int x = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) x += in[i];
  x = warp_sum(x);
  if (threadIdx.x % warpSize == 0) partial[threadIdx.x / warpSize] = x;
  __syncthreads();
  if (threadIdx.x < warpSize) {
    x = threadIdx.x < blockDim.x / warpSize ? partial[threadIdx.x] : 0;
    x = warp_sum(x);
    if (threadIdx.x == 0) *out = x;
  }
})";
  std::vector<int> in(1000);
  std::iota(in.begin(), in.end(), 1);
  int out = -1;
  EXPECT_RUNS(launch(source, "reduce", shape({1, 1, 1}, {256, 1, 1}), &out, in.data(), 1000));
  EXPECT_EQ(out, 500500);
}

// Every shuffle, ballot and vote against the rules of the CUDA C++ Programming Guide, evaluated here in plain C++.
TEST(Kernel, WarpFunctions) {
  const std::string source = R"(
__global__ void warp(unsigned* out) {
  const unsigned lane = threadIdx.x % 32, all = 0xffffffffu;
  unsigned* o = out + threadIdx.x * 10;
  o[0] = __shfl_sync(all, lane * 3, 5, 8);
  o[1] = __shfl_up_sync(all, lane, 3, 16);
  o[2] = __shfl_down_sync(all, lane, 2, 4);
  o[3] = __shfl_xor_sync(all, lane, 9);
  o[4] = __ballot_sync(all, lane % 3 == 0);
  o[5] = __any_sync(all, lane == 31) * 2 + __all_sync(all, lane < 31);
  o[6] = __match_any_sync(all, lane / 8);
  o[7] = (unsigned)__reduce_add_sync(all, (int)lane);
  if (lane < 16) o[8] = __shfl_xor_sync(0x0000ffffu, lane, 1);
  else o[8] = __shfl_xor_sync(0xffff0000u, lane, 2);
  o[9] = (unsigned)__double_as_longlong(__shfl_sync(all, (double)lane, 7)) + (unsigned)__shfl_sync(all, (double)lane, 7);
  __syncwarp();
})";
  std::vector<std::uint32_t> out(64 * 10);
  EXPECT_RUNS(launch(source, "warp", shape({1, 1, 1}, {64, 1, 1}), out.data()));
  for (unsigned thread = 0; thread < 64; ++thread) {
    const unsigned lane = thread % 32;
    const std::uint32_t* o = &out[thread * 10];
    EXPECT_EQ(o[0], (lane / 8 * 8 + 5) * 3);
    EXPECT_EQ(o[1], lane % 16 < 3 ? lane : lane - 3);
    EXPECT_EQ(o[2], lane % 4 < 2 ? lane + 2 : lane);
    EXPECT_EQ(o[3], lane ^ 9);
    EXPECT_EQ(o[4], 0x49249249u);
    EXPECT_EQ(o[5], 2u);
    EXPECT_EQ(o[6], 0xffu << (lane / 8 * 8));
    EXPECT_EQ(o[7], 496u);
    EXPECT_EQ(o[8], lane < 16 ? lane ^ 1 : lane ^ 2);
    EXPECT_EQ(o[9], 7u);
  }
}

TEST(Kernel, AtomicsHistogram) {
  const std::string source = R"(
__global__ void histogram(unsigned* bins, const unsigned char* data, int n, float* sum, int* largest) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&local[data[i]], 1u);
    atomicAdd(sum, 1.0f);
    atomicMax(largest, (int)data[i]);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
})";
  const int n = 20000;
  std::vector<std::uint8_t> data(n);
  for (int i = 0; i < n; ++i) data[i] = static_cast<std::uint8_t>((i * 7 + i / 13) % 251);
  std::vector<std::uint32_t> bins(256), expected(256);
  for (const std::uint8_t value : data) ++expected[value];
  float sum = 0;
  int largest = -1;
  EXPECT_RUNS(launch(source, "histogram", shape({9, 1, 1}, {64, 1, 1}), bins.data(), data.data(), n, &sum, &largest));
  EXPECT_EQ(bins, expected);
  EXPECT_EQ(sum, static_cast<float>(n));
  EXPECT_EQ(largest, 250);
}

TEST(Kernel, BarrierCounts) {
  const std::string source = R"(
__global__ void votes(int* out) {
  const int t = threadIdx.x;
  if (t >= 90) return;  // a thread that has left is not waited for
  const int count = __syncthreads_count(t % 2);
  const int all = __syncthreads_and(t < 90), any = __syncthreads_or(t == 77), none = __syncthreads_or(0);
  out[t] = count * 1000 + all * 100 + any * 10 + none;
})";
  std::vector<int> out(96, -1);
  EXPECT_RUNS(launch(source, "votes", shape({1, 1, 1}, {96, 1, 1}), out.data()));
  for (int t = 0; t < 96; ++t) EXPECT_EQ(out[t], t < 90 ? 45110 : -1);
}

TEST(Kernel, IndicesInThreeDimensions) {
  const std::string source = R"(
__global__ void indices(int* out) {
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  dim3 size = blockDim;
  __syncthreads();
  out[block * (size.x * size.y * size.z) + thread] = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * block;
})";
  std::vector<int> out(2 * 3 * 4 * 24, -1);
  EXPECT_RUNS(launch(source, "indices", shape({2, 3, 4}, {4, 3, 2}), out.data()));
  for (int block = 0; block < 24; ++block) {
    for (int t = 0; t < 24; ++t) {
      EXPECT_EQ(out[block * 24 + t], t % 4 + 10 * (t / 4 % 3) + 100 * (t / 12) + 1000 * block);
    }
  }
}

// A thread waits for a later one of its block, and a block for the one before it.
TEST(Kernel, SpinningThreadsLetOthersRun) {
  const std::string source = R"(
__global__ void chain(int* flags, int* order, volatile int* ready) {
  __shared__ volatile int last;
  if (threadIdx.x == 0) last = 0;
  __syncthreads();
  if (threadIdx.x == 31) last = 1;
  while (!last) ;
  if (threadIdx.x == 0) {
    if (blockIdx.x > 0) while (atomicAdd(&flags[blockIdx.x - 1], 0) == 0) {}
    order[blockIdx.x] = blockIdx.x == 0 ? 1 : order[blockIdx.x - 1] + 1;
    __threadfence();
    atomicExch(&flags[blockIdx.x], 1);
  }
})";
  std::vector<int> flags(40), order(40);
  int ready = 0;
  EXPECT_RUNS(launch(source, "chain", shape({40, 1, 1}, {64, 1, 1}), flags.data(), order.data(), &ready));
  for (int block = 0; block < 40; ++block) EXPECT_EQ(order[block], block + 1);
}

TEST(Kernel, HalfTemplate) {
  const std::string source = R"(
#include <cuda_fp16.h>
template <typename T>
__global__ void axpy(T* y, const T* x, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<T>(a * static_cast<float>(x[i]) + static_cast<float>(y[i]));
})";
  const int n = 300;
  std::vector<std::uint16_t> x(n), y(n), expected(n);
  for (int i = 0; i < n; ++i) {
    store_from_double(DType::f16, 0.37 * i - 50, &x[i]);
    store_from_double(DType::f16, 1.0 / (i + 1), &y[i]);
    const float a = 1.25f, sum = a * static_cast<float>(load_as_double(DType::f16, &x[i])) +
                                 static_cast<float>(load_as_double(DType::f16, &y[i]));
    store_from_double(DType::f16, sum, &expected[i]);
  }
  EXPECT_RUNS(launch(source, "axpy<__half>", shape({3, 1, 1}, {128, 1, 1}), y.data(), x.data(), 1.25f, n));
  EXPECT_EQ(y, expected);
}

TEST(Kernel, VectorTypesAndStructsByValue) {
  const std::string source = R"(
struct Scale { float factor; int offset; };
__global__ void scale(float4* out, const float4* in, Scale s) {
  float4 v = __ldg(&in[threadIdx.x]);
  v.x *= s.factor; v.w += s.offset;
  out[threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);
})";
  struct Scale {
    float factor;
    int offset;
  };
  alignas(16) std::array<float, 16> in{}, out{};
  std::iota(in.begin(), in.end(), 0.0f);
  EXPECT_RUNS(launch(source, "scale", shape({1, 1, 1}, {4, 1, 1}), out.data(), static_cast<const float*>(in.data()), Scale{2.0f, 100}));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(out[4 * i], in[4 * i + 3] + 100);
    EXPECT_EQ(out[4 * i + 3], in[4 * i] * 2);
  }
}

TEST(Kernel, SharedInAHelperTemplateIsPerInstantiation) {
  const std::string source = R"(
template <int N> __device__ int rotate(int x) {
  static __shared__ __align__(16) int slots[N];
  slots[threadIdx.x] = x;
  __syncthreads();
  return slots[(threadIdx.x + 1) % N];
}
__global__ void both(int* out) { out[threadIdx.x] = rotate<32>(threadIdx.x) * 100 + rotate<33>(threadIdx.x); })";
  std::vector<int> out(32, -1);
  EXPECT_RUNS(launch(source, "both", shape({1, 1, 1}, {32, 1, 1}), out.data()));
  for (int t = 0; t < 31; ++t) EXPECT_EQ(out[t], (t + 1) * 100 + t + 1);
}

}  // namespace
}  // namespace tunebook::test
