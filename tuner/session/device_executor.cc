#include "session/device_executor.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/statistics.h"
#include "session/clock_lock.h"
#include "session/compile_cost.h"
#include "session/compile_pool.h"
#include "session/compile_slots.h"
#include "session/finalist_timer.h"
#include "session/profiler.h"
#include "session/runner.h"
#include "session/sanitizer.h"
#include "session/subject.h"
#include "session/timing_plan.h"
#include "session/verification_plan.h"
#include "worker/method.h"

namespace tunebook {
namespace {

constexpr double kStopPollSeconds = 0.2;
constexpr double kEndSeconds = 5;  // a process that was asked to end, or killed, and gives the device back
constexpr double kEnergySeconds = 1;  // of repetition: the counters are renewed some ten times a second only
constexpr double kHelloSeconds = kWorkerStartSeconds + 5;
// For each compile that runs one is queued, so that no worker waits for this process.
constexpr std::size_t kQueuedPerCompile = 2;
constexpr int kReferencePriority = 1;  // before every candidate: nothing can be verified without it
constexpr std::int64_t kReferenceId = -1;
constexpr std::int64_t kForesightId = -2;
// With fewer compiles at once, compiling ahead would take longer than it saves; on the cpu device it would take the cores that are measured.
constexpr int kForesightCapacity = 8;

WorkerCommand command_for(const std::string& kind, const std::string& device) {
  WorkerCommand command;
  command.program = worker_program(kind);
  command.device = device;
  return command;
}

std::string kind_name(DeviceChoice::Kind kind) { return kind == DeviceChoice::Kind::cuda ? "cuda" : "cpu"; }

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void fill_times(TrialRecord& record, const Timing& timing) {
  record.samples_us = timing.samples_us;
  record.launches_per_sample = timing.launches_per_sample;
  record.launch_us = timing.launch_us;
  record.conditions = timing.conditions;
  record.energy_j = timing.energy_j;
  record.time_seconds = timing.seconds;
  if (timing.samples_us.empty()) return;
  const Interval interval = median_interval(timing.samples_us);
  record.median_us = median(timing.samples_us);
  record.min_us = *std::min_element(timing.samples_us.begin(), timing.samples_us.end());
  record.ci_low_us = interval.low;
  record.ci_high_us = interval.high;
}

// What the compiler reports, completed by what the driver knows.
void merge_resources(Resources& resources, const Resources& driver) {
  const auto take = [](std::int64_t& value, std::int64_t other) {
    if (other >= 0) value = other;
  };
  take(resources.max_threads_per_block, driver.max_threads_per_block);
  take(resources.blocks_per_sm, driver.blocks_per_sm);
}

}  // namespace

struct DeviceExecutor::Impl {
  struct Job {
    Proposal proposal;
    VerificationPlan::Candidate candidate;
    CompileReply compiled;
  };

  Impl(const KernelTemplate& kernel_template, const DeviceExecutorOptions& executor_options)
      : kernel(kernel_template), options(executor_options) {
    open();
  }

  // ---- opening the device

  void open() {
    const bool automatic = options.device.kind == DeviceChoice::Kind::automatic;
    const auto kind = automatic ? DeviceChoice::Kind::cuda : options.device.kind;
    std::string error = try_open({kind, automatic ? "0" : options.device.argument});
    if (!error.empty() && automatic) {
      const std::string cuda_error = one_line(error);
      error = try_open({DeviceChoice::Kind::cpu, "0"});
      fallback_reason = cuda_error;
      if (!error.empty()) error = fmt::format("no device can run kernels.\ncuda:0: {}\ncpu: {}", cuda_error, error);
    }
    if (!error.empty()) {
      throw InputError(automatic ? error : fmt::format("device {} cannot be used: {}", options.device.text(), error));
    }
  }

