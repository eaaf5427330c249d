#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <cuda_runtime_api.h>

#include "cuda/device_memory.h"
#include "cuda/problem_buffers.h"
#include "worker/message.h"

namespace tunebook {

// Takes times with events on one stream.
//
// cold/1: before each launch a buffer of twice the L2 is read, outside the window (a memset would leave dirty lines, whose
// write-back costs the timed kernel 2-9 us). One launch per sample; nothing is subtracted, so an empty kernel takes about 3 us.
// warm/1: launches back to back; samples of short kernels are batches. The host queues while the stream is held, so that launch
// latency is not what is measured.
// Kernels with inout arguments get them anew before each launch, outside the window, so their samples are single launches.
class Sampler {
 public:
  // Allocates the flush buffer. Throws CudaError.
  Sampler(std::int64_t l2_bytes, cudaStream_t stream);

  // Queues one sample of each candidate in the order given and synchronises once; us per launch of all of the candidate's
  // kernels, in the same order. Throws CudaError.
  struct Candidate {
    ProblemBuffers* problem;
    const PreparedLaunches* launches;
    std::int64_t launches_per_sample = 1;
    bool restore = false;
  };
  std::vector<double> sample(const std::vector<Candidate>& order, CacheMode cache);

  // Launches per sample that make a warm sample long enough for the resolution of events; one launch is timed to know.
  std::int64_t launches_per_sample(const Candidate& candidate, CacheMode cache);

  // Adaptive: batches of samples until the median's 95 % interval is narrow enough, or a limit of the plan is reached, or (from
  // min_samples on) the interval lies above plan.abandon_above_us. `stage` is called before each batch.
  Timing measure(Candidate candidate, const TimingPlan& plan, const std::function<void()>& stage);

 private:
  void queue_sample(const Candidate& candidate, CacheMode cache, std::size_t event);
  void ensure_events(std::size_t count);

  cudaStream_t stream_;
  std::uint64_t flush_bytes_;
  DeviceMemory flush_;
  DeviceMemory sink_;
  std::vector<Event> events_;
};

// "cold/1": cache mode and the version of the measuring code.
const char* method_name(CacheMode cache);

}  // namespace tunebook
