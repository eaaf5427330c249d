#include "cpu/cpu_runner.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/statistics.h"
#include "cpu/calibration.h"
#include "cpu/asan_runtime.h"
#include "cpu/cpu_device.h"
#include "cpu/host_compiler.h"
#include "worker/method.h"

namespace tunebook {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Outputs are filled with these in the two runs: NaN for every floating type, then small numbers; -1, then others, for integers. In the
// run after timing with a large number, which shows who takes a maximum with what was there.
constexpr std::uint8_t kPoison[2] = {0xff, 0xa5};
constexpr std::uint8_t kPoisonAfterTiming = 0x7b;

// A kernel so slow that the time allowed is over before `min_samples`: this many show whether the first was an accident.
constexpr std::size_t kSlowSamples = 3;

// Samples longer than this are announced one by one, so that the coordinator's clock for "no sign of life" starts anew.
constexpr double kAnnouncedSampleUs = 200e3;

// A candidate's failure, on its way to the reply.
class Rejected : public std::runtime_error {
 public:
  explicit Rejected(Rejection rejection) : std::runtime_error(rejection.message), outcome(rejection.outcome) {}
  Outcome outcome;
};

// Adds the seconds of its life, however that ends.
class AddSeconds {
 public:
  explicit AddSeconds(double& seconds) : seconds_(seconds) {}
  ~AddSeconds() { seconds_ += seconds_since(started_); }
  AddSeconds(const AddSeconds&) = delete;
  AddSeconds& operator=(const AddSeconds&) = delete;

 private:
  double& seconds_;
  Clock::time_point started_ = Clock::now();
};

}  // namespace

CpuRunner::CpuRunner(int cores) : threads_(cores > 0 ? cores : available_cores()), flush_(threads_) {
  try {
    const HostCompiler compiler = find_host_compiler();
    device_ = describe_cpu_device(compiler);
    device_.sm_count = threads_.count();
    toolchain_ = compiler.identity;
    static_cast<void>(device_header_folder());  // without them nothing can be compiled for this device: better said before
    error_ = sanitizer_missing();
  } catch (const std::exception& problem) {
    error_ = problem.what();
  }
}

Hello CpuRunner::hello() {
  Hello hello;
  hello.role = WorkerRole::runner;
  hello.native_arch = "cpu";
  hello.error = error_;
  if (error_.empty()) {
    hello.device = device_;
    hello.toolchain = toolchain_;
    hello.environment = {{"clock", "processor time of all threads, shared out evenly over blocks"}, {"threads", threads_.count()}};
  }
  return hello;
}

template <class Reply, class Step>
void CpuRunner::guarded(Reply& reply, const Step& step) {
  try {
    refuse_if_unusable();
    step();
  } catch (const Rejected& rejected) {
    reply.outcome = rejected.outcome;
    reply.message = rejected.what();
    poisoned_ = poisoned_ || poisons_worker(rejected.outcome);
  } catch (const std::bad_alloc&) {
    reply.outcome = Outcome::out_of_memory;
    reply.message = "not enough memory for the problem's buffers";
  }
}

void CpuRunner::refuse_if_unusable() const {
  if (poisoned_) throw Rejected({Outcome::fault, "an earlier kernel may have damaged this process; it must be replaced"});
}

ProblemBuffers& CpuRunner::find_problem(std::int64_t id) {
  const auto found = problems_.find(id);
  if (found == problems_.end()) throw Rejected({Outcome::launch_error, fmt::format("problem {} was not set up", id)});
  return *found->second;
}

CpuRunner::Candidate CpuRunner::load(const ProblemLaunch& launch) {
  Candidate candidate;
  candidate.problem = &find_problem(launch.problem);
  candidate.nondeterministic = launch.nondeterministic;
  candidate.restore = launch.restore;
  candidate.workspaces = launch.workspaces;
  for (const KernelLaunch& kernel : launch.launches) {
    try {
      candidate.launches.push_back({KernelLibrary(kernel.artifact, kernel.symbol), kernel.shape, kernel.scalars});
    } catch (const std::runtime_error& problem) {
      throw Rejected({Outcome::launch_error, fmt::format("the kernel cannot be loaded: {}", problem.what())});
    }
    const auto static_bytes = static_cast<std::int64_t>(candidate.launches.back().library.static_shared_bytes());
    const std::string violated = launch_limit_violated(kernel.shape, static_bytes, device_.limits);
    if (!violated.empty()) throw Rejected({Outcome::no_resources, violated});
  }
  return candidate;
}

Resources CpuRunner::resources_of(const Candidate& candidate) const {
  Resources resources;
  resources.max_threads_per_block = device_.limits.max_threads_per_block;
  std::optional<Resources> needed;
  for (const Loaded& loaded : candidate.launches) {
    Resources one = resources;
    one.shared_static_bytes = static_cast<std::int64_t>(loaded.library.static_shared_bytes());
    one.shared_dynamic_bytes = loaded.shape.shared_bytes;
    one.blocks_per_sm = achievable_blocks_per_sm(device_.limits, one, loaded.shape.threads());
    needed = needed ? most_needed(*needed, one) : one;
  }
  return needed.value_or(resources);
}

