#include "launch/cuda_copies.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/statistics.h"
#include "cuda/cuda_error.h"
#include "cuda/device_kernels.h"
#include "cuda/device_memory.h"
#include "cuda/empty_kernel.h"
#include "cuda/sampler.h"
#include "launch/launch_device.h"
#include "launch/relaxed_capture.h"

namespace tunebook {
namespace {

// As the sampler: the host queues a launch while the stream is held.
constexpr std::uint64_t kHoldNanoseconds = 60000;
constexpr int kEmptyWarmUps = 3, kEmptySamples = 11;
constexpr std::size_t kAlignment = 256;

std::size_t aligned(std::size_t bytes) { return (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment; }

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) == cudaSuccess) return status != cudaStreamCaptureStatusNone;
  cudaGetLastError();  // the legacy stream while another one is captured
  return true;
}

// Memory in the order of a stream: neither taking nor giving it back waits for the device.
class StreamMemory {
 public:
  // Throws CandidateFailed if there is not enough, CudaError.
  StreamMemory(std::size_t bytes, cudaStream_t stream) : stream_(stream) {
    const cudaError_t code = cudaMallocAsync(&memory_, bytes, stream);
    if (code == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw CandidateFailed(Outcome::out_of_memory, fmt::format("{} bytes of device memory for copies are not free", bytes));
    }
    check_cuda(code, "allocating copies");
  }
  ~StreamMemory() { TUNEBOOK_REPORT_CUDA(cudaFreeAsync(memory_, stream_)); }
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
  cudaStream_t stream_;
};

class CudaCopies : public LaunchCopies {
 public:
  ~CudaCopies() override {
    const RelaxedCapture relaxed;
    memory_.reset();
  }
  CudaCopies(int ordinal, const CopyPlan& plan, void** addresses, cudaStream_t application) : ordinal_(ordinal), cold_(plan.cold) {
    flush_bytes_ = static_cast<std::size_t>(plan.flush_bytes);
    for (const CopiedArgument& argument : plan.arguments) arguments_.emplace_back().about = argument;
    for (std::size_t i = 0; i < arguments_.size(); ++i) store(arguments_[i], addresses[i]);
    refuse_overlaps();
    allocate();
    copy(application);
    for (Copied& argument : arguments_) {
      addresses_.push_back(argument.about.pointer ? static_cast<void*>(&argument.work) : argument.scalar.data());
    }
  }

  Run run(const LoadedLaunch& launch) override {
    return guarded([&] { return run_here(launch); });
  }
  void keep_results() override {
    guarded([&] {
      for (const Copied& argument : arguments_) {
        if (argument.about.written) transfer(argument.kept, argument.work, argument.bytes(), stream_.get());
      }
      check_cuda(cudaStreamSynchronize(stream_.get()), "keeping results");
      return 0;
    });
  }
  std::string difference() override {
    return guarded([&] { return difference_here(); });
  }

 private:
  struct Copied {
    CopiedArgument about;
    void* application = nullptr;  // the application's buffer
    void* work = nullptr;         // what kernels are given
    void* kept = nullptr;         // written: results to compare with
    void* original = nullptr;     // read and written: contents to begin with
    alignas(8) std::array<unsigned char, 8> scalar = {};
    std::size_t bytes() const { return static_cast<std::size_t>(about.bytes()); }
  };

  static void store(Copied& argument, const void* address) {
    if (argument.about.pointer) {
      std::memcpy(&argument.application, address, sizeof(void*));
      if (argument.application == nullptr && argument.bytes() > 0) {
        throw std::invalid_argument(fmt::format("argument {} is a null pointer", argument.about.name));
      }
    } else {
      std::memcpy(argument.scalar.data(), address, dtype_size(argument.about.dtype));
    }
  }

  // Copies do not overlap: on them other configurations could be right that are not so in place.
  void refuse_overlaps() const {
    for (const Copied& x : arguments_) {
      for (const Copied& y : arguments_) {
        if (&x == &y || !x.about.written || !y.about.pointer) continue;
        const auto x_begin = reinterpret_cast<std::uintptr_t>(x.application), y_begin = reinterpret_cast<std::uintptr_t>(y.application);
        if (x_begin < y_begin + y.bytes() && y_begin < x_begin + x.bytes()) {
          throw std::invalid_argument(fmt::format("the buffers of arguments {} and {} overlap", x.about.name, y.about.name));
        }
      }
    }
  }

