// The variables that kernels read are defined here, so their declarations must not be constant.
#define TUNEBOOK_CPU_RUNTIME 1

#include "cpu/block_runner.h"

#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

#include <sched.h>

#include <fmt/format.h>

extern "C" {
__thread unsigned tunebook_cpu_thread_x;
__thread unsigned tunebook_cpu_thread_y;
__thread unsigned tunebook_cpu_thread_z;
__thread unsigned tunebook_cpu_block_x;
__thread unsigned tunebook_cpu_block_y;
__thread unsigned tunebook_cpu_block_z;
__thread unsigned tunebook_cpu_block_dim_x;
__thread unsigned tunebook_cpu_block_dim_y;
__thread unsigned tunebook_cpu_block_dim_z;
__thread unsigned tunebook_cpu_grid_dim_x;
__thread unsigned tunebook_cpu_grid_dim_y;
__thread unsigned tunebook_cpu_grid_dim_z;
__thread char* tunebook_cpu_static_shared;
__thread char* tunebook_cpu_dynamic_shared;
__thread unsigned tunebook_cpu_atomic_budget;
}

namespace tunebook {
namespace {

// Enough for printf and for the local arrays of any sane kernel; only touched pages cost memory.
constexpr std::size_t kStackBytes = std::size_t{128} << 10;
constexpr std::size_t kSignalStackBytes = std::size_t{64} << 10;
// Atomics of one thread in a row after which it is taken to be spinning. A histogram thread seldom does as many, and a
// spinning one has done them in a few microseconds.
constexpr unsigned kAtomicBudget = 1024;

__thread BlockRunner* t_runner = nullptr;

void handle_signal(int signal, siginfo_t* info, void*) {
  if (t_runner != nullptr) t_runner->fail_by_signal(signal, info->si_code, info->si_addr);
  // Not a kernel's: the default action follows when the instruction is tried again.
  std::signal(signal, SIG_DFL);
}

void install_signal_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = handle_signal;
    // Not blocked while handled: the handler leaves by switching to another stack.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) ::sigaction(signal, &action, nullptr);
  });
}

}  // namespace

BlockRunner* BlockRunner::current() { return t_runner; }

BlockRunner::BlockRunner() : signal_stack_(std::make_unique<char[]>(kSignalStackBytes)) {
  install_signal_handlers();
  stack_t stack{};
  stack.ss_sp = signal_stack_.get();
  stack.ss_size = kSignalStackBytes;
  ::sigaltstack(&stack, nullptr);
  t_runner = this;
}

BlockRunner::~BlockRunner() {
  t_runner = nullptr;
  stack_t stack{};
  stack.ss_flags = SS_DISABLE;
  ::sigaltstack(&stack, nullptr);
}

inline void BlockRunner::select(unsigned thread) {
  current_ = thread;
  const Index& index = index_[thread];
  tunebook_cpu_thread_x = index.x;
  tunebook_cpu_thread_y = index.y;
  tunebook_cpu_thread_z = index.z;
  tunebook_cpu_atomic_budget = kAtomicBudget;
}

inline void BlockRunner::wake_spinning() {
  if (spinning_.empty()) return;
  for (const unsigned thread : spinning_) make_ready(thread);
  spinning_.clear();
}

inline void BlockRunner::resume(Fiber& fiber, unsigned thread) {
  Fiber& self = *running_;
  running_ = &fiber;
  select(thread);
  Fiber::switch_to(self, fiber);
}

inline void BlockRunner::wait() {
  parked_[current_] = running_;
  wake_spinning();
  if (any_ready()) {
    const unsigned ready = take_ready();
    resume(*parked_[ready], ready);
  } else if (next_ < count_) {
    Fiber& self = *running_;
    running_ = &free_fiber();
    Fiber::switch_to(self, *running_);
  } else {
    fail_stuck();
    leave_kernel();
  }
}