  // Starts compile workers and runner together and waits for both to say what they are. Returns what went wrong.
  std::string try_open(const DeviceChoice& choice) {
    runner.reset();
    pool.reset();
    runner_error.clear();
    const std::string kind = kind_name(choice.kind);
    CompilePoolOptions pool_options;
    pool_options.worker = command_for(kind, "");
    pool_options.workers = options.compile_workers;
    pool_options.timeout_s = options.compile_timeout_s;
    pool_options.max_threads_per_worker = max_compile_threads(kind);
    pool_options.slots_file = compile_slots_file().string();
    pool = std::make_unique<CompilePool>(loop, pool_options);
    Runner::Callbacks callbacks;
    callbacks.on_idle = [this] { pump(); };
    callbacks.on_dead = [this](const std::string& error) { runner_error = error; };
    Runner::Limits limits;
    limits.step_s = options.run_timeout_s;
    runner = std::make_unique<Runner>(loop, command_for(kind, choice.text()), limits, std::move(callbacks));
    pool->start();
    loop.run_until([this] { return !runner_error.empty() || !pool->failure().empty() || (runner->hello() && pool->hello()); }, kHelloSeconds);
    if (!runner_error.empty()) return runner_error;
    if (!pool->failure().empty()) return pool->failure();
    if (!runner->hello()) return "the device did not answer in time";
    if (!pool->hello()) return "no compile worker could be started";
    if (!pool->hello()->error.empty()) return pool->hello()->error;
    // A GPU that says what it is may still refuse to be used (exclusive mode, no memory left): then the cpu is taken, if it is no later
    // than now.
    if (kind == "cuda" && options.device.kind == DeviceChoice::Kind::automatic) {
      runner->open_device();
      loop.run_until([this] { return !runner_error.empty() || runner->opened(); }, kHelloSeconds);
      if (!runner_error.empty()) return runner_error;
      if (!runner->opened()) return "the device could not be opened in time";
    }

    device = choice;
    const Hello& hello = *runner->hello();
    identity.device = *hello.device;
    identity.toolchain = pool->hello()->toolchain + (hello.driver.empty() ? "" : "; driver " + hello.driver);
    identity.method = timing_method(kind, options.cache, options.lock_clocks_mhz);
    identity.environment = hello.environment.is_object() ? hello.environment : nlohmann::json::object();
    identity.environment["driver"] = hello.driver;
    identity.environment["compiler"] = pool->hello()->toolchain;
    native_arch = hello.native_arch;
    lock_clocks(kind);
    return {};
  }

  void lock_clocks(const std::string& kind) {
    if (options.lock_clocks_mhz == 0) return;
    if (kind != "cuda") throw InputError(fmt::format("--lock-clocks is for GPUs; the device is {}", kind));
    const nlohmann::json& environment = identity.environment;
    clock_lock.emplace(worker_program(kind), options.lock_clocks_mhz, environment.value("pci", ""), environment.value("uuid", ""));
    identity.environment["locked_sm_clock_mhz"] = options.lock_clocks_mhz;
  }

  // ---- the problem and its reference

  void set_problem(const Problem& problem) {
    plan.emplace(kernel, problem, identity.device, options.seed);
    CompileRequest request;
    request.id = kReferenceId;
    request.source = kernel.reference;
    request.instantiation = instantiate_reference(kernel.spec, problem);
    request.arch = native_arch;
    pool->submit(std::move(request), kReferencePriority, [this](CompileResult result) { on_reference(std::move(result)); });
  }

  void on_reference(CompileResult result) {
    fail_without_compiler(result);
    if (result.reply.outcome != Outcome::ok) {
      throw InputError(fmt::format("kernel {}: the reference {} does not compile: {}", kernel.spec.name, kernel.spec.reference.source,
                                   result.reply.message));
    }
    reference = result.reply;
    runner->set_setup(plan->setup(*reference, false));
  }

  static void fail_without_compiler(const CompileResult& result) {
    if (!result.environment_error.empty()) throw EnvironmentError(result.environment_error);
  }

  // ---- a trial's life

  void submit(Proposal proposal) {
    const std::int64_t order = proposal.order;
    Job& job = jobs[order];
    job.candidate = plan->candidate(proposal.configuration);
    job.proposal = std::move(proposal);
    if (job.candidate.outcome != Outcome::ok) {
      // Not from within the caller: outcomes always come from run_until().
      loop.post([this, order] {
        const auto found = jobs.find(order);
        if (found != jobs.end()) finish(order, found->second.candidate.outcome, found->second.candidate.message);
      });
      return;
    }
    waiting.insert(order);
    dispatch_soon();
  }

  // From the loop, when all proposals of this round are known.
  void dispatch_soon() {
    if (std::exchange(dispatch_posted, true)) return;
    loop.post([this] {
      dispatch_posted = false;
      dispatch();
    });
  }

