#include "session/compile_pool.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "session/host_resources.h"

namespace tunebook {
namespace {

// A worker that dies without compiling anything is tried again, as a machine out of memory for a moment recovers; three such
// deaths in a row are not chance.
constexpr int kStartAttempts = 3;
constexpr std::size_t kQuotedOutputBytes = std::size_t{2} << 10;

std::string_view tail(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text.substr(text.size() - std::min(text.size(), kQuotedOutputBytes));
}

std::string with_output(std::string message, const LostReason& reason) {
  if (const auto output = tail(reason.error_output); !output.empty()) message += fmt::format(":\n{}", output);
  return message;
}

// The answer to a job whose worker died of it.
CompileReply reply_of_lost_worker(const LostReason& reason) {
  CompileReply reply;
  reply.outcome = Outcome::compile_error;
  switch (reason.kind) {
    case LostReason::Kind::deadline:
      reply.outcome = Outcome::compile_timeout;
      reply.seconds = reason.deadline_s;
      reply.message = fmt::format("the compiler did not finish within {:g} s", reason.deadline_s);
      break;
    case LostReason::Kind::signalled:
      reply.message = reason.code == 9 ? "the compiler was killed by signal 9 (out of memory?)"
                                       : fmt::format("the compiler crashed (signal {})", reason.code);
      reply.message = with_output(std::move(reply.message), reason);
      break;
    default: reply.message = with_output(fmt::format("the compiler {}", reason.describe()), reason);
  }
  return reply;
}

}  // namespace

struct CompilePool::Impl {
  // Highest priority first, then in order of submission.
  using QueueKey = std::pair<int, JobId>;
  struct Job {
    CompileRequest request;
    std::int64_t caller_id = 0;
    Callback callback;
    QueueKey key;
    bool alone = false;  // was in a process that died with several: shares none any more
  };
  struct Slot {
    std::unique_ptr<WorkerProcess> worker;
    std::map<JobId, Job> jobs;  // by the id of the request as the worker has it
    bool held = false;          // while handing out: gets no more, as a job that needs a process for itself waits for it

    bool starting() const { return worker && jobs.empty() && !worker->ready(); }
    bool has_lone_job() const { return jobs.size() == 1 && jobs.begin()->second.alone; }
  };

  Impl(EventLoop& event_loop, CompilePoolOptions pool_options) : loop(event_loop), options(std::move(pool_options)) {
    options.worker.role = WorkerRole::compiler;
    const int at_once = default_compile_workers(read_host_resources());  // cores, as far as there is memory for each
    if (options.workers <= 0) options.workers = at_once;
    if (options.threads_per_worker <= 0) {
      options.threads_per_worker = std::clamp(at_once / options.workers, 1, std::max(options.max_threads_per_worker, 1));
    }
    options.worker.max_in_flight = options.threads_per_worker;
    slots.resize(static_cast<std::size_t>(options.workers));
  }

  EventLoop& loop;
  CompilePoolOptions options;
  std::vector<Slot> slots;
  std::map<QueueKey, Job> queue;
  std::map<JobId, QueueKey> queued_keys;
  JobId last_id = 0;
  bool started = false;
  bool paused = false;
  bool stopped = false;
  bool dispatch_posted = false;
  std::function<void()> on_quiet;
  int failures_in_row = 0;
  std::string environment_error;
  std::optional<Hello> hello;
  CompileStatistics counts;  // what accumulates
  std::shared_ptr<int> alive = std::make_shared<int>();  // expires with the pool: for what was posted to the loop

