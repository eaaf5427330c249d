#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "cuda/baseline_candidate.h"
#include "cuda/calibration.h"
#include "cuda/cuda_backend.h"
#include "cuda/cuda_error.h"
#include "cuda/device_info.h"
#include "cuda/loaded_kernel.h"
#include "cuda/nvml_device.h"
#include "cuda/nvml_library.h"
#include "cuda/problem_buffers.h"
#include "cuda/sampler.h"

namespace tunebook {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The kernels of one request, each cubin loaded once.
class KernelSet {
 public:
  PreparedLaunches prepare(const ProblemLaunch& problem) {
    PreparedLaunches prepared;
    prepared.workspaces = problem.workspaces;
    std::optional<Resources> needed;
    for (const KernelLaunch& launch : problem.launches) {
      std::shared_ptr<LoadedKernel>& kernel = kernels_[{launch.artifact, launch.symbol}];
      if (!kernel) kernel = std::make_shared<LoadedKernel>(launch.artifact, launch.symbol);
      prepared.launches.push_back({kernel, launch.shape, launch.scalars});
      const Resources resources = kernel->prepare(launch.shape);
      needed = needed ? most_needed(*needed, resources) : resources;
    }
    resources_ = needed.value_or(Resources{});
    return prepared;
  }
  // Of the launches prepared last.
  const Resources& resources() const { return resources_; }

 private:
  std::map<std::pair<std::string, std::string>, std::shared_ptr<LoadedKernel>> kernels_;
  Resources resources_;
};

class CudaRunner : public RunnerBackend {
 public:
  explicit CudaRunner(const std::string& device) {
    // Both take their time to start, and neither waits for the other.
    std::string no_nvml;
    auto nvml = std::async(std::launch::async, [&no_nvml] { return NvmlLibrary::open(no_nvml); });
    try {
      ordinal_ = parse_cuda_device(device);
      find_device(ordinal_);
      const std::shared_ptr<const NvmlLibrary> library = nvml.get();
      hello_ = describe_device(ordinal_, library ? library->driver_text() : "");
      nvml_ = NvmlDevice::find(library, hello_.environment.value("pci", ""), hello_.environment.value("uuid", ""), no_nvml);
      if (nvml_) {
        hello_.environment.update(nvml_->environment());
      } else {
        hello_.environment["nvml"] = no_nvml;
      }
    } catch (const std::exception& error) {
      hello_ = Hello{};
      hello_.role = WorkerRole::runner;
      hello_.environment = nlohmann::json::object();
      hello_.error = error.what();
    }
  }

  Hello hello() override { return hello_; }

  void warm_up() override {
    open_device(ordinal_);
    stream_ = std::make_unique<Stream>();
  }

  SetupReply setup(const SetupRequest& request, const StageCallback& stage) override {
    require_usable();
    const auto start = std::chrono::steady_clock::now();
    SetupReply reply;
    reply.id = request.id;
    problems_.clear();
    if (sampler_) sampler_->forget_problems();
    guarded(reply, [&] {
      for (const ProblemSetup& problem : request.problems) {
        stage("setup " + problem.display);
        problems_[problem.problem] = std::make_unique<ProblemBuffers>(problem, stream_->get());
      }
    });
    if (reply.outcome != Outcome::ok && !unusable_) problems_.clear();
    reply.seconds = seconds_since(start);
    return reply;
  }

  RunReply run(const RunRequest& request, const StageCallback& stage) override {
    require_usable();
    RunReply reply;
    reply.id = request.id;
    guarded(reply, [&] {
      stage("load");
      KernelSet kernels;
      std::vector<PreparedLaunches> to_verify;
      for (const ProblemLaunch& problem : request.verify) to_verify.push_back(kernels.prepare(problem));
      std::optional<PreparedLaunches> to_time;
      if (request.time) to_time = kernels.prepare(*request.time);
      reply.resources = kernels.resources();
      if (!verify(request, to_verify, stage, reply)) return;
      if (to_time) time(request, *to_time, stage, reply);
    });
    return reply;
  }

  InterleaveReply interleave(const InterleaveRequest& request, const StageCallback& stage) override {
    require_usable();
    InterleaveReply reply;
    reply.id = request.id;
    guarded(reply, [&] {
      stage("load");
      KernelSet kernels;
      std::vector<PreparedLaunches> launches;
      for (const ProblemLaunch& candidate : request.candidates) launches.push_back(kernels.prepare(candidate));
      share_workspaces(request.candidates, launches);
      std::unique_ptr<BaselineCandidate> baseline;
      std::vector<Sampler::Candidate> candidates;
      std::vector<std::size_t> places;  // of the candidates in the request: a baseline that is not ok is not timed
      for (std::size_t i = 0; i < launches.size(); ++i) {
        const ProblemLaunch& wanted = request.candidates[i];
        Sampler::Candidate candidate{&problem(wanted.problem), &launches[i], wanted.restore};
        if (wanted.baseline) {
          baseline = prepare_baseline(*wanted.baseline, *candidate.problem, request.cache, stage);
          reply.baseline = baseline->report();
          if (!baseline->ok()) continue;
          candidate.baseline = [&baseline](std::int64_t set) { baseline->launch(set); };
        }
        candidates.push_back(std::move(candidate));
        places.push_back(i);
      }
      std::vector<Timing> timings = sampler().interleave(candidates, request.samples, request.max_seconds, request.cache,
                                                         request.energy_seconds, [&] { stage("time"); });
      reply.timings.resize(launches.size());
      for (std::size_t i = 0; i < timings.size(); ++i) reply.timings[places[i]] = std::move(timings[i]);
    });
    return reply;
  }