void BlockRunner::begin(const GridLaunch& launch) {
  launch_ = launch;
  const auto& block = launch.shape.block;
  const auto& grid = launch.shape.grid;
  count_ = static_cast<unsigned>(launch.shape.threads());
  tunebook_cpu_block_dim_x = static_cast<unsigned>(block[0]);
  tunebook_cpu_block_dim_y = static_cast<unsigned>(block[1]);
  tunebook_cpu_block_dim_z = static_cast<unsigned>(block[2]);
  tunebook_cpu_grid_dim_x = static_cast<unsigned>(grid[0]);
  tunebook_cpu_grid_dim_y = static_cast<unsigned>(grid[1]);
  tunebook_cpu_grid_dim_z = static_cast<unsigned>(grid[2]);
  index_.clear();
  for (unsigned z = 0; z < block[2]; ++z) {
    for (unsigned y = 0; y < block[1]; ++y) {
      for (unsigned x = 0; x < block[0]; ++x) index_.push_back({x, y, z});
    }
  }
  warps_.resize((count_ + 31) / 32);
  shared_.place(launch.static_shared, static_cast<std::size_t>(launch.shape.shared_bytes));
  tunebook_cpu_static_shared = shared_.static_part();
  tunebook_cpu_dynamic_shared = shared_.dynamic_part();
}

bool BlockRunner::run_block(std::uint64_t block) {
  const auto width = static_cast<std::uint64_t>(launch_.shape.grid[0]);
  const auto height = static_cast<std::uint64_t>(launch_.shape.grid[1]);
  tunebook_cpu_block_x = static_cast<unsigned>(block % width);
  tunebook_cpu_block_y = static_cast<unsigned>(block / width % height);
  tunebook_cpu_block_z = static_cast<unsigned>(block / width / height);
  if (launch_.shared_poison) shared_.fill(*launch_.shared_poison);
  next_ = exited_ = waiting_count_ = 0;
  spinning_.clear();
  ready_head_ = ready_tail_ = 0;
  for (Warp& warp : warps_) warp.exited = 0;
  if (warps_used_) {
    for (Warp& warp : warps_) warp.used = 0;
    warps_used_ = false;
  }
  running_ = &free_fiber();
  Fiber::switch_to(main_, *running_);
  if (signal_ != 0) describe_signal(std::exchange(signal_, 0), signal_address_);
  running_ = nullptr;
  if (!failed_) return true;
  failed_ = false;
  abandon_fibers();
  return false;
}

void BlockRunner::fiber_body(void* self) {
  BlockRunner& runner = *static_cast<BlockRunner*>(self);
  for (;;) {
    runner.start_threads();
    runner.free_.push_back(runner.running_);
    runner.continue_ready();
  }
}

void BlockRunner::start_threads() {
  while (next_ < count_ && !any_ready()) {
    select(next_++);
    launch_.entry(launch_.arguments);
    thread_exited();
    wake_spinning();
  }
}

void BlockRunner::thread_exited() {
  ++exited_;
  const std::size_t warp_index = current_ / 32;
  Warp& warp = warps_[warp_index];
  warp.exited |= 1u << (current_ % 32);
  if (warps_used_) {
    for (std::size_t i = 0; i < warp.used; ++i) {
      Meeting& meeting = *warp.meetings[i];
      const unsigned needed = meeting.mask & ~warp.exited & existing_lanes(warp_index);
      if (meeting.arrived != 0 && (meeting.arrived & needed) == needed) release_meeting(warp_index, meeting, 0);
    }
  }
  if (waiting_count_ != 0 && waiting_count_ == count_ - exited_) release_barrier();
}

void BlockRunner::continue_ready() {
  wake_spinning();
  if (any_ready()) {
    const unsigned ready = take_ready();
    resume(*parked_[ready], ready);
  } else if (exited_ == count_) {
    Fiber::switch_to(*running_, main_);
  } else {
    fail_stuck();
    leave_kernel();
  }
}

Fiber& BlockRunner::free_fiber() {
  if (free_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(kStackBytes, static_cast<unsigned>(fibers_.size()), &fiber_body, this));
    return *fibers_.back();
  }
  Fiber& fiber = *free_.back();
  free_.pop_back();
  return fiber;
}

