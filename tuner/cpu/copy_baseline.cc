#include "cpu/copy_baseline.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <time.h>

#include "core/dtype.h"

namespace tunebook {
namespace {

constexpr std::size_t kGranule = 64;  // bytes of a thread's share: whole cache lines
constexpr double kLeastUs = 1e-3;     // shorter than the clock can tell is no time

double thread_cpu_us() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

}  // namespace

CopyBaseline::CopyBaseline(const BaselineLaunch& launch, ProblemBuffers& problem) {
  const std::vector<ArgumentSetup>& arguments = problem.setup().arguments;
  if (launch.operation != "copy" || launch.arguments.size() != 2) throw std::runtime_error("the baseline is no copy");
  std::array<std::size_t, 2> bytes{};
  std::array<void*, 2> pointers{};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto place = static_cast<std::size_t>(launch.arguments[i]);
    if (place >= arguments.size() || !arguments[place].pointer) throw std::runtime_error("the baseline copies what is no buffer");
    bytes[i] = static_cast<std::size_t>(arguments[place].count) * dtype_size(arguments[place].dtype);
    // A launch's argument is the address of the pointer.
    pointers[i] = *static_cast<void**>(problem.arguments()[place]);
  }
  target_ = static_cast<std::byte*>(pointers[0]);
  source_ = static_cast<const std::byte*>(pointers[1]);
  bytes_ = std::min(bytes[0], bytes[1]);
}

double CopyBaseline::run(WorkerThreads& threads) const {
  const auto workers = static_cast<std::size_t>(threads.count());
  const std::size_t share = (bytes_ / workers + kGranule) / kGranule * kGranule;
  std::vector<double> used(workers);
  threads.run([&](int worker) {
    const std::size_t first = std::min(static_cast<std::size_t>(worker) * share, bytes_);
    const double before = thread_cpu_us();
    std::memcpy(target_ + first, source_ + first, std::min(share, bytes_ - first));
    used[static_cast<std::size_t>(worker)] = thread_cpu_us() - before;
  });
  return std::max(std::accumulate(used.begin(), used.end(), 0.0) / static_cast<double>(workers), kLeastUs);
}

}  // namespace tunebook
