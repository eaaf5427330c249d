#include "cuda/sampler.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>
#include <utility>

#include "core/statistics.h"
#include "cuda/device_kernels.h"
#include "cuda/empty_kernel.h"
#include "worker/method.h"

namespace tunebook {
namespace {

// Twice the L2 leaves nothing of what was there, also with a replacement that is not strictly by age.
constexpr std::int64_t kFlushFactor = 2;
// For devices that do not report an L2.
constexpr std::int64_t kLeastL2Bytes = std::int64_t{8} << 20;
// The resolution of cudaEventElapsedTime, by its documentation.
constexpr double kEventResolutionUs = 0.5;
// A long batch resolves less than one cycle of a GPU; nothing shorter than ten is believed.
constexpr double kLeastUs = 0.01;
// What the host needs to queue the first sample of a batch, generously; after that it is ahead.
constexpr std::uint64_t kHoldNanoseconds = 60000;
// Warm mode: what holds the stream while the host queues one sample.
constexpr std::uint64_t kSampleHoldNanoseconds = 40000;
// A batch of samples is queued whole: kept short, so that limits in seconds are met and a stage is reported now and then.
constexpr double kBatchSeconds = 0.1;
constexpr std::size_t kLargestBatch = 64;
// The first launch of a process or after a pause is slower; the median of an odd number of the others is the estimate.
constexpr std::size_t kEstimates = 3;
constexpr double kSurelyLongUs = 10 * Batching::kLongUs;
constexpr std::size_t kLaunchCostWarmUps = 10;
constexpr std::size_t kLaunchCostSamples = 41;
// The power that has to fall is averaged over some milliseconds.
constexpr std::chrono::milliseconds kPauseAfterThrottling{10};
// Readings that the GPU has to wait for may take this share of the time.
constexpr double kReadingShare = 0.1;
// Energy: what is queued at once, so that neither the GPU runs dry nor the host far ahead.
constexpr double kEnergyChunkUs = 20000;
constexpr std::int64_t kMostEnergyGraphLaunches = 32;
constexpr double kStageSeconds = 0.5;

double now_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

double Sampler::least_sample_us(std::int64_t launches) {
  return std::max(kEventResolutionUs / static_cast<double>(launches), kLeastUs);
}

Sampler::Sampler(std::int64_t l2_bytes, cudaStream_t stream, const NvmlDevice* nvml)
    : stream_(stream), nvml_(nvml), flush_bytes_(static_cast<std::uint64_t>(kFlushFactor * std::max(l2_bytes, kLeastL2Bytes)) / 16 * 16),
      flush_(flush_bytes_), sink_(sizeof(std::uint64_t)) {
  check_cuda(cudaMemsetAsync(flush_.get(), 0, flush_bytes_, stream_), "preparing the L2 flush");
}

void Sampler::ensure_events(std::size_t count) {
  while (events_.size() < count) events_.emplace_back();
}

Sampler::Work Sampler::work_of(const Candidate& candidate) const {
  Work work;
  work.launch = candidate.baseline;
  if (!work.launch) work.launch = [candidate](std::int64_t set) { candidate.problem->launch(*candidate.launches, set); };
  if (candidate.restore) work.restore = [candidate](std::int64_t set) { candidate.problem->restore_inout(set); };
  return work;
}

void Sampler::queue_sample(const Work& work, CacheMode cache, std::size_t event) {
  const std::int64_t sets = work.graph && cache == CacheMode::cold ? work.launches : 1;
  if (work.restore) {
    for (std::int64_t set = 0; set < sets; ++set) work.restore(set);
  }
  if (cache == CacheMode::cold) {
    queue_read(flush_.get(), flush_bytes_, static_cast<std::uint64_t*>(sink_.get()), stream_);
  } else {
    queue_hold(kSampleHoldNanoseconds, stream_);
  }
  check_cuda(cudaEventRecord(events_[event].get(), stream_), "timing");
  if (work.graph) {
    work.graph.launch(stream_);
  } else {
    work.launch(0);
  }
  check_cuda(cudaEventRecord(events_[event + 1].get(), stream_), "timing");
}

Sampler::Batch Sampler::take(const std::vector<const Work*>& order, CacheMode cache, bool watched) {
  const double start = now_seconds();
  ensure_events(2 * order.size());
  queue_hold(kHoldNanoseconds, stream_);
  for (std::size_t i = 0; i < order.size(); ++i) queue_sample(*order[i], cache, 2 * i);
  Batch batch;
  // Everything is queued: what the host does now is in no window, and the GPU is busy with what is to be judged.
  if (watched) batch.reading = read_conditions(2 * order.size() - 1);
  check_cuda(cudaStreamSynchronize(stream_), "timing");
  for (std::size_t i = 0; i < order.size(); ++i) {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, events_[2 * i].get(), events_[2 * i + 1].get()), "timing");
    batch.window_us.push_back(static_cast<double>(milliseconds) * 1000.0);
  }
  batch.seconds = now_seconds() - start;
  return batch;
}