  void start_worker(Slot& slot);
  void worker_ready(const Hello& found);
  void worker_lost(Slot& slot, const LostReason& reason);
  void attempt_failed(Slot& slot, std::string why);
  void job_done(Slot& slot, JobId id, CompileReply reply);
  void put_back(std::map<JobId, Job> jobs, bool alone);
  void fail_queued();
  void request_dispatch();
  void dispatch();
  Slot* choose_slot(bool alone);
  void hand_out(Slot& slot, QueueKey key);
  void announce_quiet();
  bool running() const;
  bool none_left() const;
};

void CompilePool::Impl::start_worker(Slot& slot) {
  WorkerCallbacks callbacks;
  callbacks.on_hello = [this, &slot](const Hello& found) {
    if (found.error.empty()) {
      worker_ready(found);
    } else {
      failures_in_row = kStartAttempts;  // it knows itself that it is of no use: trying again does not help
      attempt_failed(slot, found.error);
    }
  };
  callbacks.on_reply = [this, &slot](Reply reply) {
    auto& compiled = std::get<CompileReply>(reply);
    const JobId id = compiled.id;
    job_done(slot, id, std::move(compiled));
  };
  callbacks.on_lost = [this, &slot](const LostReason& reason) { worker_lost(slot, reason); };
  slot.worker = std::make_unique<WorkerProcess>(loop, options.worker, std::move(callbacks), options.start_timeout_s);
}

void CompilePool::Impl::worker_ready(const Hello& found) {
  if (!hello) hello = found;
  request_dispatch();
}

void CompilePool::Impl::worker_lost(Slot& slot, const LostReason& reason) {
  if (slot.jobs.empty()) {
    ++failures_in_row;
    const bool names_itself = reason.kind == LostReason::Kind::could_not_start;
    attempt_failed(slot, with_output(names_itself ? reason.describe() : fmt::format("the compile worker {} {}",
                                                                                     options.worker.program, reason.describe()),
                                     reason));
    return;
  }
  ++counts.workers_lost;
  if (reason.kind == LostReason::Kind::deadline) ++counts.timed_out;
  // Whose fault it was is known if there was only one job, or if one was not answered in time.
  std::optional<JobId> culprit = reason.request;
  if (!culprit && slot.jobs.size() == 1) culprit = slot.jobs.begin()->first;
  std::map<JobId, Job> innocent = std::exchange(slot.jobs, {});
  if (culprit) slot.jobs.insert(innocent.extract(*culprit));
  put_back(std::move(innocent), !culprit);
  CompileReply reply = reply_of_lost_worker(reason);
  start_worker(slot);
  if (culprit) {
    job_done(slot, *culprit, std::move(reply));
  } else if (on_quiet && !running()) {
    announce_quiet();
  }
}

void CompilePool::Impl::put_back(std::map<JobId, Job> jobs, bool alone) {
  for (auto& [id, job] : jobs) {
    job.alone = job.alone || alone;
    queued_keys.emplace(id, job.key);
    queue.emplace(job.key, std::move(job));
  }
  request_dispatch();
}

void CompilePool::Impl::attempt_failed(Slot& slot, std::string why) {
  slot.worker.reset();
  if (failures_in_row < kStartAttempts) {
    start_worker(slot);
    return;
  }
  environment_error = std::move(why);
  // As long as another worker lives, the session goes on with fewer.
  if (none_left()) fail_queued();
}

void CompilePool::Impl::job_done(Slot& slot, JobId id, CompileReply reply) {
  const Job job = std::move(slot.jobs.extract(id).mapped());
  failures_in_row = 0;
  reply.id = job.caller_id;
  ++counts.finished;
  if (reply.cached) ++counts.cached;
  counts.compile_seconds += reply.seconds;
  request_dispatch();
  if (on_quiet && !running()) announce_quiet();
  job.callback(CompileResult{std::move(reply), ""});
}

void CompilePool::Impl::fail_queued() {
  // A callback may submit the next job, which fails in the next round of the loop.
  const auto failed = std::exchange(queue, {});
  queued_keys.clear();
  for (const auto& [key, job] : failed) {
    CompileResult result;
    result.reply.id = job.caller_id;
    result.environment_error = environment_error;
    job.callback(std::move(result));
  }
}

// Jobs are handed out from the loop, so that several submitted together go by their priority.
void CompilePool::Impl::request_dispatch() {
  if (std::exchange(dispatch_posted, true)) return;
  loop.post([this, guard = std::weak_ptr<int>(alive)] {
    if (guard.expired()) return;
    dispatch_posted = false;
    dispatch();
  });
}

void CompilePool::Impl::dispatch() {
  if (started && none_left()) {
    fail_queued();
    return;
  }
  if (paused || stopped) return;
  for (Slot& slot : slots) slot.held = false;
  for (auto next = queue.begin(); next != queue.end();) {
    const auto [key, alone] = std::pair(next->first, next->second.alone);
    ++next;  // handing it out takes it from the queue
    Slot* slot = choose_slot(alone);
    if (slot != nullptr) {
      hand_out(*slot, key);
    } else if (!alone) {
      return;
    }
  }
}

// The worker with the fewest jobs that can take one more. For a job that needs a process for itself an idle one; if there is none, the
// one that will be idle first gets no others, so that the job's turn comes.
CompilePool::Impl::Slot* CompilePool::Impl::choose_slot(bool alone) {
  Slot* best = nullptr;
  for (Slot& slot : slots) {
    if (!slot.worker || slot.held || slot.has_lone_job()) continue;
    if (!slot.worker->ready() && !(alone && slot.starting())) continue;
    const auto rank = [](const Slot& any) { return std::pair(any.jobs.size(), any.starting()); };
    if (best == nullptr || rank(slot) < rank(*best)) best = &slot;
  }
  if (!alone || best == nullptr || (best->jobs.empty() && best->worker->ready())) return best;
  best->held = true;
  return nullptr;
}

void CompilePool::Impl::hand_out(Slot& slot, QueueKey key) {
  auto node = queue.extract(key);
  queued_keys.erase(key.second);
  const Job& job = slot.jobs.emplace(key.second, std::move(node.mapped())).first->second;
  slot.worker->send(job.request);
  slot.worker->arm_deadline(options.timeout_s);
}

void CompilePool::Impl::announce_quiet() {
  loop.post([this, guard = std::weak_ptr<int>(alive)] {
    if (guard.expired() || !on_quiet) return;  // resumed meanwhile
    const auto callback = std::exchange(on_quiet, nullptr);
    callback();
  });
}

bool CompilePool::Impl::none_left() const {
  return std::none_of(slots.begin(), slots.end(), [](const Slot& slot) { return slot.worker != nullptr; });
}

bool CompilePool::Impl::running() const {
  return std::any_of(slots.begin(), slots.end(), [](const Slot& slot) { return !slot.jobs.empty(); });
}

CompilePool::CompilePool(EventLoop& loop, CompilePoolOptions options)
    : impl_(std::make_unique<Impl>(loop, std::move(options))) {}

CompilePool::~CompilePool() {
  for (Impl::Slot& slot : impl_->slots) {
    // Idle ones may tidy up after themselves.
    if (slot.worker && slot.worker->ready() && slot.jobs.empty()) slot.worker->shut_down();
  }
}

void CompilePool::start() {
  if (std::exchange(impl_->started, true)) return;
  for (Impl::Slot& slot : impl_->slots) impl_->start_worker(slot);
}

CompilePool::JobId CompilePool::submit(CompileRequest request, int priority, Callback callback) {
  start();
  const JobId id = ++impl_->last_id;
  const Impl::QueueKey key{-priority, id};
  const std::int64_t caller_id = std::exchange(request.id, id);
  impl_->queue.emplace(key, Impl::Job{std::move(request), caller_id, std::move(callback), key, false});
  impl_->queued_keys.emplace(id, key);
  impl_->request_dispatch();
  return id;
}

bool CompilePool::cancel(JobId job) {
  const auto found = impl_->queued_keys.find(job);
  if (found == impl_->queued_keys.end()) return false;
  impl_->queue.erase(found->second);
  impl_->queued_keys.erase(found);
  return true;
}

std::size_t CompilePool::cancel_queued() {
  const std::size_t count = impl_->queue.size();
  impl_->queue.clear();
  impl_->queued_keys.clear();
  return count;
}

void CompilePool::pause(std::function<void()> on_quiet) {
  impl_->paused = true;
  impl_->on_quiet = std::move(on_quiet);
  if (impl_->on_quiet && !impl_->running()) impl_->announce_quiet();
}

void CompilePool::resume() {
  impl_->paused = false;
  impl_->on_quiet = nullptr;
  impl_->request_dispatch();
}

bool CompilePool::paused() const { return impl_->paused; }

void CompilePool::stop_running() {
  impl_->stopped = true;
  for (Impl::Slot& slot : impl_->slots) {
    if (slot.worker && !slot.jobs.empty()) slot.worker->suspend();
  }
}

void CompilePool::continue_running() {
  impl_->stopped = false;
  for (Impl::Slot& slot : impl_->slots) {
    if (slot.worker) slot.worker->resume();
  }
  impl_->request_dispatch();
}

int CompilePool::workers() const { return impl_->options.workers; }
int CompilePool::capacity() const { return impl_->options.workers * impl_->options.threads_per_worker; }

const std::optional<Hello>& CompilePool::hello() const { return impl_->hello; }

CompileStatistics CompilePool::statistics() const {
  CompileStatistics result = impl_->counts;
  result.queued = impl_->queue.size();
  for (const Impl::Slot& slot : impl_->slots) {
    if (slot.worker) ++result.workers;
    if (!slot.jobs.empty()) ++result.busy;
    result.compiling += static_cast<int>(slot.jobs.size());
  }
  return result;
}

std::string CompilePool::failure() const {
  return impl_->started && impl_->none_left() ? impl_->environment_error : std::string();
}

}  // namespace tunebook
