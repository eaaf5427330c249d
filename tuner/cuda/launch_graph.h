#pragma once

#include <functional>

#include <cuda_runtime_api.h>

namespace tunebook {

// A sequence of launches as one executable graph, owned, move-only: the GPU goes from one to the next without the host.
class LaunchGraph {
 public:
  LaunchGraph() = default;
  // Captures what `queue` puts on `stream`, instantiates and uploads it. Whatever is launched must have been launched before (lazy
  // loading cannot be captured). Throws what `queue` throws, and CudaError.
  LaunchGraph(cudaStream_t stream, const std::function<void()>& queue);
  ~LaunchGraph();
  LaunchGraph(LaunchGraph&& other) noexcept;
  LaunchGraph& operator=(LaunchGraph&& other) noexcept;

  explicit operator bool() const { return executable_ != nullptr; }
  // Queues one replay. Throws CudaError.
  void launch(cudaStream_t stream) const;

 private:
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace tunebook