  // Keeps the pool busy, in the order of proposals; when no more will come, what takes longest to compile begins first, so that
  // the last compiles end together.
  void dispatch() {
    const std::size_t at_once = static_cast<std::size_t>(pool->capacity());
    const std::size_t wanted = closing ? at_once + 1 : at_once * kQueuedPerCompile;
    while (!waiting.empty() && compiling < wanted) {
      auto next = waiting.begin();
      if (closing) {
        next = std::max_element(waiting.begin(), waiting.end(), [this](std::int64_t x, std::int64_t y) {
          return cost.relative_cost(jobs.at(x).proposal.configuration) < cost.relative_cost(jobs.at(y).proposal.configuration);
        });
      }
      const std::int64_t order = *next;
      waiting.erase(next);
      ++compiling;
      pool->submit(compile_request(order, jobs.at(order).proposal.configuration), 0, [this, order](CompileResult result) {
        --compiling;
        dispatch();
        on_compiled(order, std::move(result));
      });
    }
  }

  CompileRequest compile_request(std::int64_t id, const Configuration& configuration) const {
    CompileRequest request;
    request.id = id;
    request.source = kernel.kernel;
    request.instantiation = instantiate(kernel.spec, plan->tuned(), configuration);
    request.arch = compile_architecture(kernel.spec, plan->tuned(), configuration, identity.device, native_arch);
    return request;
  }

  void on_compiled(std::int64_t order, CompileResult result) {
    fail_without_compiler(result);
    const auto found = jobs.find(order);
    if (found == jobs.end()) return;  // cancelled meanwhile
    Job& job = found->second;
    job.compiled = std::move(result.reply);
    cost.observe(job.proposal.configuration, job.compiled.seconds);
    refuse_what_fits_nowhere(job.compiled, job.candidate);
    if (job.compiled.outcome != Outcome::ok) return finish(order, job.compiled.outcome, job.compiled.message);
    ready.insert(order);
    pump();
  }

  // Completes the compiler's report by what the launches ask for.
  void refuse_what_fits_nowhere(CompileReply& compiled, const VerificationPlan::Candidate& candidate) const {
    Resources& resources = compiled.resources;
    const std::vector<PlannedLaunch>& launches = candidate.launches.launches;
    for (const PlannedLaunch& launch : launches) {
      resources.shared_dynamic_bytes = std::max(resources.shared_dynamic_bytes, launch.shape.shared_bytes);
    }
    // Of several kernels the report has the most that any of them needs: the runner tells which fits.
    if (compiled.outcome != Outcome::ok || identity.device.kind != "cuda" || !compiled.other_symbols.empty()) return;
    const LaunchShape& shape = launches.front().shape;
    if (achievable_blocks_per_sm(identity.device.limits, resources, shape.threads()) > 0) return;
    compiled.outcome = Outcome::no_resources;
    compiled.message = fmt::format("no block fits a multiprocessor: {} threads with {} registers each, {} + {} bytes of shared memory", shape.threads(),
                                   resources.registers, std::max<std::int64_t>(0, resources.shared_static_bytes), shape.shared_bytes);
  }

  void foresee(const Configuration& configuration, std::function<void(const Foresight&)> told) {
    VerificationPlan::Candidate candidate = plan->candidate(configuration);
    if (candidate.outcome != Outcome::ok) {
      loop.post([told = std::move(told), outcome = candidate.outcome] { told({outcome, {}}); });
      return;
    }
    ++compiling;
    pool->submit(compile_request(kForesightId, configuration), 0, [this, told = std::move(told), candidate = std::move(candidate)](CompileResult result) {
      --compiling;
      fail_without_compiler(result);
      refuse_what_fits_nowhere(result.reply, candidate);
      dispatch();
      told({result.reply.outcome, result.reply.resources});
    });
  }

  // Gives the runner the earliest proposal that is compiled.
  void pump() {
    if (!runner || !runner->idle() || ready.empty()) return;
    const std::int64_t order = *ready.begin();
    ready.erase(ready.begin());
    const Job& job = jobs.at(order);
    RunRequest request;
    request.id = order;
    for (const auto& applicable : job.candidate.verify) request.verify.push_back(applicable.with(job.compiled));
    request.time = request.verify.back();  // the tuned problem is the last
    request.timing = timing_plan(identity.device.kind, options.cache);
    if (job.proposal.may_abandon && best_us > 0) request.timing.abandon_above_us = best_us * kAbandonMultiple;
    if (options.energy) request.timing.energy_seconds = kEnergySeconds;
    const double timing_s = request.timing.max_seconds + request.timing.energy_seconds;
    // Compiling would disturb times that are taken on the same cores.
    if (identity.device.kind == "cpu") pool->stop_running();
    runner->run(std::move(request), timing_s, [this, order](RunReply reply) { on_run(order, std::move(reply)); });
  }

