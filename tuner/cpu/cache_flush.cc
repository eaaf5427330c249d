#include "cpu/cache_flush.h"

#include <cstddef>

#include "cpu/cpu_device.h"

namespace tunebook {

CacheFlush::CacheFlush(WorkerThreads& threads) : threads_(threads), buffers_(static_cast<std::size_t>(threads.count())) {}

void CacheFlush::operator()() {
  threads_.run([this](int worker) {
    std::vector<std::uint64_t>& buffer = buffers_[static_cast<std::size_t>(worker)];
    if (buffer.empty()) buffer.resize(l2_cache_bytes() / sizeof(std::uint64_t), 1);
    std::uint64_t sum = 0;
    for (const std::uint64_t value : buffer) sum += value;
    volatile std::uint64_t sink = sum;
    (void)sink;
  });
}

}  // namespace tunebook
