#include "cpu/calibration.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <string>

#include <time.h>

#include "core/statistics.h"
#include "cpu/calibration_kernels.h"
#include "worker/method.h"

namespace tunebook {
namespace {

constexpr int kSamples = 9;
constexpr int kRepetitions = 9;
constexpr std::int64_t kSteps = 500000;    // of arithmetic: about a millisecond
constexpr std::int64_t kGranule = 128;     // bytes of a thread's share: two cache lines

double thread_cpu_us() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

class Calibration {
 public:
  Calibration(const CalibrateRequest& request, WorkerThreads& threads, CacheFlush& flush, const StageCallback& stage)
      : request_(request), threads_(threads), flush_(flush), stage_(stage), method_(timing_method("cpu", request.cache)),
        shares_(static_cast<std::size_t>(threads.count())) {}

  std::vector<Ceiling> run() {
    for (const std::int64_t bytes : request_.bytes) measure_transfers(bytes / threads_.count() / kGranule * kGranule);
    if (request_.arithmetic) {
      measure_arithmetic("fma_f32", [] { return multiply_add_f32(kSteps, 0.5F, 0.5F); });
      measure_arithmetic("fma_f64", [] { return multiply_add_f64(kSteps, 0.5, 0.5); });
    }
    return std::move(ceilings_);
  }

 private:
  // What a kernel of as many blocks as threads is timed by: the threads' processor time together, shared out evenly.
  double time_us(const std::function<void(std::size_t)>& job) {
    std::vector<double> used(shares_.size());
    threads_.run([&](int worker) {
      const double before = thread_cpu_us();
      job(static_cast<std::size_t>(worker));
      used[static_cast<std::size_t>(worker)] = thread_cpu_us() - before;
    });
    double total = 0;
    for (const double us : used) total += us;
    // Shorter than the clock can tell is no time.
    return std::max(total / static_cast<double>(used.size()), 1e-3);
  }

  void measure_transfers(std::int64_t share_bytes) {
    if (share_bytes <= 0) return;
    const auto bytes = static_cast<std::size_t>(share_bytes);
    try {
      // By the thread that uses it, so that the pages are its own.
      threads_.run([&](int worker) { shares_[static_cast<std::size_t>(worker)].assign(bytes / sizeof(std::uint64_t), 1); });
    } catch (const std::bad_alloc&) {
      return;
    }
    const auto half = bytes / 2;
    measure_transfer("copy", share_bytes, [&](std::size_t worker) {
      auto* memory = reinterpret_cast<unsigned char*>(shares_[worker].data());
      std::memcpy(memory + half, memory, half);
    });
    measure_transfer("read", share_bytes, [&](std::size_t worker) {
      volatile std::uint64_t sink = sum_words(shares_[worker].data(), shares_[worker].size());
      (void)sink;
    });
    measure_transfer("write", share_bytes, [&](std::size_t worker) { std::memset(shares_[worker].data(), 1, bytes); });
  }

  void measure_transfer(const std::string& what, std::int64_t share_bytes, const std::function<void(std::size_t)>& job) {
    const std::int64_t bytes = share_bytes * threads_.count();
    stage_(what + " " + std::to_string(bytes));
    std::vector<double> samples;
    time_us(job);
    for (int i = 0; i < kSamples; ++i) {
      if (request_.cache == CacheMode::cold) flush_();
      samples.push_back(time_us(job));
    }
    const Interval interval = median_interval(samples);
    const auto rate = [&](double us) { return static_cast<double>(bytes) * 1e-3 / us; };
    ceilings_.push_back({what, bytes, method_, rate(median(samples)), rate(interval.high), rate(interval.low)});
  }

  void measure_arithmetic(const std::string& what, const std::function<double()>& loop) {
    stage_(what);
    std::vector<double> rates;
    for (int i = 0; i < kRepetitions; ++i) {
      std::vector<double> operations(shares_.size());
      const double us = time_us([&](std::size_t worker) { operations[worker] = loop(); });
      double total = 0;
      for (const double flops : operations) total += flops;
      rates.push_back(total * 1e-3 / us);
    }
    const Interval interval = median_interval(rates);
    const double best = *std::max_element(rates.begin(), rates.end());
    ceilings_.push_back({what, 0, method_, best, interval.low, std::max(best, interval.high)});
  }

  const CalibrateRequest& request_;
  WorkerThreads& threads_;
  CacheFlush& flush_;
  const StageCallback& stage_;
  std::string method_;
  std::vector<std::vector<std::uint64_t>> shares_;  // one per thread
  std::vector<Ceiling> ceilings_;
};

}  // namespace

std::vector<Ceiling> measure_cpu_ceilings(const CalibrateRequest& request, WorkerThreads& threads, CacheFlush& flush,
                                          const StageCallback& stage) {
  return Calibration(request, threads, flush, stage).run();
}

}  // namespace tunebook