// Returns microseconds.
double CpuRunner::launch_once(Candidate& candidate, std::optional<std::uint8_t> shared_poison) {
  if (candidate.copy) return candidate.copy->run(threads_);
  double total_us = 0;
  for (Loaded& loaded : candidate.launches) {
    GridLaunch launch;
    launch.entry = loaded.library.entry();
    launch.arguments = candidate.problem->arguments(loaded.scalars);
    launch.shape = loaded.shape;
    launch.static_shared = loaded.library.static_shared_ranges();
    launch.shared_poison = shared_poison;
    const LaunchResult result = run_grid(threads_, launch);
    if (result.failure) {
      const KernelFailure& failure = *result.failure;
      const std::string where = failure.address == nullptr ? "" : candidate.problem->describe_address(failure.address);
      std::string message = fmt::format("{}: {}", candidate.problem->setup().display, failure.message);
      if (!where.empty()) message += ", " + where;
      if (where.empty() && failure.address != nullptr) message += fmt::format(", address {}", failure.address);
      throw Rejected({failure.outcome, message});
    }
    total_us += result.time_us;
  }
  return total_us;
}

void CpuRunner::prepare_problem(const ProblemSetup& setup, const StageCallback& stage) {
  stage("set up " + setup.display);
  const auto [position, added] = problems_.emplace(setup.problem, std::make_unique<ProblemBuffers>(setup, threads_));
  if (!added) throw Rejected({Outcome::launch_error, fmt::format("problem {} is given twice", setup.problem)});
  ProblemBuffers& problem = *position->second;
  ProblemLaunch launch;
  launch.problem = setup.problem;
  launch.launches = {setup.reference};
  Candidate reference = load(launch);
  problem.prepare(kPoison[0]);
  problem.make_workspaces({}, kPoison[0]);
  stage("reference " + setup.display);
  launch_once(reference, kPoison[0]);
  problem.keep_expected();
  double unused = 0;
  if (const auto rejection = problem.check(unused)) throw Rejected(*rejection);  // inputs and guard bytes
}

SetupReply CpuRunner::setup(const SetupRequest& request, const StageCallback& stage) {
  const auto started = Clock::now();
  SetupReply reply;
  reply.id = request.id;
  problems_.clear();
  guarded(reply, [&] {
    for (const ProblemSetup& setup : request.problems) prepare_problem(setup, stage);
  });
  if (reply.outcome != Outcome::ok) reply.message = "reference: " + reply.message;
  reply.seconds = seconds_since(started);
  return reply;
}

void CpuRunner::verify(Candidate& candidate, Verification& verification, std::span<const std::uint8_t> poisons) {
  const AddSeconds clock(verification.seconds);
  ProblemBuffers& problem = *candidate.problem;
  for (std::size_t round = 0; round < poisons.size(); ++round) {
    problem.prepare(poisons[round]);
    problem.make_workspaces(candidate.workspaces, poisons[round]);
    launch_once(candidate, poisons[round]);
    if (const auto rejection = problem.check(verification.max_error)) {
      // It may have written to the buffers of any problem; the next candidate must not be blamed for it.
      for (const auto& [id, buffers] : problems_) buffers->repair();
      throw Rejected(*rejection);
    }
    if (candidate.nondeterministic) continue;
    if (round == 0) {
      problem.keep_first_run();
    } else if (const auto rejection = problem.compare_with_first_run()) {
      throw Rejected(*rejection);
    }
  }
}

// What a kernel keeps in its own memory from launch to launch may have spoiled it.
void CpuRunner::verify_after_timing(Candidate& candidate, Verification& verification) {
  try {
    verify(candidate, verification, std::span(&kPoisonAfterTiming, 1));
  } catch (const Rejected& rejected) {
    throw Rejected({rejected.outcome, fmt::format("right at first, but not after it was timed: {}", rejected.what())});
  }
}

double CpuRunner::timed_sample(Candidate& candidate, CacheMode cache) {
  if (candidate.restore) candidate.problem->restore_changed_inputs();
  if (cache == CacheMode::cold) flush_();
  return launch_once(candidate);
}

