#include "cuda/calibration.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/statistics.h"
#include "cuda/calibration_kernels.h"
#include "cuda/cuda_error.h"
#include "cuda/device_memory.h"
#include "worker/method.h"

namespace tunebook {
namespace {

constexpr std::int64_t kSamplesOfAShape = 5;  // to tell which way to move the bytes is fastest
constexpr std::int64_t kSamples = 21;         // of the fastest
constexpr std::int64_t kRepetitions = 15;     // of an arithmetic unit
// What the launches of one batch move together, generously: 200 us on memory of 5 TB/s.
constexpr std::int64_t kBatchBytes = std::int64_t{1} << 30;
// Other users of the device keep the rest.
constexpr double kMostOfFreeMemory = 0.5;
constexpr std::int64_t kGranule = 512;  // sets of buffers start at multiples of it

struct TransferName {
  Transfer transfer;
  const char* what;
};
constexpr TransferName kTransfers[] = {{Transfer::copy, "copy"}, {Transfer::read, "read"}, {Transfer::write, "write"}};

std::int64_t rounded_up(std::int64_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }

class Calibration {
 public:
  Calibration(const CalibrateRequest& request, Sampler& sampler, cudaStream_t stream, const StageCallback& stage)
      : request_(request), sampler_(sampler), stream_(stream), stage_(stage), method_(timing_method("cuda", request.cache)),
        sink_memory_(sizeof(std::uint64_t)), sink_(static_cast<std::uint64_t*>(sink_memory_.get())) {}

  std::vector<Ceiling> run() {
    allocate();
    for (const std::int64_t bytes : request_.bytes) {
      if (bytes < kGranule || bytes > arena_bytes_) continue;
      for (const TransferName& name : kTransfers) measure_transfer(name, bytes);
    }
    if (request_.arithmetic) measure_arithmetic();
    return std::move(ceilings_);
  }

 private:
  void allocate() {
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "calibrating");
    std::int64_t wanted = 0;
    for (const std::int64_t bytes : request_.bytes) wanted = std::max({wanted, rounded_up(bytes), kBatchBytes});
    arena_bytes_ = std::min(wanted, static_cast<std::int64_t>(kMostOfFreeMemory * static_cast<double>(free)));
    arena_ = DeviceMemory(static_cast<std::size_t>(arena_bytes_));
    check_cuda(cudaMemsetAsync(arena_.get(), 0, static_cast<std::size_t>(arena_bytes_), stream_), "calibrating");
  }

  void measure_transfer(const TransferName& name, std::int64_t bytes) {
    stage_(std::string(name.what) + " " + std::to_string(bytes));
    const TransferShape* fastest = nullptr;
    double fastest_us = 0;
    for (const TransferShape& shape : kTransferShapes) {
      const double us = median(sample(name.transfer, shape, bytes, kSamplesOfAShape));
      if (fastest != nullptr && us >= fastest_us) continue;
      fastest = &shape;
      fastest_us = us;
    }
    const std::vector<double> samples = sample(name.transfer, *fastest, bytes, kSamples);
    const Interval interval = median_interval(samples);
    const auto rate = [&](double us) { return static_cast<double>(bytes) * 1e-3 / us; };  // bytes/us are MB/s
    ceilings_.push_back({name.what, bytes, method_, rate(median(samples)), rate(interval.high), rate(interval.low)});
  }

  std::vector<double> sample(Transfer transfer, const TransferShape& shape, std::int64_t bytes, std::int64_t samples) {
    const std::int64_t stride = rounded_up(bytes);
    const auto launch = [&](std::int64_t set) {
      queue_transfer(transfer, shape, static_cast<unsigned char*>(arena_.get()) + set * stride, static_cast<std::uint64_t>(bytes / 32 * 32), sink_, stream_);
      check_cuda(cudaGetLastError(), "calibrating");
    };
    return sampler_.sample_launches(launch, arena_bytes_ / stride, request_.cache, samples);
  }

  void measure_arithmetic() {
    int device = 0, major = 0, minor = 0;
    check_cuda(cudaGetDevice(&device), "calibrating");
    check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "calibrating");
    check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "calibrating");
    for (const UnitName& unit : kUnits) {
      if (10 * major + minor < unit.least_compute_capability) continue;
      stage_(std::string(unit.what));
      double flops = 0;
      const auto launch = [&](std::int64_t) {
        flops = queue_arithmetic(unit.unit, sink_, stream_);
        check_cuda(cudaGetLastError(), "calibrating");
      };
      // Nothing is read, so the state of the caches does not matter; one set, so no batches.
      std::vector<double> rates;
      for (const double us : sampler_.sample_launches(launch, 1, CacheMode::cold, kRepetitions)) rates.push_back(flops * 1e-3 / us);
      const Interval interval = median_interval(rates);
      const double best = *std::max_element(rates.begin(), rates.end());
      ceilings_.push_back({std::string(unit.what), 0, method_, best, interval.low, std::max(best, interval.high)});
    }
  }

  const CalibrateRequest& request_;
  Sampler& sampler_;
  cudaStream_t stream_;
  const StageCallback& stage_;
  std::string method_;
  DeviceMemory sink_memory_;
  std::uint64_t* sink_;
  DeviceMemory arena_;
  std::int64_t arena_bytes_ = 0;
  std::vector<Ceiling> ceilings_;
};

}  // namespace

std::vector<Ceiling> measure_ceilings(const CalibrateRequest& request, Sampler& sampler, cudaStream_t stream, const StageCallback& stage) {
  return Calibration(request, sampler, stream, stage).run();
}

}  // namespace tunebook