  void allocate() {
    results_bytes_ = aligned(arguments_.size() * sizeof(CheckResult));
    std::size_t total = results_bytes_ + aligned(flush_bytes_) + aligned(sizeof(std::uint64_t));
    for (const Copied& argument : arguments_) total += aligned(argument.bytes()) * static_cast<std::size_t>(pieces(argument));
    memory_.emplace(total, stream_.get());
    auto* next = static_cast<unsigned char*>(memory_->get());
    const auto take = [&](std::size_t bytes) { return static_cast<void*>(std::exchange(next, next + aligned(bytes))); };
    results_ = static_cast<CheckResult*>(take(results_bytes_));
    flush_ = take(flush_bytes_);
    sink_ = static_cast<std::uint64_t*>(take(sizeof(std::uint64_t)));
    for (Copied& argument : arguments_) {
      if (!argument.about.pointer) continue;
      argument.work = take(argument.bytes());
      if (argument.about.written) argument.kept = take(argument.bytes());
      if (argument.about.written && argument.about.read) argument.original = take(argument.bytes());
    }
  }
  static int pieces(const Copied& argument) {
    if (!argument.about.pointer) return 0;
    return 1 + (argument.about.written ? 1 : 0) + (argument.about.written && argument.about.read ? 1 : 0);
  }

  static void transfer(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
    if (bytes > 0) check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copying arguments");
  }

  // The application's stream makes the copies, so that they hold what its next launch will read.
  void copy(cudaStream_t application) {
    Event ready, copied;
    if (flush_bytes_ > 0) check_cuda(cudaMemsetAsync(flush_, 0, flush_bytes_, stream_.get()), "preparing the L2 flush");
    check_cuda(cudaEventRecord(ready.get(), stream_.get()), "allocating copies");
    check_cuda(cudaStreamWaitEvent(application, ready.get(), 0), "copying arguments");
    for (const Copied& argument : arguments_) {
      if (!argument.about.pointer || !argument.about.read) continue;
      transfer(argument.original != nullptr ? argument.original : argument.work, argument.application, argument.bytes(), application);
    }
    check_cuda(cudaEventRecord(copied.get(), application), "copying arguments");
    check_cuda(cudaStreamWaitEvent(stream_.get(), copied.get(), 0), "copying arguments");
  }

  // `body` on this device, whatever thread it is; CudaError becomes LaunchError.
  template <class Body>
  auto guarded(const Body& body) -> decltype(body()) {
    const RelaxedCapture relaxed;
    try {
      int current = -1;
      check_cuda(cudaGetDevice(&current), "asking for the current device");
      if (current != ordinal_) check_cuda(cudaSetDevice(ordinal_), "choosing the device");
      return body();
    } catch (const CudaError& error) {
      throw LaunchError(error.code(), error.what());
    }
  }

  Run run_here(const LoadedLaunch& launch) {
    const cudaStream_t stream = stream_.get();
    if (empty_us_ < 0) measure_empty();
    check_cuda(cudaEventRecord(start_.get(), stream), "timing a launch");
    for (const Copied& argument : arguments_) {
      if (!argument.about.written) continue;
      if (argument.original != nullptr) {
        transfer(argument.work, argument.original, argument.bytes(), stream);
      } else if (argument.bytes() > 0) {
        // Another pattern each time: what a run leaves out cannot look right.
        poison_ = poison_ == 0xA5 ? 0x5A : 0xA5;
        check_cuda(cudaMemsetAsync(argument.work, poison_, argument.bytes(), stream), "filling results");
      }
    }
    const double window_us = window([&] { launch.launch(addresses_.data(), stream); });
    float total_ms = 0;
    check_cuda(cudaEventElapsedTime(&total_ms, start_.get(), after_.get()), "timing a launch");
    Run run;
    run.launch_us = std::max(window_us - empty_us_, Sampler::least_sample_us(1));
    run.gpu_us = total_ms * 1e3 + std::exchange(other_us_, 0);
    return run;
  }

