// What Tunebook adds to a launch on the host, without a GPU: asking for a known problem, and everything of a launch before the CUDA
// runtime is called. bench_launch TEMPLATES: a folder with the bundled matmul.

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include <stdlib.h>  // setenv
#include <unistd.h>

#include <benchmark/benchmark.h>

#include "../launch/fake_parts.h"
#include "launch/launcher_core.h"

namespace {

using namespace tunebook;

// Takes every kernel and does nothing.
class IdleDevice : public LaunchDevice {
 public:
  explicit IdleDevice(Device device) : device_(std::move(device)) {}
  const Device& device() const override { return device_; }
  const std::string& native_arch() const override { return native_arch_; }
  std::shared_ptr<const LoadedLaunch> load(const std::string&, const LaunchRecipe&) override {
    return std::make_shared<Loaded>();
  }
  // Refining is off here: nothing is copied.
  std::unique_ptr<LaunchCopies> copy_arguments(const CopyPlan&, void**, CUstream_st*) override {
    return nullptr;
  }

 private:
  class Loaded : public LoadedLaunch {
    void launch(void** arguments, CUstream_st* stream) const override {
      benchmark::DoNotOptimize(arguments);
      benchmark::DoNotOptimize(stream);
    }
  };
  Device device_;
  std::string native_arch_ = "sm_90";
};

std::unique_ptr<LauncherCore> core;
const LookupValues kProblem = {{"m", std::int64_t{4096}}, {"n", std::int64_t{4096}}, {"k", std::int64_t{4096}}, {"dtype", std::string("f32")}};

void get_known(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(core->get("matmul", kProblem));
}
BENCHMARK(get_known)->ThreadRange(1, 2);

void launch(benchmark::State& state) {
  const Kernel kernel(core->get("matmul", kProblem));
  float* c = nullptr;
  const float *a = nullptr, *b = nullptr;
  const std::int64_t m = 4096, n = 4096, k = 4096;
  for (auto _ : state) kernel(nullptr, c, a, b, m, n, k);
}
BENCHMARK(launch)->ThreadRange(1, 2);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::cerr << "usage: bench_launch [--benchmark_...] TEMPLATES\n";
    return 2;
  }
  testing::FakeWorld world;
  world.folder = std::filesystem::temp_directory_path() / ("tunebook-bench-launch-" + std::to_string(::getpid()));
  std::filesystem::create_directories(world.folder);
  ::setenv("TUNEBOOK_CACHE", (world.folder / "cache").c_str(), 1);
  LaunchOptions options;
  options.templates = {argv[1]};
  core = std::make_unique<LauncherCore>(options, std::make_unique<IdleDevice>(KernelSpec::generic_device()), testing::fake_compiler(world));
  benchmark::RunSpecifiedBenchmarks();
  core.reset();
  std::filesystem::remove_all(world.folder);
  return 0;
}
