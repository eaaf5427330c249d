#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "cuda/batching.h"
#include "cuda/device_memory.h"
#include "cuda/launch_graph.h"
#include "cuda/nvml_device.h"
#include "cuda/problem_buffers.h"
#include "cuda/throttling.h"
#include "worker/message.h"

namespace tunebook {

// Takes times with events on one stream: the measuring code of version 2 (worker/method.h).
//
// One launch: in cold mode a buffer of twice the L2 is read before it, outside the window (a memset would leave dirty lines, whose
// write-back costs the timed kernel 2-9 us); in warm mode nothing is flushed. The host queues while the stream is held, so that its own
// pace is not what is measured.
// Batch: kernels that are short (batching.h) run as a graph of launches between two events. Cold: L2 is flushed before, and each launch
// works on a set of buffers of its own, so that all find their data outside of L2; sets that do not fit memory make the batch shorter, and
// with fewer than two it is one launch. Warm: all launches on the same buffers.
// Arguments that must be made anew before each launch (Candidate::restore) are so in each set, before the flush. In warm mode such
// kernels are timed by single launches: the restoring is what warms their data.
// Cost of a launch: an empty kernel timed in exactly the same way, once per process, mode and batch size, is subtracted, once per
// configuration and not per kernel of it: the launches between its kernels are its own cost. What is left is never below
// least_sample_us(), the resolution of events. Loading, capturing and a first replay precede all samples.
class Sampler {
 public:
  // Allocates the flush buffer. `nvml` may be null: then no conditions and no energy are known. Throws CudaError.
  Sampler(std::int64_t l2_bytes, cudaStream_t stream, const NvmlDevice* nvml = nullptr);

  struct Candidate {
    ProblemBuffers* problem = nullptr;
    const PreparedLaunches* launches = nullptr;
    bool restore = false;
    std::function<void(std::int64_t set)> baseline = {};  // instead of launches: no kernel of ours, and it decides nothing for the others
  };
  using Stage = std::function<void()>;

  // Adaptive: batches of samples until the median's 95 % interval is narrow enough, or a limit of the plan is reached, or (from
  // abandon_samples on) the interval lies above plan.abandon_above_us. `stage` is called before each batch. Throws CudaError.
  Timing measure(const Candidate& candidate, const TimingPlan& plan, const Stage& stage);

  // One sample of each candidate in turn, the first one rotating, until each has `samples` or `max_seconds` have passed; all with
  // the same number of launches per sample, which the kernels decide and a baseline does not. One Timing for each. Throws CudaError.
  std::vector<Timing> interleave(const std::vector<Candidate>& candidates, std::int64_t samples, double max_seconds, CacheMode cache,
                                 double energy_seconds, const Stage& stage);

  // us of `samples` samples of launches that belong to no problem (calibration), taken in the same way: `launch(set)` queues one on set
  // `set` of `sets` (at least 1) buffers of its own. Throws CudaError and what `launch` throws.
  std::vector<double> sample_launches(const std::function<void(std::int64_t set)>& launch, std::int64_t sets, CacheMode cache,
                                      std::int64_t samples);

  // The problems measured so far are gone: what was decided for them is, too.
  void forget_problems() { batching_.clear(); }

  // us that a launch of an empty kernel takes, as one of `launches` of a sample. Measured at the first call.
  double launch_us(CacheMode cache, std::int64_t launches);
  // The shortest time that is given for one launch.
  static double least_sample_us(std::int64_t launches);

 private:
  // What a sample consists of, for a candidate as for the empty kernel.
  struct Work {
    std::function<void(std::int64_t set)> launch;
    std::function<void(std::int64_t set)> restore;  // empty: nothing to restore
    std::int64_t launches = 1;                      // per sample
    LaunchGraph graph;                              // of a batch
  };
  struct Batch {
    std::vector<double> window_us;
    std::optional<NvmlReading> reading;
    double seconds = 0;
  };

  Work work_of(const Candidate& candidate) const;
  double estimate_us(const Work& work, CacheMode cache);
  std::int64_t batch_launches(const Candidate& candidate, CacheMode cache, double once_us);
  void prepare_batch(Work& work, std::int64_t launches, CacheMode cache);
  void queue_sample(const Work& work, CacheMode cache, std::size_t event);
  // One sample of each, in the order given, and one synchronisation. `watched`: with the device's conditions meanwhile.
  Batch take(const std::vector<const Work*>& order, CacheMode cache, bool watched = false);
  double kernel_us(const Work& work, CacheMode cache, double window_us);
  std::optional<NvmlReading> read_conditions(std::size_t last_event);
  bool throw_away(const Batch& batch, ConditionsLog& log);
  std::optional<double> energy_j(const Work& work, double once_us, double seconds, const Stage& stage);
  void ensure_events(std::size_t count);

  cudaStream_t stream_;
  const NvmlDevice* nvml_;
  std::uint64_t flush_bytes_;
  DeviceMemory flush_;
  DeviceMemory sink_;
  std::vector<Event> events_;
  std::map<const ProblemBuffers*, Batching> batching_;
  std::map<std::pair<CacheMode, std::int64_t>, double> launch_us_;
  RetakePolicy retakes_;
  double next_reading_ = 0;  // not before this moment (steady clock, s): readings have a share of the time only
};

}  // namespace tunebook
