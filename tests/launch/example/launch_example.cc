// Multiplies matrices of 20 shapes with whatever the book says is best for each, checks elements of the results against the host, and
// measures what a launch through Tunebook costs over a bare one of the same kernel.
//
//   launch_example TEMPLATES [BOOK] [--background]
//
// Exit code 0: all is right; 1: an error or a wrong element; 77: no GPU.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <cuda_runtime_api.h>

#include <tunebook/launch.h>

namespace {

using Clock = std::chrono::steady_clock;

struct Shape {
  std::int64_t m, n, k;
};
constexpr Shape kShapes[] = {{512, 512, 512},   {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096}, {1, 4096, 4096},
                             {16, 4096, 4096},  {64, 4096, 4096},   {4096, 64, 4096},   {256, 256, 4096},   {4096, 4096, 64},
                             {1000, 1000, 1000}, {4095, 4097, 1021}, {128, 2752, 4096}, {1, 1, 1},          {3, 5, 7},
                             {33, 17, 65},      {129, 127, 67},     {1, 260, 4},        {67, 132, 36},      {256, 128, 64}};

void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
  std::exit(1);
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Elements between -1 and 1, from a small generator.
std::vector<float> some_elements(std::int64_t count, std::uint64_t seed) {
  std::vector<float> elements(static_cast<std::size_t>(count));
  std::uint64_t state = seed;
  for (float& element : elements) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    element = static_cast<float>(static_cast<double>(state >> 40) / (1 << 23) - 1);
  }
  return elements;
}

