#include "launch/kernel_slot.h"

#include <utility>

namespace tunebook {

void KernelSlot::install(KernelState state, std::uint64_t number) {
  auto owned = std::make_unique<const KernelState>(std::move(state));
  {
    const std::lock_guard lock(mutex_);
    if (number < newest_) return;
    current_.store(owned.get(), std::memory_order_release);
    states_.push_back(std::move(owned));
  }
  changed_.notify_all();
}

void KernelSlot::watch(std::shared_ptr<LaunchObserver> observer) {
  const std::lock_guard lock(mutex_);
  observer_.store(observer.get(), std::memory_order_release);
  watching_ = std::move(observer);
}

// Whoever takes the observer out is the only one to call it.
void KernelSlot::lend(void** addresses, CUstream_st* stream) const {
  std::shared_ptr<LaunchObserver> observer;
  {
    const std::lock_guard lock(mutex_);
    if (observer_.exchange(nullptr, std::memory_order_acq_rel) == nullptr) return;
    observer = watching_;
  }
  if (observer->before_launch(addresses, stream)) return;
  const std::lock_guard lock(mutex_);
  if (watching_ == observer) observer_.store(observer.get(), std::memory_order_release);
}

void KernelSlot::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !current()->about->pending; });
}

}  // namespace tunebook