std::optional<NvmlReading> Sampler::read_conditions(std::size_t last_event) {
  const double start = now_seconds();
  if (nvml_ == nullptr || start < next_reading_) return std::nullopt;
  const NvmlReading reading = nvml_->read();
  const cudaError_t state = cudaEventQuery(events_[last_event].get());
  if (state == cudaSuccess) {
    const double end = now_seconds();
    next_reading_ = end + (end - start) * (1 / kReadingShare - 1);
  } else if (state == cudaErrorNotReady) {
    cudaGetLastError();
  }  // anything else is what the synchronisation will report
  return reading;
}

double Sampler::kernel_us(const Work& work, CacheMode cache, double window_us) {
  const double each = window_us / static_cast<double>(work.launches) - launch_us(cache, work.launches);
  return std::max(each, least_sample_us(work.launches));
}

double Sampler::launch_us(CacheMode cache, std::int64_t launches) {
  const auto key = std::pair(cache, launches);
  if (const auto known = launch_us_.find(key); known != launch_us_.end()) return known->second;
  Work empty;
  empty.launch = [this](std::int64_t) {
    queue_empty(stream_);
    check_cuda(cudaGetLastError(), "timing an empty kernel");
  };
  empty.launch(0);
  prepare_batch(empty, launches, cache);
  take(std::vector<const Work*>(kLaunchCostWarmUps, &empty), cache);
  const Batch batch = take(std::vector<const Work*>(kLaunchCostSamples, &empty), cache);
  return launch_us_[key] = median(batch.window_us) / static_cast<double>(launches);
}

double Sampler::estimate_us(const Work& work, CacheMode cache) {
  // The first launch of a kernel may load it. One that is long all the same needs no better estimate.
  std::vector<double> times = take({&work}, cache).window_us;
  if (times.front() < kSurelyLongUs) times = take(std::vector<const Work*>(kEstimates, &work), cache).window_us;
  return std::max(median(times) - launch_us(cache, 1), least_sample_us(1));
}

std::int64_t Sampler::batch_launches(const Candidate& candidate, CacheMode cache, double once_us) {
  if (cache == CacheMode::warm && candidate.restore) return 1;
  const std::int64_t wanted = batching_[candidate.problem].launches_for(once_us);
  if (wanted == 1 || cache == CacheMode::warm) return wanted;
  return std::min(wanted, power_of_two_within(candidate.problem->ensure_sets(wanted)));
}

// After estimate_us(), so that everything that is captured was launched before.
void Sampler::prepare_batch(Work& work, std::int64_t launches, CacheMode cache) {
  work.launches = launches;
  if (launches <= 1) return;
  work.graph = LaunchGraph(stream_, [&] {
    for (std::int64_t i = 0; i < launches; ++i) work.launch(cache == CacheMode::cold ? i : 0);
  });
  take({&work}, cache);
}

bool Sampler::throw_away(const Batch& batch, ConditionsLog& log) {
  if (!batch.reading) return false;
  const bool throttled = throttle_bits(batch.reading->clock_reasons) != 0;
  if (!retakes_.retake(throttled, batch.seconds)) {
    log.keep(*batch.reading);
    return false;
  }
  log.retaken();
  std::this_thread::sleep_for(kPauseAfterThrottling);
  return true;
}