class Matrix {
 public:
  explicit Matrix(const std::vector<float>& elements) : bytes_(elements.size() * sizeof(float)) {
    check(cudaMalloc(reinterpret_cast<void**>(&device_), bytes_), "cudaMalloc");
    check(cudaMemcpy(device_, elements.data(), bytes_, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~Matrix() { cudaFree(device_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  float* get() const { return device_; }
  std::vector<float> to_host() const {
    std::vector<float> elements(bytes_ / sizeof(float));
    check(cudaMemcpy(elements.data(), device_, bytes_, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return elements;
  }

 private:
  std::size_t bytes_;
  float* device_ = nullptr;
};

// The bare launch to compare with: the same cubin by the runtime's own calls.
class BareKernel {
 public:
  explicit BareKernel(const tunebook::Cubin& cubin) : image_(cubin.bytes) {
    check(cudaLibraryLoadData(&library_, image_.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), "cudaLibraryLoadData");
    check(cudaLibraryGetKernel(&kernel_, library_, cubin.about.symbol.c_str()), "cudaLibraryGetKernel");
    const auto size = [](const std::array<std::int64_t, 3>& extent) {
      return dim3{static_cast<unsigned>(extent[0]), static_cast<unsigned>(extent[1]), static_cast<unsigned>(extent[2])};
    };
    config_.gridDim = size(cubin.about.launches.front().grid);
    config_.blockDim = size(cubin.about.launches.front().block);
    config_.dynamicSmemBytes = static_cast<std::size_t>(cubin.about.launches.front().shared_bytes);
    if (cubin.about.launches.front().shared_bytes > 48 << 10) {
      check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel_), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(cubin.about.launches.front().shared_bytes)),
            "cudaFuncSetAttribute");
    }
  }
  ~BareKernel() { cudaLibraryUnload(library_); }
  BareKernel(const BareKernel&) = delete;
  BareKernel& operator=(const BareKernel&) = delete;
  void launch(cudaStream_t stream, void** arguments) {
    config_.stream = stream;
    check(cudaLaunchKernelExC(&config_, reinterpret_cast<const void*>(kernel_), arguments), "cudaLaunchKernelExC");
  }

 private:
  std::string image_;
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
  cudaLaunchConfig_t config_ = {};
};

// Host time per call, us, of launches that are queued without waiting for them. The queue of a stream is finite (1,024 launches), and a
// host that runs into its end would measure the kernel: so few launches per round that they fit, and a synchronisation before each
// round. Fewer of long kernels, which would keep the GPU for minutes.
constexpr int kMostLaunches = 500;
constexpr int kLeastLaunches = 25;
constexpr double kRoundSeconds = 0.02;
constexpr int kRounds = 41;
template <class Launch>
double round_us(cudaStream_t stream, int launches, const Launch& launch) {
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  const auto start = Clock::now();
  for (int i = 0; i < launches; ++i) launch();
  return seconds_since(start) * 1e6 / launches;
}

struct Costs {
  double bare_us, tunebook_us, difference_us;  // medians; the last one of the differences within a round
};
// Both take turns, and who comes first alternates.
template <class Bare, class Tuned>
Costs compare(cudaStream_t stream, const Bare& bare, const Tuned& tuned) {
  std::vector<double> bare_us, tuned_us, difference_us;
  const auto once = Clock::now();
  round_us(stream, 1, bare);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  const int launches = static_cast<int>(std::clamp(kRoundSeconds / seconds_since(once), double{kLeastLaunches}, double{kMostLaunches}));
  round_us(stream, launches, tuned);
  for (int round = 0; round < kRounds; ++round) {
    const bool bare_first = round % 2 == 0;
    const double first = bare_first ? round_us(stream, launches, bare) : round_us(stream, launches, tuned);
    const double second = bare_first ? round_us(stream, launches, tuned) : round_us(stream, launches, bare);
    bare_us.push_back(bare_first ? first : second);
    tuned_us.push_back(bare_first ? second : first);
    difference_us.push_back(tuned_us.back() - bare_us.back());
  }
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return {median(bare_us), median(tuned_us), median(difference_us)};
}

// The largest error of some elements, as a share of what f32 arithmetic may give.
double error_share(const Shape& shape, const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& c) {
  double worst = 0;
  for (int sample = 0; sample < 16; ++sample) {
    const std::int64_t row = sample == 0 ? 0 : sample == 1 ? shape.m - 1 : sample * 7919 % shape.m;
    const std::int64_t column = sample == 0 ? 0 : sample == 1 ? shape.n - 1 : sample * 104729 % shape.n;
    double sum = 0, magnitude = 0;
    for (std::int64_t i = 0; i < shape.k; ++i) {
      const double product = static_cast<double>(a[static_cast<std::size_t>(row * shape.k + i)]) *
                             static_cast<double>(b[static_cast<std::size_t>(i * shape.n + column)]);
      sum += product;
      magnitude += std::abs(product);
    }
    const double allowed = static_cast<double>(shape.k + 1) * magnitude * std::ldexp(1, -24);
    const double error = std::abs(static_cast<double>(c[static_cast<std::size_t>(row * shape.n + column)]) - sum);
    if (!(error <= allowed)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, allowed == 0 ? 0 : error / allowed);
  }
  return worst;
}

// One line of the table; the difference of a launch, us. Throws what Tunebook throws.
double run_shape(tunebook::Launcher& launcher, const Shape& shape, cudaStream_t stream, bool& right) {
  const std::vector<float> a = some_elements(shape.m * shape.k, 1), b = some_elements(shape.k * shape.n, 2);
  const Matrix device_a(a), device_b(b), device_c(std::vector<float>(static_cast<std::size_t>(shape.m * shape.n), NAN));
  const tunebook::LookupValues problem = {{"m", shape.m}, {"n", shape.n}, {"k", shape.k}, {"dtype", std::string("f32")}};

  const auto start = Clock::now();
  const tunebook::Kernel matmul = launcher.get("matmul", problem);
  // As C is not read (beta = 0) any pointer does for it; the last two say that neither A nor B is kept transposed.
  const double alpha = 1, beta = 0;
  matmul(stream, device_c.get(), device_a.get(), device_b.get(), shape.m, shape.n, shape.k, alpha, beta, device_c.get(), 0, 0);
  const double first_ms = seconds_since(start) * 1e3;
  check(cudaStreamSynchronize(stream), "matmul");
  matmul.wait();
  const auto state = matmul.state();
  const double share = error_share(shape, a, b, device_c.to_host());
  right = right && share <= 1;

  constexpr int kGets = 1000;
  const auto getting = Clock::now();
  for (int i = 0; i < kGets; ++i) launcher.get("matmul", problem);
  const double get_us = seconds_since(getting) * 1e6 / kGets;

  BareKernel bare(launcher.cubin("matmul", problem));
  float *c = device_c.get(), *pa = device_a.get(), *pb = device_b.get();
  Shape sizes = shape;
  double bare_alpha = alpha, bare_beta = beta;
  int kept = 0;
  void* none = nullptr;  // workspaces: a configuration of one launch has none
  const Costs costs = compare(
      stream,
      [&] {
        void* arguments[] = {&c, &pa, &pb, &sizes.m, &sizes.n, &sizes.k, &bare_alpha, &bare_beta, &c, &kept, &kept, &none, &none};
        bare.launch(stream, arguments);
      },
      [&] { matmul(stream, c, pa, pb, sizes.m, sizes.n, sizes.k, alpha, beta, c, 0, 0); });
  std::printf("%5lld %5lld %5lld  %-17s %-6s %10.2f %8.3f %8.3f %8.3f %8.3f  %s\n", static_cast<long long>(shape.m),
              static_cast<long long>(shape.n), static_cast<long long>(shape.k), tunebook::tier_name(state->tier), state->cached ? "cache" : "new",
              first_ms, get_us, costs.bare_us, costs.tunebook_us, costs.difference_us, share <= 1 ? "right" : "WRONG");
  if (!state->note.empty()) std::printf("      note: %s\n", state->note.c_str());
  std::fflush(stdout);
  return costs.difference_us;
}

int run(const tunebook::LaunchOptions& options) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "no GPU: nothing to launch on\n");
    return 77;
  }
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaFree(nullptr), "creating the context");

  const auto opening = Clock::now();
  tunebook::Launcher launcher(options);
  std::printf("Launcher opened in %.2f ms\n", seconds_since(opening) * 1e3);
  std::printf("    m     n     k  match             cubin    first ms   get us  bare us  ours us  diff us\n");
  bool right = true;
  std::vector<double> differences;
  for (const Shape& shape : kShapes) differences.push_back(run_shape(launcher, shape, stream, right));
  std::printf("median difference of a launch over all shapes: %.3f us; largest: %.3f us\n", median(differences),
              *std::max_element(differences.begin(), differences.end()));
  check(cudaStreamDestroy(stream), "cudaStreamDestroy");
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  tunebook::LaunchOptions options;
  std::vector<std::string> positional;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--background") {
      options.background = true;
    } else {
      positional.emplace_back(argv[i]);
    }
  }
  if (positional.empty() || positional.size() > 2) {
    std::fprintf(stderr, "usage: launch_example TEMPLATES [BOOK] [--background]\n");
    return 1;
  }
  options.templates = {positional[0]};
  if (positional.size() == 2) options.book = positional[1];
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "launch_example: %s\n", error.what());
    return 1;
  }
}