  // us between two events around what `queue` queues. Throws CandidateFailed, LaunchError.
  template <class Queue>
  double window(const Queue& queue) {
    const cudaStream_t stream = stream_.get();
    if (cold_) queue_read(flush_, flush_bytes_, sink_, stream);
    queue_hold(kHoldNanoseconds, stream);
    check_cuda(cudaEventRecord(before_.get(), stream), "timing a launch");
    try {
      queue();
    } catch (const LaunchError& error) {
      const CudaError cause(static_cast<cudaError_t>(error.code()), "timing a launch");
      if (poisons_worker(cause.outcome())) throw;
      check_cuda(cudaStreamSynchronize(stream), "timing a launch");
      throw CandidateFailed(cause.outcome(), error.what());
    }
    check_cuda(cudaEventRecord(after_.get(), stream), "timing a launch");
    check_cuda(cudaEventSynchronize(after_.get()), "timing a launch");
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, before_.get(), after_.get()), "timing a launch");
    return ms * 1e3;
  }

  // What launching costs, measured in the same way; the budget pays for it, too.
  void measure_empty() {
    std::vector<double> samples;
    for (int i = 0; i < kEmptyWarmUps + kEmptySamples; ++i) {
      check_cuda(cudaEventRecord(start_.get(), stream_.get()), "timing an empty kernel");
      const double us = window([&] { queue_empty(stream_.get()); });
      float total_ms = 0;
      check_cuda(cudaEventElapsedTime(&total_ms, start_.get(), after_.get()), "timing an empty kernel");
      other_us_ += total_ms * 1e3;
      if (i >= kEmptyWarmUps) samples.push_back(us);
    }
    empty_us_ = median(samples);
  }

  std::string difference_here() {
    const cudaStream_t stream = stream_.get();
    std::vector<CheckResult> found(arguments_.size());
    check_cuda(cudaEventRecord(start_.get(), stream), "comparing results");
    queue_reset(results_, static_cast<int>(found.size()), nullptr, 0, stream);
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const Copied& argument = arguments_[i];
      if (!argument.about.written || argument.about.count == 0) continue;
      queue_compare(argument.about.dtype,
                    {argument.work, argument.work, argument.kept, static_cast<std::uint64_t>(argument.about.count), argument.about.rel,
                     argument.about.abs, false},
                    results_ + i, stream);
    }
    check_cuda(cudaGetLastError(), "comparing results");
    check_cuda(cudaEventRecord(after_.get(), stream), "comparing results");
    check_cuda(cudaMemcpyAsync(found.data(), results_, found.size() * sizeof(CheckResult), cudaMemcpyDefault, stream), "comparing results");
    check_cuda(cudaStreamSynchronize(stream), "comparing results");
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, start_.get(), after_.get()), "comparing results");
    other_us_ += ms * 1e3;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (arguments_[i].about.written && found[i].first_wrong != kNone) return element_text(arguments_[i], found[i].first_wrong / 2);
    }
    return "";
  }

  std::string element_text(const Copied& argument, std::uint64_t element) const {
    const std::size_t size = dtype_size(argument.about.dtype);
    std::array<double, 2> values = {};
    for (std::size_t which = 0; which < 2; ++which) {
      std::array<unsigned char, 8> bytes = {};
      const void* const from = static_cast<const unsigned char*>(which == 0 ? argument.work : argument.kept) + element * size;
      check_cuda(cudaMemcpyAsync(bytes.data(), from, size, cudaMemcpyDefault, stream_.get()), "comparing results");
      check_cuda(cudaStreamSynchronize(stream_.get()), "comparing results");
      values[which] = load_as_double(argument.about.dtype, bytes.data());
    }
    return fmt::format("{}[{}] is {:g}, but {:g} by the configuration at hand", argument.about.name, element, values[0], values[1]);
  }

  int ordinal_;
  bool cold_;
  std::size_t flush_bytes_ = 0, results_bytes_ = 0;
  Stream stream_;
  std::optional<StreamMemory> memory_;
  CheckResult* results_ = nullptr;
  void* flush_ = nullptr;
  std::uint64_t* sink_ = nullptr;
  std::vector<Copied> arguments_;
  std::vector<void*> addresses_;
  Event start_, before_, after_;
  int poison_ = 0x5A;
  double empty_us_ = -1;
  double other_us_ = 0;  // of the device, not yet reported
};

}  // namespace

std::unique_ptr<LaunchCopies> copy_on_device(int ordinal, const CopyPlan& plan, void** addresses, CUstream_st* stream) {
  const RelaxedCapture relaxed;
  if (is_captured(stream)) return nullptr;
  try {
    return std::make_unique<CudaCopies>(ordinal, plan, addresses, stream);
  } catch (const CudaError& error) {
    throw LaunchError(error.code(), error.what());
  }
}

}  // namespace tunebook