Timing CpuRunner::time(Candidate& candidate, const TimingPlan& plan, bool warm, const StageCallback& stage) {
  const auto started = Clock::now();
  Timing timing;
  timing.method = timing_method("cpu", plan.cache);
  if (!warm) {
    candidate.problem->restore_changed_inputs();
    candidate.problem->make_workspaces(candidate.workspaces, kPoison[0]);
    launch_once(candidate);
  }
  std::vector<double>& samples = timing.samples_us;
  while (static_cast<std::int64_t>(samples.size()) < std::max<std::int64_t>(plan.max_samples, 1)) {
    if (!samples.empty() && samples.back() > kAnnouncedSampleUs) stage("time");
    samples.push_back(timed_sample(candidate, plan.cache));
    const bool enough = static_cast<std::int64_t>(samples.size()) >= plan.min_samples;
    const bool out_of_time = seconds_since(started) >= plan.max_seconds;
    const bool slow = out_of_time && samples.size() >= kSlowSamples;
    if (!enough && !slow) continue;
    const Interval interval = median_interval(samples);
    if (plan.abandon_above_us > 0 && interval.low > plan.abandon_above_us) {
      timing.abandoned = true;
      break;
    }
    if (out_of_time || interval.high - interval.low <= plan.target_relative_width * median(samples)) break;
  }
  timing.seconds = seconds_since(started);
  return timing;
}

RunReply CpuRunner::run(const RunRequest& request, const StageCallback& stage) {
  RunReply reply;
  reply.id = request.id;
  guarded(reply, [&] {
    bool warm = false;
    for (const ProblemLaunch& launch : request.verify) {
      stage("load");
      Candidate candidate = load(launch);
      reply.resources = resources_of(candidate);
      stage("verify " + candidate.problem->setup().display);
      verify(candidate, reply.verification, kPoison);
      ++reply.verification.problems;
      warm = request.time && launch.problem == request.time->problem;  // its second run warmed up
    }
    if (!request.time) return;
    Candidate candidate = load(*request.time);
    reply.resources = resources_of(candidate);
    stage("time");
    Timing timing = time(candidate, request.timing, warm, stage);
    if (!request.verify.empty()) {
      stage("verify after timing");
      verify_after_timing(candidate, reply.verification);
    }
    if (timing.abandoned) reply.outcome = Outcome::abandoned;
    reply.timing = std::move(timing);
  });
  return reply;
}

BaselineReport CpuRunner::load_baseline(const BaselineLaunch& launch, Candidate& candidate) {
  if (launch.operation != "copy") {
    return {BaselineState::unavailable, "", fmt::format("the cpu device has no library for the baseline {}", launch.operation)};
  }
  try {
    candidate.copy.emplace(launch, *candidate.problem);
  } catch (const std::runtime_error& problem) {
    return {BaselineState::failed, "memcpy", problem.what()};
  }
  return {BaselineState::ok, "memcpy", "by all threads"};
}

InterleaveReply CpuRunner::interleave(const InterleaveRequest& request, const StageCallback& stage) {
  const auto started = Clock::now();
  InterleaveReply reply;
  reply.id = request.id;
  guarded(reply, [&] {
    std::vector<Candidate> candidates;
    // All candidates work in the same workspaces in turn, and leave zero where it was.
    std::vector<WorkspaceSize> workspaces;
    for (const ProblemLaunch& launch : request.candidates) enlarge(workspaces, launch.workspaces);
    for (const ProblemLaunch& launch : request.candidates) find_problem(launch.problem).make_workspaces(workspaces, kPoison[0]);
    std::vector<std::size_t> places;  // of the candidates in the request: a baseline that is not there is not timed
    for (std::size_t i = 0; i < request.candidates.size(); ++i) {
      stage("load");
      Candidate candidate = load(request.candidates[i]);
      if (const auto& baseline = request.candidates[i].baseline) {
        reply.baseline = load_baseline(*baseline, candidate);
        if (reply.baseline->state != BaselineState::ok) continue;
      }
      candidates.push_back(std::move(candidate));
      places.push_back(i);
      stage("time");
      candidates.back().problem->restore_changed_inputs();
      launch_once(candidates.back());
    }
    std::vector<Timing> timings(candidates.size());
    for (std::int64_t round = 0; round < std::max<std::int64_t>(request.samples, 1); ++round) {
      if (round > 0 && seconds_since(started) >= request.max_seconds) break;
      stage("time");
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        const std::size_t which = (i + static_cast<std::size_t>(round)) % candidates.size();
        timings[which].samples_us.push_back(timed_sample(candidates[which], request.cache));
      }
    }
    reply.timings.resize(request.candidates.size());
    for (std::size_t i = 0; i < timings.size(); ++i) {
      timings[i].method = timing_method("cpu", request.cache);
      timings[i].seconds = seconds_since(started);
      reply.timings[places[i]] = std::move(timings[i]);
    }
  });
  return reply;
}

CalibrateReply CpuRunner::calibrate(const CalibrateRequest& request, const StageCallback& stage) {
  CalibrateReply reply;
  reply.id = request.id;
  guarded(reply, [&] { reply.ceilings = measure_cpu_ceilings(request, threads_, flush_, stage); });
  return reply;
}

}  // namespace tunebook