  void on_run(std::int64_t order, RunReply reply) {
    // Unless the next trial runs already.
    if (identity.device.kind == "cpu" && !runner->running()) pool->continue_running();
    const auto found = jobs.find(order);
    if (found == jobs.end()) return;
    merge_resources(found->second.compiled.resources, reply.resources);
    // The worker does not know of a locked clock.
    const std::string expected = timing_method(identity.device.kind, options.cache);
    if (reply.timing && reply.timing->method != expected) {
      throw EnvironmentError(fmt::format("the worker measures as '{}', this program expects '{}'; they are of different versions: "
                                         "install them together",
                                         reply.timing->method, expected));
    }
    const bool abandoned = reply.outcome == Outcome::ok && reply.timing && reply.timing->abandoned;
    finish(order, abandoned ? Outcome::abandoned : reply.outcome, reply.message, &reply);
  }

  // `reply`: what the runner says, if it got that far.
  void finish(std::int64_t order, Outcome outcome, const std::string& message, const RunReply* reply = nullptr) {
    const auto node = jobs.extract(order);
    if (node.empty()) return;
    const Job& job = node.mapped();
    TrialRecord record;
    record.order = order;
    record.origin = job.proposal.origin;
    record.configuration = job.proposal.configuration;
    record.outcome = outcome;
    record.message = message;
    record.resources = job.compiled.resources;
    record.skipped_problems = job.candidate.skipped_problems;
    record.compile_seconds = job.compiled.seconds;
    if (reply != nullptr) {
      record.verified_problems = reply->verification.problems;
      record.verify_max_error = reply->verification.max_error;
      record.verify_seconds = reply->verification.seconds;
      if (reply->timing) fill_times(record, *reply->timing);
    }
    last_options = job.compiled.options;
    done(std::move(record));
  }

  bool run_until(const std::function<bool()>& finished, double deadline_seconds) {
    const auto over = [&] {
      if (!runner_error.empty()) throw EnvironmentError(fmt::format("device {}: {}", device.text(), runner_error));
      return finished();
    };
    return deadline_seconds < 0 ? loop.run_until(over) : loop.run_until(over, deadline_seconds);
  }

  void cancel() {
    jobs.clear();
    ready.clear();
    waiting.clear();
    // Not the reference: the finalists are timed with its buffers, also where the search ended before it was compiled.
    compiling -= std::min(compiling, pool->cancel_queued(kReferencePriority));
    pool->continue_running();  // it may stand still for a timing that is over now
    if (!runner->idle()) runner->shut_down();
  }

  // ---- finalists

  std::vector<Finalist> time_finalists(const std::vector<Configuration>& configurations, const FinalistPlan& finalist_plan) {
    std::vector<FinalistCandidate> candidates = compile_again(configurations, finalist_plan.stop);
    if (candidates.empty()) return {};
    end_runner();  // one process at a time uses the device
    FinalistTiming timing;
    timing.plan = finalist_plan;
    timing.energy_seconds = kEnergySeconds;
    timing.samples = identity.device.kind == "cpu" ? 5 : 40;
    timing.cache = options.cache;
    timing.step_s = options.run_timeout_s;
    if (finalist_plan.baseline) timing.baseline = baseline_launch(candidates.front().launch);
    FinalistTimes times = time_in_fresh_processes(loop, command_for(kind_name(device.kind), device.text()), plan->setup(*reference, true),
                                                  std::move(candidates), timing);
    baseline = std::move(times.baseline);
    return std::move(times.finalists);
  }

  // On the tuned problem, treated as a candidate is.
  std::optional<ProblemLaunch> baseline_launch(const ProblemLaunch& candidate) const {
    ProblemLaunch launch;
    launch.problem = candidate.problem;
    launch.restore = candidate.restore;
    launch.baseline = evaluate_baseline(kernel.spec, plan->tuned(), identity.device);
    return launch.baseline ? std::optional(launch) : std::nullopt;
  }

  void end_runner() {
    if (!runner) return;
    bool gone = false;
    runner->shut_down([&] { gone = true; });
    loop.run_until([&] { return gone; }, kEndSeconds);
    runner_idle_seconds = runner->idle_seconds();
    runner.reset();
  }

  // From the cache, as a rule; trials taken from the book have not been compiled by this run.
  std::vector<FinalistCandidate> compile_again(const std::vector<Configuration>& configurations, const std::function<bool()>& stop) {
    const std::vector<CompileReply> replies = compile_all(configurations, stop, {});
    std::vector<FinalistCandidate> candidates;
    for (std::size_t i = 0; i < replies.size(); ++i) {
      if (replies[i].outcome != Outcome::ok) continue;
      candidates.push_back({configurations[i], plan->candidate(configurations[i]).verify.back().with(replies[i])});
    }
    return candidates;
  }