Timing Sampler::measure(const Candidate& candidate, const TimingPlan& plan, const Stage& stage) {
  const double start = now_seconds();
  const auto elapsed = [&] { return now_seconds() - start; };
  stage();
  Work work = work_of(candidate);
  const double once_us = estimate_us(work, plan.cache);
  prepare_batch(work, batch_launches(candidate, plan.cache, once_us), plan.cache);

  Timing timing;
  timing.method = timing_method("cuda", plan.cache);
  timing.launches_per_sample = work.launches;
  timing.launch_us = launch_us(plan.cache, work.launches);
  const auto least = static_cast<std::size_t>(std::max<std::int64_t>(plan.min_samples, 1));
  const auto early = std::min(least, static_cast<std::size_t>(std::max<std::int64_t>(plan.abandon_samples, 1)));
  const auto most = std::max(least, static_cast<std::size_t>(std::max<std::int64_t>(plan.max_samples, 1)));
  ConditionsLog log;
  retakes_.begin(plan.max_seconds);
  double seconds_per_sample = 0;
  double kernel_seconds = 0;  // of the samples that count
  while (timing.samples_us.size() < most) {
    // The first sample alone shows how many fit a batch; then up to what abandoning and believing need; then as many as there are already.
    const std::size_t have = timing.samples_us.size();
    const bool may_abandon = plan.abandon_above_us > 0;
    std::size_t wanted = have == 0 ? 1 : may_abandon && have < early ? early - have : have < least ? least - have : have;
    if (have > 0) {
      wanted = std::min(wanted, std::max<std::size_t>(1, static_cast<std::size_t>(kBatchSeconds / seconds_per_sample)));
    }
    wanted = std::min({wanted, most - have, kLargestBatch});
    stage();
    const Batch batch = take(std::vector<const Work*>(wanted, &work), plan.cache, true);
    if (throw_away(batch, log)) continue;
    for (const double window_us : batch.window_us) {
      timing.samples_us.push_back(kernel_us(work, plan.cache, window_us));
      kernel_seconds += window_us * 1e-6;
    }
    seconds_per_sample = batch.seconds / static_cast<double>(wanted);
    if (timing.samples_us.size() < early) continue;

    const Interval interval = median_interval(timing.samples_us);
    if (may_abandon && interval.low > plan.abandon_above_us) {
      timing.abandoned = true;
      break;
    }
    const bool slow = elapsed() >= plan.max_seconds;
    if ((timing.samples_us.size() < least || kernel_seconds < plan.min_kernel_seconds) && !slow) continue;
    if (interval.high - interval.low <= plan.target_relative_width * median(timing.samples_us) || slow) break;
  }
  if (plan.energy_seconds > 0 && !timing.abandoned) {
    timing.energy_j = energy_j(work, median(timing.samples_us), plan.energy_seconds, stage);
  }
  timing.conditions = log.conditions();
  timing.seconds = elapsed();
  return timing;
}

std::vector<Timing> Sampler::interleave(const std::vector<Candidate>& candidates, std::int64_t samples, double max_seconds,
                                        CacheMode cache, double energy_seconds, const Stage& stage) {
  const double start = now_seconds();
  const auto elapsed = [&] { return now_seconds() - start; };
  std::vector<Work> works;
  std::vector<double> once_us;
  for (const Candidate& candidate : candidates) {
    stage();
    works.push_back(work_of(candidate));
    once_us.push_back(estimate_us(works.back(), cache));
  }
  if (works.empty()) return {};
  // The fastest kernel decides for all, and the one with the fewest sets of buffers bounds them.
  double fastest_us = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].baseline && candidates.size() > 1) continue;
    if (fastest_us == 0 || once_us[i] < fastest_us) fastest_us = once_us[i];
  }
  std::int64_t launches = Batching::kMost;
  for (const Candidate& candidate : candidates) launches = std::min(launches, batch_launches(candidate, cache, fastest_us));
  const double launch_cost_us = launch_us(cache, launches);
  std::vector<Timing> timings(works.size());
  for (std::size_t i = 0; i < works.size(); ++i) {
    stage();
    prepare_batch(works[i], launches, cache);
    timings[i].method = timing_method("cuda", cache);
    timings[i].launches_per_sample = launches;
    timings[i].launch_us = launch_cost_us;
  }

  ConditionsLog log;
  retakes_.begin(max_seconds);
  for (std::int64_t round = 0; round < samples;) {
    if (round > 0 && elapsed() >= max_seconds) break;
    stage();
    const std::size_t first = static_cast<std::size_t>(round) % works.size();
    std::vector<const Work*> order;
    for (std::size_t i = 0; i < works.size(); ++i) order.push_back(&works[(first + i) % works.size()]);
    const Batch batch = take(order, cache, true);
    if (throw_away(batch, log)) continue;
    for (std::size_t i = 0; i < order.size(); ++i) {
      timings[(first + i) % works.size()].samples_us.push_back(kernel_us(*order[i], cache, batch.window_us[i]));
    }
    ++round;
  }
  const double seconds = elapsed() / static_cast<double>(timings.size());
  for (std::size_t i = 0; i < works.size(); ++i) {
    timings[i].conditions = log.conditions();
    timings[i].seconds = seconds;
    if (energy_seconds > 0) timings[i].energy_j = energy_j(works[i], median(timings[i].samples_us), energy_seconds, stage);
  }
  return timings;
}

