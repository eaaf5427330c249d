#include "cpu/grid_runner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include <time.h>

namespace tunebook {
namespace {

double thread_cpu_us() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

// A thread takes several blocks at once only of grids with so many that it makes no difference to the balance.
constexpr std::uint64_t kPiecesPerThread = 256;
constexpr std::uint64_t kMaxPiece = 64;

// Outlives run_grid if a thread is stuck.
struct Progress {
  GridLaunch launch;
  std::uint64_t blocks = 0;
  std::uint64_t piece = 1;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  LaunchResult result;

  // False if the kernel failed here first.
  bool run_blocks(BlockRunner& runner) {
    runner.begin(launch);
    while (!failed.load(std::memory_order_relaxed)) {
      const std::uint64_t begin = next.fetch_add(piece, std::memory_order_relaxed);
      if (begin >= blocks) return true;
      for (std::uint64_t block = begin; block < std::min(begin + piece, blocks); ++block) {
        if (!runner.run_block(block)) return false;
      }
    }
    return true;
  }
};

}  // namespace

LaunchResult run_grid(WorkerThreads& threads, const GridLaunch& launch) {
  const auto progress = std::make_shared<Progress>();
  progress->launch = launch;
  const auto& grid = launch.shape.grid;
  progress->blocks =
      static_cast<std::uint64_t>(grid[0]) * static_cast<std::uint64_t>(grid[1]) * static_cast<std::uint64_t>(grid[2]);
  progress->piece = std::clamp<std::uint64_t>(
      progress->blocks / (static_cast<std::uint64_t>(threads.count()) * kPiecesPerThread), 1, kMaxPiece);

  const auto started = std::chrono::steady_clock::now();
  const bool all_back = threads.run([&threads, progress](int) {
    const double before = thread_cpu_us();
    BlockRunner& runner = *BlockRunner::current();
    const bool fine = progress->run_blocks(runner);
    const double used = thread_cpu_us() - before;
    const std::lock_guard lock(progress->mutex);
    LaunchResult& result = progress->result;
    result.total_cpu_us += used;
    if (!fine && !result.failure) {
      result.failure = runner.failure();
      progress->failed = true;
      threads.give_up();
    }
  });
  const std::lock_guard lock(progress->mutex);
  LaunchResult result = progress->result;
  result.wall_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - started).count();
  const std::uint64_t rounds = (progress->blocks + static_cast<std::uint64_t>(threads.count()) - 1) /
                               static_cast<std::uint64_t>(threads.count());
  if (progress->blocks != 0)
    result.time_us = result.total_cpu_us * static_cast<double>(rounds) / static_cast<double>(progress->blocks);
  result.stuck = !all_back;
  return result;
}

}  // namespace tunebook