  // `further_options` of the compiler. Empty if `stop` said so.
  std::vector<CompileReply> compile_all(const std::vector<Configuration>& configurations, const std::function<bool()>& stop,
                                        const std::vector<std::string>& further_options) {
    std::vector<CompileReply> replies(configurations.size());
    std::size_t answers = 0;
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      CompileRequest request = compile_request(static_cast<std::int64_t>(i), configurations[i]);
      std::vector<std::string>& options_now = request.instantiation.options;
      options_now.insert(options_now.end(), further_options.begin(), further_options.end());
      pool->submit(std::move(request), kReferencePriority, [&, i](CompileResult result) {
        fail_without_compiler(result);
        replies[i] = std::move(result.reply);
        ++answers;
      });
    }
    const auto compiled = [&] { return answers == configurations.size() && reference.has_value(); };
    while (!compiled()) {
      if (stop && stop()) {
        pool->cancel_queued();
        pool.reset();  // its callbacks use what ends here
        return {};
      }
      run_until(compiled, kStopPollSeconds);
    }
    return replies;
  }

  // ---- sanitizer and profiler

  SanitizerChoice sanitizer() const { return choose_sanitizer(identity.device.kind); }

  std::vector<SanitizerVerdict> sanitize(const std::vector<Configuration>& asked, const std::function<bool()>& stop) {
    std::vector<Configuration> configurations;
    std::vector<SanitizerVerdict> all;
    std::vector<std::size_t> places;
    for (const Configuration& configuration : asked) {
      const VerificationPlan::Candidate candidate = plan->candidate(configuration);
      all.push_back({configuration, "", Outcome::ok, false, candidate.message});
      if (candidate.outcome != Outcome::ok) continue;
      places.push_back(all.size() - 1);
      configurations.push_back(configuration);
    }
    if (configurations.empty()) return all;
    const std::vector<SanitizerVerdict> verdicts = sanitize_valid(configurations, stop);
    if (verdicts.empty()) return {};
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = verdicts[i];
    return all;
  }

  std::vector<SanitizerVerdict> sanitize_valid(const std::vector<Configuration>& configurations, const std::function<bool()>& stop) {
    const SanitizerChoice choice = sanitizer();
    const bool on_cpu = identity.device.kind == "cpu";
    const std::vector<CompileReply> replies =
        compile_all(configurations, stop, on_cpu ? std::vector<std::string>{"-fsanitize=address"} : std::vector<std::string>{});
    if (replies.empty()) return {};
    end_runner();  // one process at a time uses the device
    SanitizerRun run;
    run.runner = command_for(kind_name(device.kind), device.text());
    run.setup = plan->setup(*reference, false);
    std::vector<SanitizerCandidate> candidates;
    for (std::size_t i = 0; i < replies.size(); ++i) {
      SanitizerCandidate candidate{configurations[i], {}};
      const auto verify = plan->candidate(configurations[i]).verify;
      std::vector<std::int64_t> applicable;
      for (const auto& one : verify) applicable.push_back(one.problem);
      const std::vector<std::int64_t> chosen = problems_for_sanitizer(run.setup, applicable);
      for (const auto& one : verify) {
        const bool wanted = std::ranges::find(chosen, one.problem) != chosen.end();
        if (wanted && replies[i].outcome == Outcome::ok) candidate.verify.push_back(one.with(replies[i]));
      }
      candidates.push_back(std::move(candidate));
    }
    run.step_s = options.run_timeout_s;
    run.tools = options.sanitizers;
    run.stop = stop;
    std::vector<SanitizerVerdict> verdicts = tunebook::sanitize(loop, choice, run, candidates);
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      if (replies[i].outcome == Outcome::ok) continue;
      verdicts[i].clean = false;
      verdicts[i].note = "it does not compile for the sanitizer: " + replies[i].message;
    }
    return verdicts;
  }

  ProfileReport profile(const Configuration& configuration) {
    const std::vector<FinalistCandidate> candidates = compile_again({configuration}, {});
    end_runner();
    if (candidates.empty()) return {"ncu", "the configuration does not compile"};
    ProfilerRun run;
    run.runner = command_for(kind_name(device.kind), device.text());
    run.setup = plan->setup(*reference, true);
    run.launch = candidates.front().launch;
    run.cache = options.cache;
    run.step_s = options.run_timeout_s;
    return tunebook::profile(loop, identity.device.kind, run);
  }

  const KernelTemplate& kernel;
  DeviceExecutorOptions options;
  EventLoop loop;
  DeviceChoice device;
  ExecutorIdentity identity;
  std::string native_arch;
  std::optional<ClockLock> clock_lock;  // outlives the processes that use the device
  std::unique_ptr<CompilePool> pool;
  std::unique_ptr<Runner> runner;
  std::string runner_error;
  double runner_idle_seconds = 0;  // of the one that is gone
  std::string fallback_reason;
  std::optional<VerificationPlan> plan;
  std::optional<CompileReply> reference;
  Done done = [](TrialRecord) {};
  std::map<std::int64_t, Job> jobs;
  std::set<std::int64_t> waiting;  // for a place in the compile pool
  std::size_t compiling = 0;       // in the pool
  bool closing = false;
  bool dispatch_posted = false;
  CompileCostModel cost;
  std::set<std::int64_t> ready;    // compiled, waiting for the runner
  double best_us = 0;
  std::string last_options;
  std::optional<BaselineRecord> baseline;  // beside the last finalists
};