void BlockRunner::abandon_fibers() {
  free_.clear();
  for (const auto& fiber : fibers_) {
    fiber->restart();
    free_.push_back(fiber.get());
  }
}

int BlockRunner::sync_threads(int predicate, int* all, const char* file, int line) {
  BarrierResult& result = barrier_results_[barrier_phase_];
  if (waiting_count_ == 0) {
    barrier_file_ = file;
    barrier_line_ = line;
    result = {};
  } else if (line != barrier_line_) {
    const Index& other = index_[waiting_[0]];
    set_failure({Outcome::divergent_barrier,
                 fmt::format("{} is at the barrier in {}:{} while thread ({},{},{}) is at the one in {}:{}", place(), file, line,
                             other.x, other.y, other.z, barrier_file_, barrier_line_)});
    leave_kernel();
  }
  result.count += predicate != 0;
  result.all &= predicate != 0;
  if (waiting_count_ + 1 == count_ - exited_) {
    release_barrier();
  } else {
    waiting_[waiting_count_++] = static_cast<std::uint16_t>(current_);
    wait();
  }
  *all = result.all;
  return result.count;
}

void BlockRunner::release_barrier() {
  for (unsigned i = 0; i < waiting_count_; ++i) make_ready(waiting_[i]);
  waiting_count_ = 0;
  barrier_phase_ ^= 1;
}

unsigned BlockRunner::existing_lanes(std::size_t warp_index) const {
  const unsigned lanes = count_ - static_cast<unsigned>(warp_index) * 32;
  return lanes >= 32 ? 0xffffffffu : (1u << lanes) - 1u;
}

unsigned BlockRunner::live_lanes() const {
  const std::size_t warp_index = current_ / 32;
  return existing_lanes(warp_index) & ~warps_[warp_index].exited;
}

const tunebook_cpu_exchange* BlockRunner::warp_exchange(unsigned mask, unsigned long long value) {
  const std::size_t warp_index = current_ / 32;
  Warp& warp = warps_[warp_index];
  const unsigned own = 1u << (current_ % 32);
  mask |= own;
  warps_used_ = true;
  Meeting* meeting = nullptr;
  for (std::size_t i = 0; i < warp.used && meeting == nullptr; ++i) {
    if (warp.meetings[i]->mask == mask) meeting = warp.meetings[i].get();
  }
  if (meeting == nullptr) {
    if (warp.used == warp.meetings.size()) warp.meetings.push_back(std::make_unique<Meeting>());
    meeting = warp.meetings[warp.used++].get();
    meeting->mask = mask;
    meeting->arrived = 0;
  }
  tunebook_cpu_exchange& exchange = meeting->exchange[meeting->phase];
  if (meeting->arrived == 0) exchange.participants = exchange.nonzero = 0;
  exchange.values[current_ % 32] = value;
  exchange.participants |= own;
  if (value != 0) exchange.nonzero |= own;
  meeting->arrived |= own;
  const unsigned needed = mask & ~warp.exited & existing_lanes(warp_index);
  if ((meeting->arrived & needed) == needed) {
    release_meeting(warp_index, *meeting, own);
  } else {
    wait();
  }
  return &exchange;
}

void BlockRunner::release_meeting(std::size_t warp_index, Meeting& meeting, unsigned except) {
  for (unsigned lanes = meeting.arrived & ~except; lanes != 0; lanes &= lanes - 1) {
    make_ready(static_cast<unsigned>(warp_index) * 32 + static_cast<unsigned>(__builtin_ctz(lanes)));
  }
  meeting.arrived = 0;
  meeting.phase ^= 1;
}

// What it waits for may come from a thread that was not started, from one that is ready, or from another block.
void BlockRunner::spin() {
  tunebook_cpu_atomic_budget = kAtomicBudget;
  if (next_ == count_ && !any_ready()) {
    ::sched_yield();
    return;
  }
  parked_[current_] = running_;
  if (next_ < count_) {
    // Not ready yet, or the new fibre would come straight back instead of starting a thread.
    spinning_.push_back(current_);
    Fiber& self = *running_;
    running_ = &free_fiber();
    Fiber::switch_to(self, *running_);
  } else {
    make_ready(current_);
    const unsigned ready = take_ready();
    resume(*parked_[ready], ready);
  }
}

