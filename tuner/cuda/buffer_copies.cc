#include "cuda/buffer_copies.h"

#include <algorithm>
#include <utility>

namespace tunebook {
namespace {

// Payloads keep this distance and alignment. A copy behaves like the buffers of the first run, which have guard bands of the same size.
constexpr std::size_t kAlignment = kGuardBytes;

std::size_t rounded_up(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::size_t copy_bytes(const std::vector<BufferCopies::Source>& sources) {
  std::size_t bytes = kAlignment;
  for (const BufferCopies::Source& source : sources) bytes += rounded_up(source.bytes) + kAlignment;
  return bytes;
}

}  // namespace

std::int64_t BufferCopies::ensure(std::int64_t wanted, const std::vector<Source>& sources, cudaStream_t stream) {
  if (!budget_known_) {
    std::size_t free_bytes = 0, total_bytes = 0;
    check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free memory");
    budget_bytes_ = static_cast<std::size_t>(kMostOfFreeMemory * static_cast<double>(free_bytes));
    budget_known_ = true;
  }
  while (std::cmp_less(copies_.size(), wanted) && add(sources)) {
  }
  for (; filled_ < copies_.size(); ++filled_) fill(copies_[filled_], sources, stream);
  return static_cast<std::int64_t>(copies_.size());
}

bool BufferCopies::add(const std::vector<Source>& sources) {
  const std::size_t bytes = copy_bytes(sources);
  if (bytes > budget_bytes_) return false;
  Copy copy;
  try {
    copy.memory = DeviceMemory(bytes);
  } catch (const CudaError& error) {
    if (error.outcome() != Outcome::out_of_memory) throw;
    budget_bytes_ = 0;
    return false;
  }
  budget_bytes_ -= bytes;
  auto* next = static_cast<unsigned char*>(copy.memory.get()) + kAlignment;
  for (const Source& source : sources) {
    copy.addresses.push_back(next);
    next += rounded_up(source.bytes) + kAlignment;
  }
  copies_.push_back(std::move(copy));
  return true;
}

void BufferCopies::fill(const Copy& copy, const std::vector<Source>& sources, cudaStream_t stream) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Source& source = sources[i];
    check_cuda(source.contents != nullptr
                   ? cudaMemcpyAsync(copy.addresses[i], source.contents, source.bytes, cudaMemcpyDeviceToDevice, stream)
                   : cudaMemsetAsync(copy.addresses[i], 0, source.bytes, stream),
               "copying buffers");
  }
}

}  // namespace tunebook
