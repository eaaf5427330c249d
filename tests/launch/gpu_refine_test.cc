// Refining on a GPU; skips where there is none.

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "launcher_fixture.h"
#include "launch/launch_device.h"

namespace tunebook::testing {
namespace {

// All of c is a[0] * b[0] + m, whatever the configuration, but that PAD makes it wrong; BM = 32 is the fast one.
constexpr const char* kBody = R"(
const long long threads = (long long)gridDim.x * gridDim.y * blockDim.x * blockDim.y;
const long long first = ((long long)blockIdx.y * gridDim.x + blockIdx.x) * (blockDim.x * blockDim.y) + threadIdx.y * blockDim.x + threadIdx.x;
for (long long i = first; i < m * 64; i += threads) c[i] = a[0] * b[0] + static_cast<T>(m + (PAD ? 5 : 0));
const long long until = clock64() + (BM == 32 ? 10000 : 300000);
while (clock64() < until) {
})";

class GpuRefineTest : public LauncherTest {
 protected:
  static constexpr std::int64_t kM = 160, kN = 64, kC = kM * kN, kA = kM * 64, kB = 64 * kN, kCanary = 1024;

  void SetUp() override {
    LauncherTest::SetUp();
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU";
    write_template(kSpecText, kBody);
    device_ = open_launch_device(0);
    TrialContext tuned = context();
    tuned.device = device_->device();
    Store store(file());
    add_finished_session(store, tuned, matmul_problem(128, 64, 64), tile(16, false), 10);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory_), kFloats * sizeof(float)), cudaSuccess);
    std::vector<float> all(kFloats, -7);
    for (std::int64_t i = 0; i < kA; ++i) a_of(all)[i] = static_cast<float>(2 + i);
    for (std::int64_t i = 0; i < kB; ++i) b_of(all)[i] = static_cast<float>(3 + i);
    ASSERT_EQ(cudaMemcpy(memory_, all.data(), kFloats * sizeof(float), cudaMemcpyHostToDevice), cudaSuccess);
  }
  void TearDown() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
    if (memory_ != nullptr) cudaFree(memory_);
    LauncherTest::TearDown();
  }

  std::unique_ptr<LauncherCore> refiner(std::int64_t bytes = std::int64_t{1} << 30) {
    LaunchOptions chosen = options();
    chosen.refine.candidates = 3;
    chosen.refine.bytes = bytes;
    chosen.refine.learned_file = (folder_ / "learned.jsonl").string();
    const auto ranked = [](const Query&, std::size_t) {
      std::vector<Answer> answers(3);
      answers[0].configuration = tile_values(16, false);
      answers[1].configuration = tile_values(32, true);
      answers[2].configuration = tile_values(32, false);
      for (Answer& answer : answers) answer.tier = Tier::predicted;
      return answers;
    };
    return std::make_unique<LauncherCore>(chosen, std::move(device_), nvrtc_in_process(), ranked);
  }
  void launch(const Kernel& kernel, cudaStream_t stream) { kernel(stream, memory_, a_of(*this), b_of(*this), kM); }
  void launch_until_refined(const Kernel& kernel) {
    for (int i = 0; i < 20000 && kernel.state()->refining; ++i) {
      launch(kernel, stream_);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    ASSERT_FALSE(kernel.state()->refining);
  }
  // The application's memory is what its own launches make of it.
  void expect_untouched() {
    std::vector<float> all(kFloats);
    ASSERT_EQ(cudaMemcpy(all.data(), memory_, kFloats * sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
    for (std::int64_t i = 0; i < kC; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)], 6 + kM) << i;
    for (std::int64_t i = 0; i < kA; ++i) ASSERT_EQ(a_of(all)[i], static_cast<float>(2 + i)) << i;
    for (std::int64_t i = 0; i < kB; ++i) ASSERT_EQ(b_of(all)[i], static_cast<float>(3 + i)) << i;
    for (std::int64_t i = kFloats - kCanary; i < kFloats; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)], -7) << i;
  }

  static constexpr std::int64_t kFloats = kC + kA + kB + kCanary;
  static float* a_of(std::vector<float>& all) { return all.data() + kC; }
  static float* b_of(std::vector<float>& all) { return all.data() + kC + kA; }
  static float* a_of(GpuRefineTest& test) { return test.memory_ + kC; }
  static float* b_of(GpuRefineTest& test) { return test.memory_ + kC + kA; }

  std::unique_ptr<LaunchDevice> device_;
  float* memory_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

