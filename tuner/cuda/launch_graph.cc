#include "cuda/launch_graph.h"

#include <utility>

#include "cuda/cuda_error.h"

namespace tunebook {
namespace {

// A captured graph, which is needed no longer once it is instantiated.
class CapturedGraph {
 public:
  CapturedGraph(cudaStream_t stream, const std::function<void()>& queue) {
    // Only this thread's calls are restricted: no other touches the device.
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing launches");
    try {
      queue();
    } catch (...) {
      // The stream must leave capture mode, whatever became of the graph; the launch that failed is what is reported.
      cudaStreamEndCapture(stream, &graph_);
      cudaGetLastError();
      destroy();
      throw;
    }
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph_);
    if (ended != cudaSuccess) destroy();
    check_cuda(ended, "capturing launches");
  }
  ~CapturedGraph() { destroy(); }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  cudaGraph_t get() const { return graph_; }

 private:
  void destroy() noexcept {
    if (graph_ != nullptr) TUNEBOOK_REPORT_CUDA(cudaGraphDestroy(std::exchange(graph_, nullptr)));
  }

  cudaGraph_t graph_ = nullptr;
};

}  // namespace

LaunchGraph::LaunchGraph(cudaStream_t stream, const std::function<void()>& queue) {
  const CapturedGraph graph(stream, queue);
  check_cuda(cudaGraphInstantiateWithFlags(&executable_, graph.get(), 0), "making a graph of launches");
  const cudaError_t uploaded = cudaGraphUpload(executable_, stream);
  if (uploaded != cudaSuccess) {
    TUNEBOOK_REPORT_CUDA(cudaGraphExecDestroy(std::exchange(executable_, nullptr)));
    check_cuda(uploaded, "uploading a graph of launches");
  }
}

LaunchGraph::~LaunchGraph() {
  if (executable_ != nullptr) TUNEBOOK_REPORT_CUDA(cudaGraphExecDestroy(executable_));
}

LaunchGraph::LaunchGraph(LaunchGraph&& other) noexcept : executable_(std::exchange(other.executable_, nullptr)) {}

LaunchGraph& LaunchGraph::operator=(LaunchGraph&& other) noexcept {
  std::swap(executable_, other.executable_);
  return *this;
}

void LaunchGraph::launch(cudaStream_t stream) const { check_cuda(cudaGraphLaunch(executable_, stream), "timing"); }

}  // namespace tunebook
