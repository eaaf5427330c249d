#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cpu/cache_flush.h"
#include "cpu/copy_baseline.h"
#include "cpu/kernel_library.h"
#include "cpu/problem_buffers.h"
#include "cpu/worker_threads.h"
#include "worker/worker_main.h"

namespace tunebook {

// Runs compiled kernels on all cores this process may use: verifies and times them.
//
// After a fault or a divergent barrier the kernel may have damaged this process: the reply says so (poisons_worker), and
// further requests are refused.
class CpuRunner : public RunnerBackend {
 public:
  // `cores` 0: all available. Never throws: what is missing is told by hello().
  explicit CpuRunner(int cores = 0);
  Hello hello() override;
  SetupReply setup(const SetupRequest& request, const StageCallback& stage) override;
  RunReply run(const RunRequest& request, const StageCallback& stage) override;
  InterleaveReply interleave(const InterleaveRequest& request, const StageCallback& stage) override;
  CalibrateReply calibrate(const CalibrateRequest& request, const StageCallback& stage) override;

 private:
  struct Loaded {
    KernelLibrary library;
    LaunchShape shape;
    std::vector<ScalarValue> scalars;
  };
  // The kernels of one configuration on one problem.
  struct Candidate {
    ProblemBuffers* problem = nullptr;
    std::vector<Loaded> launches;
    std::vector<WorkspaceSize> workspaces;
    bool nondeterministic = false;
    bool restore = false;
    std::optional<CopyBaseline> copy = std::nullopt;  // instead of launches
  };

  // Throw Rejected for what ends the trial.
  Candidate load(const ProblemLaunch& launch);
  ProblemBuffers& find_problem(std::int64_t id);
  double launch_once(Candidate& candidate, std::optional<std::uint8_t> shared_poison = std::nullopt);
  double timed_sample(Candidate& candidate, CacheMode cache);
  // Makes the candidate a baseline if there is one for this device.
  static BaselineReport load_baseline(const BaselineLaunch& launch, Candidate& candidate);
  void prepare_problem(const ProblemSetup& setup, const StageCallback& stage);
  // Runs that start from different garbage must all be right, and equal. One run for each of `poisons`, which are one or two.
  void verify(Candidate& candidate, Verification& verification, std::span<const std::uint8_t> poisons);
  void verify_after_timing(Candidate& candidate, Verification& verification);
  Timing time(Candidate& candidate, const TimingPlan& plan, bool warm, const StageCallback& stage);
  void refuse_if_unusable() const;
  Resources resources_of(const Candidate& candidate) const;

  // Runs `step`; what it throws becomes the reply's outcome and message.
  template <class Reply, class Step>
  void guarded(Reply& reply, const Step& step);

  Device device_;
  std::string toolchain_;
  std::string error_;
  WorkerThreads threads_;
  CacheFlush flush_;
  std::map<std::int64_t, std::unique_ptr<ProblemBuffers>> problems_;
  bool poisoned_ = false;
};

}  // namespace tunebook
