#include "session/compile_pool.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "session/compile_slots.h"
#include "session/host_resources.h"

namespace tunebook {
namespace {

// A worker that dies without compiling anything is tried again, as a machine out of memory for a moment recovers; three such
// deaths in a row are not chance.
constexpr int kStartAttempts = 3;

// How soon is asked again for a compile slot that another session has. Compiles take 40 ms and more.
constexpr double kSlotRetrySeconds = 0.01;

// The answer to a job whose worker died of it. `address_space_mib`: the worker's limit.
CompileReply reply_of_lost_worker(const LostReason& reason, std::int64_t address_space_mib) {
  CompileReply reply;
  reply.outcome = Outcome::compile_error;
  // Whoever is refused memory ends in its own way: by an abort, by an exit, or at a null pointer.
  const std::string limit = fmt::format("; it may use {} MiB of address space", address_space_mib);
  switch (reason.kind) {
    case LostReason::Kind::deadline:
      reply.outcome = Outcome::compile_timeout;
      reply.seconds = reason.deadline_s;
      reply.message = fmt::format("the compiler did not finish within {:g} s", reason.deadline_s);
      break;
    case LostReason::Kind::stopped:
      reply.outcome = Outcome::worker_lost;
      reply.message = fmt::format("the compiler {}", reason.describe());
      break;
    case LostReason::Kind::signalled:
      if (reason.out_of_memory) {
        reply.message = reason.with_output("the compiler was killed by the kernel's out-of-memory killer as it seems (signal 9)");
      } else if (reason.code == SIGKILL) {
        reply.message = reason.with_output("the compiler was killed by signal 9, from outside or for want of memory");
      } else {
        reply.message = reason.with_output(fmt::format("the compiler crashed (signal {}){}", reason.code, limit));
      }
      break;
    default: reply.message = reason.with_output(fmt::format("the compiler {}{}", reason.describe(), limit));
  }
  return reply;
}

// A compiler that was refused memory says so in its own words, which do not tell why.
void explain_refused_memory(CompileReply& reply, std::int64_t address_space_mib) {
  if (reply.outcome != Outcome::compile_error) return;
  for (const std::string_view words : {"ut of memory", "bad_alloc", "annot allocate memory", "virtual memory exhausted"}) {
    if (reply.message.find(words) == std::string::npos) continue;
    reply.message += fmt::format("\n(a compile process may use {} MiB of address space)", address_space_mib);
    return;
  }
  // By a worker's compiler, whose worker lives.
  if (reply.message.find("(Killed)") != std::string::npos || reply.message.find("command: Killed") != std::string::npos) {
    reply.message += "\n(killed from outside or for want of memory)";
  }
}

// Not empty if the compile failed because files cannot be written.
std::string without_room(const CompileReply& reply) {
  if (reply.outcome != Outcome::compile_error) return {};
  const auto category = [](int error) { return std::generic_category().message(error); };
  // By the compiler in the system's words, or by our own code, which has no other reason to end a compile so.
  for (const std::string& words : {category(ENOSPC), category(EDQUOT), category(EROFS), std::string("is the disk full?")}) {
    if (reply.message.find(words) == std::string::npos) continue;
    return fmt::format("compilers cannot write their files; make room in the folder for temporary files, or set TMPDIR to one with room, and "
                       "run the same command again: {}",
                       reply.message);
  }
  return {};
}

void take_notes(const WorkerProcess& worker, std::set<std::string>& notes) {
  constexpr std::string_view kMark = "tunebook: ";
  std::istringstream lines(worker.error_output());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kMark)) notes.insert(line.substr(kMark.size()));
  }
}

}  // namespace