DeviceExecutor::DeviceExecutor(const KernelTemplate& kernel, const DeviceExecutorOptions& options)
    : impl_(std::make_unique<Impl>(kernel, options)) {}
DeviceExecutor::~DeviceExecutor() = default;

void DeviceExecutor::set_problem(const Problem& problem) { impl_->set_problem(problem); }
const ExecutorIdentity& DeviceExecutor::identity() const { return impl_->identity; }
void DeviceExecutor::on_done(Done done) { impl_->done = std::move(done); }
void DeviceExecutor::submit(Proposal proposal) { impl_->submit(std::move(proposal)); }
void DeviceExecutor::closing() {
  impl_->closing = true;
  impl_->dispatch_soon();
}
bool DeviceExecutor::foresees() const { return impl_->device.kind == DeviceChoice::Kind::cuda && impl_->pool->capacity() >= kForesightCapacity; }
void DeviceExecutor::foresee(const Configuration& configuration, std::function<void(const Foresight&)> done) {
  impl_->foresee(configuration, std::move(done));
}
void DeviceExecutor::set_best(double median_us) { impl_->best_us = median_us; }
bool DeviceExecutor::run_until(const std::function<bool()>& finished, double deadline_seconds) {
  return impl_->run_until(finished, deadline_seconds);
}
void DeviceExecutor::cancel() { impl_->cancel(); }
SanitizerChoice DeviceExecutor::sanitizer() const { return impl_->sanitizer(); }
std::vector<SanitizerVerdict> DeviceExecutor::sanitize(const std::vector<Configuration>& candidates, const std::function<bool()>& stop) {
  return impl_->sanitize(candidates, stop);
}
ProfileReport DeviceExecutor::profile(const Configuration& configuration) { return impl_->profile(configuration); }
std::vector<Finalist> DeviceExecutor::time_finalists(const std::vector<Configuration>& candidates, const FinalistPlan& finalist_plan) {
  return impl_->time_finalists(candidates, finalist_plan);
}
std::optional<BaselineRecord> DeviceExecutor::baseline() const { return impl_->baseline; }
bool DeviceExecutor::counts_energy() const { return impl_->identity.environment.value("energy_counter", false); }
const std::string& DeviceExecutor::fallback_reason() const { return impl_->fallback_reason; }
double DeviceExecutor::idle_seconds() const {
  return impl_->runner ? impl_->runner->idle_seconds() : impl_->runner_idle_seconds;
}
std::set<std::string> DeviceExecutor::notes() const { return impl_->pool ? impl_->pool->notes() : std::set<std::string>(); }
int DeviceExecutor::compile_workers() const { return impl_->pool->workers(); }

Examination DeviceExecutor::examine(const Configuration& configuration) {
  Examination examination;
  const VerificationPlan::Candidate candidate = impl_->plan->candidate(configuration);
  examination.launches = candidate.launches.launches;
  examination.skipped_problems = candidate.skipped_problems;
  bool finished = false;
  on_done([&](TrialRecord record) {
    examination.trial = std::move(record);
    finished = true;
  });
  submit({0, "run", configuration, false});
  run_until([&] { return finished; }, -1);
  examination.compile_options = impl_->last_options;
  return examination;
}

}  // namespace tunebook
