#include "cuda/sampler.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/statistics.h"

namespace tunebook {
namespace {

// Twice the L2 leaves nothing of what was there, also with a replacement that is not strictly by age.
constexpr std::int64_t kFlushFactor = 2;
// For devices that do not report an L2.
constexpr std::int64_t kLeastL2Bytes = std::int64_t{8} << 20;
// Events have a resolution of about 0.5 us: a warm sample of this length is good to 0.3 %.
constexpr double kWarmSampleUs = 200;
constexpr std::int64_t kMostLaunchesPerSample = 100;
// What the host needs to queue one launch or event, generously.
constexpr std::uint64_t kQueueNanoseconds = 5000;
constexpr std::uint64_t kLongestHoldNanoseconds = 1000000;
// A batch is queued whole: kept short, so that limits in seconds are met and a stage is reported now and then.
constexpr double kBatchSeconds = 0.1;
constexpr std::size_t kLargestBatch = 64;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

const char* method_name(CacheMode cache) { return cache == CacheMode::cold ? "cold/1" : "warm/1"; }

Sampler::Sampler(std::int64_t l2_bytes, cudaStream_t stream)
    : stream_(stream), flush_bytes_(static_cast<std::uint64_t>(kFlushFactor * std::max(l2_bytes, kLeastL2Bytes)) / 16 * 16), flush_(flush_bytes_),
      sink_(sizeof(std::uint64_t)) {
  check_cuda(cudaMemsetAsync(flush_.get(), 0, flush_bytes_, stream_), "preparing the L2 flush");
}

void Sampler::ensure_events(std::size_t count) {
  while (events_.size() < count) events_.emplace_back();
}

void Sampler::queue_sample(const Candidate& candidate, CacheMode cache, std::size_t event) {
  if (candidate.restore) candidate.problem->restore_inout();
  if (cache == CacheMode::cold) {
    queue_read(flush_.get(), flush_bytes_, static_cast<std::uint64_t*>(sink_.get()), stream_);
  } else {
    const auto operations = static_cast<std::uint64_t>(candidate.launches_per_sample) * candidate.launches->size() + 2;
    queue_hold(std::min(operations * kQueueNanoseconds, kLongestHoldNanoseconds), stream_);
  }
  check_cuda(cudaEventRecord(events_[event].get(), stream_), "timing");
  for (std::int64_t i = 0; i < candidate.launches_per_sample; ++i) candidate.problem->launch(*candidate.launches);
  check_cuda(cudaEventRecord(events_[event + 1].get(), stream_), "timing");
}

std::vector<double> Sampler::sample(const std::vector<Candidate>& order, CacheMode cache) {
  ensure_events(2 * order.size());
  for (std::size_t i = 0; i < order.size(); ++i) queue_sample(order[i], cache, 2 * i);
  check_cuda(cudaStreamSynchronize(stream_), "timing");
  std::vector<double> times;
  for (std::size_t i = 0; i < order.size(); ++i) {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, events_[2 * i].get(), events_[2 * i + 1].get()), "timing");
    times.push_back(static_cast<double>(milliseconds) * 1000.0 / static_cast<double>(order[i].launches_per_sample));
  }
  return times;
}

std::int64_t Sampler::launches_per_sample(const Candidate& candidate, CacheMode cache) {
  if (cache == CacheMode::cold || candidate.restore) return 1;
  const double once_us = std::max(sample({candidate}, cache).front(), 0.5);
  return std::clamp(static_cast<std::int64_t>(std::ceil(kWarmSampleUs / once_us)), std::int64_t{1}, kMostLaunchesPerSample);
}

Timing Sampler::measure(Candidate candidate, const TimingPlan& plan, const std::function<void()>& stage) {
  const auto start = std::chrono::steady_clock::now();
  stage();
  candidate.launches_per_sample = launches_per_sample(candidate, plan.cache);

  Timing timing;
  timing.method = method_name(plan.cache);
  timing.launches_per_sample = candidate.launches_per_sample;
  const auto least = static_cast<std::size_t>(std::max<std::int64_t>(plan.min_samples, 1));
  const auto most = std::max(least, static_cast<std::size_t>(std::max<std::int64_t>(plan.max_samples, 1)));
  double seconds_per_sample = 0;
  while (timing.samples_us.size() < most) {
    // The first sample alone shows how many fit a batch; then up to the least number; then as many as there are already.
    const std::size_t have = timing.samples_us.size();
    std::size_t wanted = have == 0 ? 1 : have < least ? least - have : have;
    if (have > 0) {
      wanted = std::min(wanted, std::max<std::size_t>(1, static_cast<std::size_t>(kBatchSeconds / seconds_per_sample)));
      stage();
    }
    wanted = std::min({wanted, most - have, kLargestBatch});
    const std::vector<double> batch = sample(std::vector<Candidate>(wanted, candidate), plan.cache);
    timing.samples_us.insert(timing.samples_us.end(), batch.begin(), batch.end());
    const double elapsed = seconds_since(start);
    seconds_per_sample = elapsed / static_cast<double>(timing.samples_us.size());
    if (timing.samples_us.size() < least) continue;

    const Interval interval = median_interval(timing.samples_us);
    if (plan.abandon_above_us > 0 && interval.low > plan.abandon_above_us) {
      timing.abandoned = true;
      break;
    }
    if (interval.high - interval.low <= plan.target_relative_width * median(timing.samples_us) || elapsed >= plan.max_seconds) break;
  }
  timing.seconds = seconds_since(start);
  return timing;
}

}  // namespace tunebook