  CalibrateReply calibrate(const CalibrateRequest& request, const StageCallback& stage) override {
    require_usable();
    CalibrateReply reply;
    reply.id = request.id;
    guarded(reply, [&] { reply.ceilings = measure_ceilings(request, sampler(), stream_->get(), stage); });
    return reply;
  }

 private:
  void require_usable() {
    if (!hello_.error.empty()) throw EnvironmentError(hello_.error);
    if (unusable_) throw EnvironmentError("the GPU cannot be used by this process after a fault: start another runner");
    if (!stream_) warm_up();
  }

  // A candidate's failures become the reply's outcome.
  template <typename Reply, typename Body>
  void guarded(Reply& reply, Body body) {
    try {
      body();
    } catch (const LaunchRefused& refused) {
      reply.outcome = refused.outcome();
      reply.message = refused.what();
    } catch (const CudaError& error) {
      reply.outcome = error.outcome();
      reply.message = error.what();
      unusable_ = poisons_worker(reply.outcome);
      // Memory that cannot be had may have been asked for half-way through a queue of launches.
      if (!unusable_) cudaStreamSynchronize(stream_->get());
    } catch (const EnvironmentError& error) {
      reply.outcome = Outcome::wrong_result;
      reply.message = error.what();
    }
  }

  void share_workspaces(const std::vector<ProblemLaunch>& candidates, const std::vector<PreparedLaunches>& launches) {
    std::map<std::int64_t, std::vector<const PreparedLaunches*>> by_problem;
    for (std::size_t i = 0; i < launches.size(); ++i) by_problem[candidates[i].problem].push_back(&launches[i]);
    for (const auto& [number, all] : by_problem) problem(number).share_workspaces(all);
  }

  ProblemBuffers& problem(std::int64_t number) {
    const auto found = problems_.find(number);
    if (found == problems_.end()) throw std::invalid_argument(fmt::format("problem {} was not set up", number));
    return *found->second;
  }

  bool verify(const RunRequest& request, const std::vector<PreparedLaunches>& launches, const StageCallback& stage, RunReply& reply) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < launches.size() && reply.outcome == Outcome::ok; ++i) {
      ProblemBuffers& buffers = problem(request.verify[i].problem);
      stage("verify " + buffers.display());
      const Judgement verdict = buffers.verify(launches[i], request.verify[i].nondeterministic);
      reply.outcome = verdict.outcome;
      reply.message = verdict.message;
      reply.verification.max_error = std::max(reply.verification.max_error, verdict.max_error);
      if (verdict.outcome == Outcome::ok) ++reply.verification.problems;
    }
    if (reply.outcome != Outcome::ok) repair(stage);
    reply.verification.seconds = seconds_since(start);
    return reply.outcome == Outcome::ok;
  }

  // A wild write may have hit the buffers of any problem; the next candidate must not be blamed for it.
  void repair(const StageCallback& stage) {
    stage("repair");
    for (const auto& [number, buffers] : problems_) buffers->repair();
  }

  // What a kernel keeps in its own memory from launch to launch may have spoiled it.
  void verify_after_timing(ProblemBuffers& buffers, const PreparedLaunches& launches, const StageCallback& stage, RunReply& reply) {
    const auto start = std::chrono::steady_clock::now();
    stage("verify after timing");
    const Judgement verdict = buffers.verify_once(launches);
    if (verdict.outcome != Outcome::ok) {
      reply.outcome = verdict.outcome;
      reply.message = fmt::format("right at first, but not after it was timed: {}", verdict.message);
      reply.timing.reset();
      repair(stage);
    }
    reply.verification.seconds += seconds_since(start);
  }

  void time(const RunRequest& request, const PreparedLaunches& launches, const StageCallback& stage, RunReply& reply) {
    const Sampler::Candidate candidate{&problem(request.time->problem), &launches, request.time->restore};
    candidate.problem->share_workspaces({&launches});
    reply.timing = sampler().measure(candidate, request.timing, [&] { stage("time"); });
    if (reply.timing->abandoned) reply.outcome = Outcome::abandoned;
    if (!request.verify.empty()) verify_after_timing(*candidate.problem, launches, stage, reply);
  }

  std::unique_ptr<BaselineCandidate> prepare_baseline(const BaselineLaunch& launch, ProblemBuffers& buffers, CacheMode cache,
                                                      const StageCallback& stage) {
    return std::make_unique<BaselineCandidate>(launch, buffers, sampler(), cache, stream_->get(), [&] { stage("baseline"); });
  }

  // Made when first needed: the start of the process is not delayed by it.
  Sampler& sampler() {
    if (!sampler_) sampler_ = std::make_unique<Sampler>(hello_.device->limits.l2_bytes, stream_->get(), nvml_.get());
    return *sampler_;
  }

  int ordinal_ = 0;
  Hello hello_;
  bool unusable_ = false;
  std::unique_ptr<NvmlDevice> nvml_;  // null where there is no NVML
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Sampler> sampler_;
  std::map<std::int64_t, std::unique_ptr<ProblemBuffers>> problems_;
};

}  // namespace

std::unique_ptr<RunnerBackend> make_cuda_runner(const std::string& device) { return std::make_unique<CudaRunner>(device); }

}  // namespace tunebook