struct CompilePool::Impl {
  using JobId = std::int64_t;
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
    const HostResources host = read_host_resources();
    const int at_once = default_compile_workers(host);  // cores, as far as there is memory for each
    if (options.workers <= 0) options.workers = at_once;
    if (options.threads_per_worker <= 0) {
      options.threads_per_worker = std::clamp(at_once / options.workers, 1, std::max(options.max_threads_per_worker, 1));
    }
    options.worker.max_in_flight = options.threads_per_worker;
    if (options.worker.address_space_mib == 0) {
      options.worker.address_space_mib = compile_address_space_mib(host, options.workers, options.threads_per_worker);
    }
    slots.resize(static_cast<std::size_t>(options.workers));
    if (!options.slots_file.empty()) compile_slots.emplace(options.slots_file);
  }

  EventLoop& loop;
  CompilePoolOptions options;
  std::vector<Slot> slots;
  std::map<QueueKey, Job> queue;
  JobId last_id = 0;
  bool started = false;
  bool stopped = false;
  bool dispatch_posted = false;
  int failures_in_row = 0;
  std::string environment_error;
  std::optional<Hello> hello;
  CompileStatistics counts;  // what accumulates
  std::set<std::string> notes;
  std::optional<CompileSlots> compile_slots;  // shared with other sessions; one for each job that is handed out
  Timer slot_retry{loop, [this] { dispatch(); }};
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
    explain_refused_memory(compiled, options.worker.address_space_mib);
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
    attempt_failed(slot, reason.with_output(names_itself ? reason.describe()
                                                         : fmt::format("the compile worker {} {}", options.worker.program, reason.describe())));
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
  CompileReply reply = reply_of_lost_worker(reason, options.worker.address_space_mib);
  start_worker(slot);
  if (culprit) job_done(slot, *culprit, std::move(reply));
}

void CompilePool::Impl::put_back(std::map<JobId, Job> jobs, bool alone) {
  for (auto& [id, job] : jobs) {
    if (compile_slots) compile_slots->give_back();
    job.alone = job.alone || alone;
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
  if (compile_slots) compile_slots->give_back();
  failures_in_row = 0;
  reply.id = job.caller_id;
  ++counts.finished;
  if (reply.cached) ++counts.cached;
  counts.compile_seconds += reply.seconds;
  request_dispatch();
  take_notes(*slot.worker, notes);
  std::string trouble = without_room(reply);
  job.callback(CompileResult{std::move(reply), std::move(trouble)});
}

void CompilePool::Impl::fail_queued() {
  // A callback may submit the next job, which fails in the next round of the loop.
  const auto failed = std::exchange(queue, {});
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
  if (stopped) return;
  for (Slot& slot : slots) slot.held = false;
  for (auto next = queue.begin(); next != queue.end();) {
    const auto [key, alone] = std::pair(next->first, next->second.alone);
    ++next;  // handing it out takes it from the queue
    Slot* slot = choose_slot(alone);
    if (slot != nullptr) {
      if (compile_slots && !compile_slots->try_take()) {
        slot_retry.start(kSlotRetrySeconds);
        return;
      }
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
  const Job& job = slot.jobs.emplace(key.second, std::move(node.mapped())).first->second;
  slot.worker->send(job.request);
  slot.worker->arm_deadline(options.timeout_s);
}

bool CompilePool::Impl::none_left() const {
  return std::none_of(slots.begin(), slots.end(), [](const Slot& slot) { return slot.worker != nullptr; });
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

void CompilePool::submit(CompileRequest request, int priority, Callback callback) {
  start();
  const Impl::JobId id = ++impl_->last_id;
  const Impl::QueueKey key{-priority, id};
  const std::int64_t caller_id = std::exchange(request.id, id);
  impl_->queue.emplace(key, Impl::Job{std::move(request), caller_id, std::move(callback), key, false});
  impl_->request_dispatch();
}

std::size_t CompilePool::cancel_queued(int below_priority) {
  return std::erase_if(impl_->queue, [&](const auto& entry) { return -entry.first.first < below_priority; });
}

std::size_t CompilePool::cancel_queued() {
  const std::size_t count = impl_->queue.size();
  impl_->queue.clear();
  return count;
}

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

std::set<std::string> CompilePool::notes() const {
  std::set<std::string> result = impl_->notes;
  for (const Impl::Slot& slot : impl_->slots) {
    if (slot.worker) take_notes(*slot.worker, result);
  }
  return result;
}

std::string CompilePool::failure() const {
  return impl_->started && impl_->none_left() ? impl_->environment_error : std::string();
}

}  // namespace tunebook
