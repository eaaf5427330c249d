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

void KernelSlot::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !current()->about->pending; });
}

}  // namespace tunebook