void BlockRunner::set_failure(KernelFailure failure) {
  failure_ = std::move(failure);
  failed_ = true;
}

void BlockRunner::leave_kernel() {
  Fiber::switch_to(*running_, main_);
  __builtin_trap();  // an abandoned fibre is never continued
}

void BlockRunner::fail_stuck() {
  const std::string block = fmt::format("block ({},{},{})", tunebook_cpu_block_x, tunebook_cpu_block_y, tunebook_cpu_block_z);
  if (waiting_count_ != 0) {
    set_failure({Outcome::divergent_barrier,
                 fmt::format("{} of {} threads wait at the barrier in {}:{} for others that wait in a warp-wide function ({})",
                             waiting_count_, count_, barrier_file_, barrier_line_, block)});
  } else {
    set_failure({Outcome::divergent_barrier, fmt::format("{} of {} threads wait in a warp-wide function for lanes that never come ({})",
                                                         count_ - exited_, count_, block)});
  }
}

std::string BlockRunner::place() const {
  const Index& index = index_[current_];
  return fmt::format("thread ({},{},{}) of block ({},{},{})", index.x, index.y, index.z, tunebook_cpu_block_x,
                     tunebook_cpu_block_y, tunebook_cpu_block_z);
}

// Runs in a signal handler, so it only notes what happened; run_block describes it.
void BlockRunner::fail_by_signal(int signal, int code, const void* address) {
  if (running_ == nullptr || failed_) return;
  failed_ = true;
  signal_ = signal;
  signal_code_ = code;
  signal_address_ = address;
  leave_kernel();
}

void BlockRunner::describe_signal(int signal, const void* address) {
  KernelFailure failure;
  if (signal == SIGFPE) {
    failure.message = fmt::format("integer division by zero or overflow in {}", place());
  } else if (signal == SIGILL || signal == SIGTRAP) {
    failure.message = fmt::format("trap in {}", place());
  } else if (signal == SIGSEGV && signal_code_ == SI_KERNEL) {
    // The processor does not say which address it was.
    failure.message = fmt::format("illegal access in {}: a misaligned vector, or an address that cannot exist", place());
  } else if (running_->guard_contains(address)) {
    failure.message = fmt::format("stack overflow in {} (more than {} KiB of local variables)", place(), kStackBytes >> 10);
  } else if (const int part = shared_.past_end_of(address); part != 0) {
    failure.message = part == 1 ? fmt::format("access past the end of static shared memory in {}", place())
                                : fmt::format("access past the end of the {} bytes of dynamic shared memory in {}",
                                              launch_.shape.shared_bytes, place());
  } else {
    failure.message = fmt::format("illegal access in {}", place());
    failure.address = address;
  }
  set_failure(std::move(failure));
}

}  // namespace tunebook

using tunebook::BlockRunner;

extern "C" {

int tunebook_cpu_sync_threads(int predicate, int* all, const char* file, int line) {
  return BlockRunner::current()->sync_threads(predicate, all, file, line);
}

const tunebook_cpu_exchange* tunebook_cpu_warp_exchange(unsigned mask, unsigned long long value) {
  return BlockRunner::current()->warp_exchange(mask, value);
}

unsigned tunebook_cpu_lane() { return BlockRunner::current()->lane(); }
unsigned tunebook_cpu_live_lanes() { return BlockRunner::current()->live_lanes(); }
void tunebook_cpu_spin() { BlockRunner::current()->spin(); }

void tunebook_cpu_trap(const char* what, const char* file, int line) {
  BlockRunner& runner = *BlockRunner::current();
  runner.set_failure({tunebook::Outcome::fault, fmt::format("{}:{}: {} in {}", file, line, what, runner.place())});
  runner.leave_kernel();
}

}  // extern "C"
