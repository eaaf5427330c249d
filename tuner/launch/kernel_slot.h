#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "launch/argument_rules.h"
#include "launch/launch_device.h"
#include "tunebook/launch.h"

namespace tunebook {

// What a launch runs.
struct KernelState {
  std::shared_ptr<const CompiledKernel> about;
  std::shared_ptr<const LoadedLaunch> loaded;
};

// Lends the arguments of one of the application's launches to whoever waits for them.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  // Called before the launch is queued, by one thread at a time. False: this launch will not do, the next one may.
  virtual bool before_launch(void** addresses, CUstream_st* stream) noexcept = 0;
};

// The state behind the handles of one kernel and problem. Launches read the current state by one atomic load; states that were
// replaced are kept until the slot goes, because a launch may still be using them (there is one more whenever the book has another
// answer, so few).
class KernelSlot {
 public:
  explicit KernelSlot(ArgumentRules rules) : rules_(std::move(rules)) {}

  // A number for the next choice made for this slot: what was chosen earlier is not installed after it.
  std::uint64_t begin() { return ++newest_; }
  // Makes `state` the current one, unless a later choice was begun.
  void install(KernelState state, std::uint64_t number);

  // Null before the first install().
  const KernelState* current() const { return current_.load(std::memory_order_acquire); }
  void launch(CUstream_st* stream, void** addresses, const ArgumentShape* shapes, std::size_t count) const {
    rules_.check(shapes, count);
    if (observer_.load(std::memory_order_relaxed) != nullptr) lend(addresses, stream);
    current()->loaded->launch(addresses, stream);
  }
  // The next launch that will do lends its arguments to `observer`, which is kept until another one comes.
  void watch(std::shared_ptr<LaunchObserver> observer);
  // Waits until the current state is not pending.
  void wait() const;

 private:
  void lend(void** addresses, CUstream_st* stream) const;

  const ArgumentRules rules_;
  std::atomic<const KernelState*> current_{nullptr};
  std::atomic<std::uint64_t> newest_{0};
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::unique_ptr<const KernelState>> states_;
  mutable std::atomic<LaunchObserver*> observer_{nullptr};  // whose turn it is
  std::shared_ptr<LaunchObserver> watching_;                // owns it
};

}  // namespace tunebook