TEST_F(GpuRefineTest, TheFastestRightOneIsLaunched) {
  const auto core = refiner();
  const Kernel kernel(core->get("matmul", problem(kM)));
  EXPECT_EQ(kernel.state()->configuration, tile_values(16, false)) << kernel.note();
  launch_until_refined(kernel);
  const auto state = kernel.state();
  EXPECT_EQ(state->configuration, tile_values(32, false)) << state->note;
  ASSERT_EQ(state->refined.size(), 3U) << state->note;
  EXPECT_EQ(state->refined[0].samples_us.size(), 7U);
  EXPECT_EQ(state->refined[1].outcome, "wrong_result");
  EXPECT_NE(state->refined[1].message.find("] is 171, but 166"), std::string::npos) << state->refined[1].message;
  EXPECT_LT(state->refined[2].median_us, state->refined[0].median_us);
  launch(kernel, stream_);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  expect_untouched();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  std::ifstream learned(folder_ / "learned.jsonl");
  int lines = 0;
  for (std::string line; std::getline(learned, line); ++lines) EXPECT_EQ(nlohmann::json::parse(line)["problem"]["m"], kM);
  EXPECT_EQ(lines, 3);
}

TEST_F(GpuRefineTest, OnTheDefaultStreamToo) {
  const auto core = refiner();
  const Kernel kernel(core->get("matmul", problem(kM)));
  for (int i = 0; i < 20000 && kernel.state()->refining; ++i) {
    launch(kernel, nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(kernel.state()->configuration, tile_values(32, false)) << kernel.note();
  expect_untouched();
}

TEST_F(GpuRefineTest, CapturesAreNotDisturbed) {
  const auto core = refiner();
  const Kernel kernel(core->get("matmul", problem(kM)));
  for (int i = 0; i < 200 && kernel.state()->refining; ++i) {
    ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
    launch(kernel, stream_);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    std::size_t nodes = 0;
    ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
    EXPECT_EQ(nodes, 1U);
    cudaGraphDestroy(graph);
  }
  EXPECT_TRUE(kernel.state()->refining) << kernel.note();  // no launch has run yet
  launch(kernel, stream_);
  for (int i = 0; i < 500 && kernel.state()->refining; ++i) {
    ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    cudaGraphDestroy(graph);
  }
  EXPECT_EQ(kernel.state()->configuration, tile_values(32, false)) << kernel.note();
  expect_untouched();
}

TEST_F(GpuRefineTest, TooLittleMemoryIsSaid) {
  const auto core = refiner(std::int64_t{1} << 20);
  const Kernel kernel(core->get("matmul", problem(kM)));
  launch_until_refined(kernel);
  EXPECT_NE(kernel.note().find("not refined: copies of the arguments take"), std::string::npos) << kernel.note();
  EXPECT_EQ(kernel.state()->configuration, tile_values(16, false));
}

TEST_F(GpuRefineTest, OverlappingBuffersAreNotCopied) {
  const auto core = refiner();
  const Kernel kernel(core->get("matmul", problem(kM)));
  for (int i = 0; i < 20000 && kernel.state()->refining; ++i) {
    kernel(stream_, memory_, memory_ + 1024, b_of(*this), kM);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_NE(kernel.note().find("the buffers of arguments c and a overlap"), std::string::npos) << kernel.note();
}

}  // namespace
}  // namespace tunebook::testing
