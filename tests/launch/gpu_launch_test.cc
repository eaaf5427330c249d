// Launches on a GPU; skips where there is none.

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "launcher_fixture.h"
#include "tunebook/cuda_device.h"
#include "tunebook/launch.h"

namespace tunebook::testing {
namespace {

// c[i] = a[0] * b[0] + m + BM + PAD in the first block's threads: the result says which configuration ran.
class GpuLaunchTest : public LauncherTest {
 protected:
  void SetUp() override {
    LauncherTest::SetUp();
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU";
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory_), 1024 * sizeof(float)), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    const float two[2] = {2, 3};
    ASSERT_EQ(cudaMemcpy(memory_, two, sizeof two, cudaMemcpyHostToDevice), cudaSuccess);
  }
  void TearDown() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
    if (memory_ != nullptr) cudaFree(memory_);
    LauncherTest::TearDown();
  }
  void tune_here(const Configuration& configuration) {
    cudaDeviceProp properties = {};
    ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
    TrialContext tuned = context();
    const DeviceKey key = device_key(properties);
    tuned.device.name = key.name;
    tuned.device.compute_capability = key.compute_capability;
    tuned.device.sm_count = key.sm_count;
    tuned.device.memory_gib = key.memory_gib;
    tuned.device.limits.shared_bytes_per_block_optin = key.shared_bytes_per_block_optin;
    Store store(file());
    add_finished_session(store, tuned, matmul_problem(128, 64, 64), configuration, 10);
  }
  float result(const Kernel& kernel) {
    float* const c = memory_ + 2;
    kernel(stream_, c, memory_, memory_ + 1, std::int64_t{128});
    float value = 0;
    EXPECT_EQ(cudaMemcpyAsync(&value, c, sizeof value, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    return value;
  }

  float* memory_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

TEST_F(GpuLaunchTest, TheTunedKernelRunsOnTheGivenStream) {
  tune_here(tile(32, true));
  Launcher launcher(options());
  const Kernel kernel = launcher.get("matmul", problem(128));
  EXPECT_EQ(kernel.state()->tier, Tier::exact) << kernel.note();
  EXPECT_EQ(result(kernel), 6 + 128 + 32 + 1);
}

TEST_F(GpuLaunchTest, InTheBackgroundBothRun) {
  tune_here(tile(32, true));
  LaunchOptions chosen = options();
  chosen.background = true;
  Launcher launcher(chosen);
  const Kernel kernel = launcher.get("matmul", problem(128));
  const float first = result(kernel);
  EXPECT_TRUE(first == 6 + 128 + 16 || first == 6 + 128 + 32 + 1) << first;
  kernel.wait();
  EXPECT_EQ(result(kernel), 6 + 128 + 32 + 1);
}

TEST_F(GpuLaunchTest, MoreThan48KibOfDynamicSharedMemory) {
  std::string spec = kSpecText;
  spec.replace(spec.find("\"shared_bytes\": \"BM * BM * 4\""), 29, "\"shared_bytes\": \"BM * 2048\"");
  write_template(spec, "extern __shared__ float tile[];\ntile[BM * 512 - 1 - threadIdx.x] = 1;\n__syncthreads();\nc[threadIdx.x] = tile[BM * 512 - 1];");
  tune_here(tile(32, false));
  Launcher launcher(options());
  const Kernel kernel = launcher.get("matmul", problem(128));
  EXPECT_EQ(kernel.state()->launches.front().shared_bytes, 65536);
  EXPECT_EQ(kernel.state()->configuration, tile_values(32, false)) << kernel.note();
  EXPECT_EQ(result(kernel), 1);
}

TEST_F(GpuLaunchTest, ThreadsLaunchOneKernel) {
  Launcher launcher(options());
  const Kernel kernel = launcher.get("matmul", problem(128));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int launch = 0; launch < 100; ++launch) kernel(stream_, memory_ + 2, memory_, memory_ + 1, std::int64_t{128});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(result(kernel), 6 + 128 + 16);
}

TEST_F(GpuLaunchTest, LaunchesCanBeCapturedInAGraph) {
  Launcher launcher(options());
  const Kernel kernel = launcher.get("matmul", problem(128));
  cudaStream_t captured = nullptr;
  ASSERT_EQ(cudaStreamCreate(&captured), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(captured, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  cudaGraph_t graph = nullptr;
  kernel(captured, memory_ + 2, memory_, memory_ + 1, std::int64_t{128});
  ASSERT_EQ(cudaStreamEndCapture(captured, &graph), cudaSuccess);
  std::size_t nodes = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 1U);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(captured);
}

// The library's are workspaces, the number of a launch, and which kernels run how often.
TEST_F(GpuLaunchTest, SeveralKernelsWithWorkspaces) {
  constexpr std::int64_t kCount = 1000, kSteps = 5;
  LaunchOptions chosen = options();
  chosen.templates = {TUNEBOOK_SOURCE_DIR "/tests/data/user_kernels"};
  Launcher launcher(chosen);
  const Kernel kernel = launcher.get("smooth", {{"n", kCount}, {"steps", kSteps}});
  ASSERT_EQ(kernel.state()->launches.size(), static_cast<std::size_t>(kSteps) + 1) << kernel.note();
  std::vector<float> x(kCount), y(kCount);
  for (std::int64_t i = 0; i < kCount; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i % 7) - 3;
  std::vector<double> expected(x.begin(), x.end());
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const std::vector<double> old = expected;
    for (std::size_t i = 0; i < old.size(); ++i) {
      expected[i] = ((i == 0 ? 0 : old[i - 1]) + old[i] + (i + 1 == old.size() ? 0 : old[i + 1])) / 3;
    }
  }
  float* in = nullptr;
  float* out = nullptr;
  double* sum = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&in), kCount * sizeof(float)), cudaSuccess);
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&out), kCount * sizeof(float)), cudaSuccess);
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&sum), sizeof(double)), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(in, x.data(), kCount * sizeof(float), cudaMemcpyHostToDevice), cudaSuccess);
  for (int round = 0; round < 3; ++round) kernel(stream_, out, sum, in, kCount, kSteps);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  double total = 0, expected_total = 0;
  ASSERT_EQ(cudaMemcpy(y.data(), out, kCount * sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(&total, sum, sizeof total, cudaMemcpyDeviceToHost), cudaSuccess);
  for (std::size_t i = 0; i < y.size(); ++i) {
    ASSERT_NEAR(y[i], expected[i], 1e-5) << i;
    expected_total += expected[i];
  }
  EXPECT_NEAR(total, expected_total, 1e-2);
  cudaFree(in);
  cudaFree(out);
  cudaFree(sum);
}

TEST_F(GpuLaunchTest, EachDeviceHasItsLauncher) {
  int devices = 0;
  cudaGetDeviceCount(&devices);
  if (devices < 2) GTEST_SKIP() << "one GPU";
  LaunchOptions second = options();
  second.device = 1;
  Launcher launcher(second);
  const Kernel kernel = launcher.get("matmul", problem(128));  // while device 0 is current
  int current = -1;
  cudaGetDevice(&current);
  EXPECT_EQ(current, 0);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  float* there = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&there), 1024 * sizeof(float)), cudaSuccess);
  ASSERT_EQ(cudaMemset(there, 0, 1024 * sizeof(float)), cudaSuccess);
  kernel(nullptr, there + 2, there, there + 1, std::int64_t{128});
  float value = 0;
  EXPECT_EQ(cudaMemcpy(&value, there + 2, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(value, 128 + 16);
  cudaFree(there);
  cudaSetDevice(0);
}

}  // namespace
}  // namespace tunebook::testing
