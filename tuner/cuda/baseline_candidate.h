#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "core/baseline.h"
#include "cuda/baseline_module.h"
#include "cuda/problem_buffers.h"
#include "cuda/sampler.h"
#include "worker/message.h"

namespace tunebook {

// A kernel's baseline on one problem: of the algorithms that there are for it (or of those that are enough), the fastest by the method by
// which the kernels are timed and whose result is right (a copy's is not looked at).
class BaselineCandidate {
 public:
  // Never throws for a fault of the baseline, which report() tells then; CudaError for one after which the device cannot be used any
  // more. `stage` is called before each step. The buffers must outlive this.
  BaselineCandidate(const BaselineLaunch& launch, ProblemBuffers& buffers, Sampler& sampler, CacheMode cache, cudaStream_t stream,
                    const std::function<void()>& stage);

  const BaselineReport& report() const { return report_; }
  bool ok() const { return report_.state == BaselineState::ok; }
  // Queues one run on a set of buffers. Throws CudaError, EnvironmentError.
  void launch(std::int64_t set) const;

 private:
  // One way to do it.
  struct Way {
    std::string name;
    std::function<void(std::int64_t set)> queue;
    double us = 0;
  };

  void prepare(const BaselineLaunch& launch, Sampler& sampler, CacheMode cache, const std::function<void()>& stage);
  void find_ways(const BaselineLaunch& launch);
  void add_copies(const BaselineLaunch& launch);
  void add_library(const BaselineLaunch& launch);
  void drop_failing(const std::function<void()>& stage);
  std::string failure_of(const Way& way) const;  // "": it works
  void keep_only(const std::vector<std::string>& names);
  void rank(Sampler& sampler, CacheMode cache, const std::function<void()>& stage);
  void choose(bool verified, const std::function<void()>& stage);
  std::vector<void*> pointers(std::int64_t set) const;
  void fail(BaselineState state, const std::string& message);

  ProblemBuffers& buffers_;
  cudaStream_t stream_;
  std::vector<std::size_t> arguments_;
  std::unique_ptr<BaselineModule::Prepared> prepared_;
  std::vector<Way> ways_;
  const Way* chosen_ = nullptr;
  BaselineReport report_;
};

}  // namespace tunebook