std::vector<double> Sampler::sample_launches(const std::function<void(std::int64_t set)>& launch, std::int64_t sets, CacheMode cache,
                                             std::int64_t samples) {
  Work work;
  work.launch = launch;
  const double once_us = estimate_us(work, cache);
  const std::int64_t wanted = Batching().launches_for(once_us);
  prepare_batch(work, cache == CacheMode::cold ? std::min(wanted, power_of_two_within(sets)) : wanted, cache);
  std::vector<double> samples_us;
  double seconds_per_sample = kBatchSeconds;  // the first alone shows how many fit a batch
  while (static_cast<std::int64_t>(samples_us.size()) < samples) {
    const auto left = static_cast<std::size_t>(samples) - samples_us.size();
    const std::size_t fit = std::max<std::size_t>(1, static_cast<std::size_t>(kBatchSeconds / seconds_per_sample));
    const Batch batch = take(std::vector<const Work*>(std::min({left, fit, kLargestBatch}), &work), cache);
    for (const double window_us : batch.window_us) samples_us.push_back(kernel_us(work, cache, window_us));
    seconds_per_sample = batch.seconds / static_cast<double>(batch.window_us.size());
  }
  return samples_us;
}

// Back to back on the same buffers, as in warm mode; what restoring takes is part of it.
std::optional<double> Sampler::energy_j(const Work& work, double once_us, double seconds, const Stage& stage) {
  if (nvml_ == nullptr) return std::nullopt;
  const std::int64_t per_step =
      work.restore ? 1 : std::clamp(static_cast<std::int64_t>(kEnergyChunkUs / once_us), std::int64_t{1}, kMostEnergyGraphLaunches);
  LaunchGraph graph;
  if (!work.restore) {
    graph = LaunchGraph(stream_, [&] {
      for (std::int64_t i = 0; i < per_step; ++i) work.launch(0);
    });
    graph.launch(stream_);
  }
  const auto steps = std::max<std::int64_t>(1, std::llround(kEnergyChunkUs / (once_us * static_cast<double>(per_step))));
  ensure_events(2);
  const auto queue_chunk = [&](std::size_t event) {
    for (std::int64_t i = 0; i < steps; ++i) {
      if (graph) {
        graph.launch(stream_);
      } else {
        work.restore(0);
        work.launch(0);
      }
    }
    check_cuda(cudaEventRecord(events_[event].get(), stream_), "measuring energy");
  };

  check_cuda(cudaStreamSynchronize(stream_), "measuring energy");
  const auto before = nvml_->total_energy_mj();
  if (!before) return std::nullopt;
  stage();
  const double start = now_seconds();
  double last_stage = start;
  std::int64_t chunks = 0;
  for (double now = start; now - start < seconds; now = now_seconds()) {
    queue_chunk(static_cast<std::size_t>(chunks % 2));
    // One chunk runs while the next is queued.
    if (chunks > 0) check_cuda(cudaEventSynchronize(events_[static_cast<std::size_t>((chunks - 1) % 2)].get()), "measuring energy");
    ++chunks;
    if (now - last_stage >= kStageSeconds) {
      stage();
      last_stage = now;
    }
  }
  check_cuda(cudaStreamSynchronize(stream_), "measuring energy");
  const auto after = nvml_->total_energy_mj();
  if (!after || *after <= *before) return std::nullopt;
  return static_cast<double>(*after - *before) / 1000.0 / static_cast<double>(chunks * steps * per_step);
}

}  // namespace tunebook
