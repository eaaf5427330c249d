#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/launch_plan.h"
#include "core/outcome.h"
#include "cpu/fiber.h"
#include "cpu/shared_arena.h"
#include "cpu/device/tunebook_cpu/abi.h"

namespace tunebook {

// A compiled kernel: runs one CUDA thread to its end.
using KernelEntry = void (*)(void** arguments);

struct GridLaunch {
  KernelEntry entry = nullptr;
  void** arguments = nullptr;
  LaunchShape shape;
  std::vector<SharedRange> static_shared;
  std::optional<std::uint8_t> shared_poison;  // fill shared memory with it before each block
};

// Why a launch did not end well.
struct KernelFailure {
  Outcome outcome = Outcome::fault;
  std::string message;             // complete, but for what is at `address`
  const void* address = nullptr;   // of an illegal access
};

// Runs the CUDA threads of one block after another on the calling OS thread.
//
// A CUDA thread runs on a fibre, and threads that never wait all run on the same one, one after another; only a thread that
// waits (barrier, warp-wide function) keeps its fibre while the next one goes on. Among what can run, threads that were
// already started come before new ones, so that few stacks are in use.
//
// Barriers: a thread that has left the kernel is not waited for, as on GPUs since sm_70. Threads of a block that wait at
// __syncthreads in different lines, or that can never be released, are a divergent barrier.
class BlockRunner {
 public:
  // Belongs to the calling OS thread from then on, whose handling of memory faults it sets up.
  BlockRunner();
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  // Before the first block of a launch.
  void begin(const GridLaunch& launch);
  // False if the kernel failed; failure() then says why.
  bool run_block(std::uint64_t block);
  const KernelFailure& failure() const { return failure_; }

  // Called by kernels through the device header's interface, on a fibre.
  int sync_threads(int predicate, int* all, const char* file, int line);
  const tunebook_cpu_exchange* warp_exchange(unsigned mask, unsigned long long value);
  unsigned lane() const { return current_ % 32; }
  unsigned live_lanes() const;
  void spin();
  // Two steps, because what is on the stack of a fibre that leaves the kernel is never destroyed.
  void set_failure(KernelFailure failure);
  [[noreturn]] void leave_kernel();
  // From the signal handler: if a kernel runs, ends it and does not return.
  void fail_by_signal(int signal, int code, const void* address);
  std::string place() const;  // "thread (x,y,z) of block (x,y,z)"

  // The one of the calling OS thread, or null.
  static BlockRunner* current();

 private:
  struct Index {
    unsigned x, y, z;
  };
  struct BarrierResult {
    int count = 0;
    int all = 1;
  };
  // Lanes that meet in warp-wide functions with the same mask. Two sets of values in turn: a lane that reads the last ones
  // is not overtaken, because the next meeting but one needs it too.
  struct Meeting {
    unsigned mask = 0;
    unsigned arrived = 0;
    unsigned phase = 0;
    tunebook_cpu_exchange exchange[2];
  };
  struct Warp {
    unsigned exited = 0;
    std::size_t used = 0;  // of `meetings`
    std::vector<std::unique_ptr<Meeting>> meetings;
  };

  static constexpr unsigned kMaxThreads = 1024;

  static void fiber_body(void* self);
  void start_threads();
  void thread_exited();
  inline void wait();             // parks the running thread until it is made ready
  void continue_ready();   // from a fibre that is not needed any more
  inline void resume(Fiber& fiber, unsigned thread);
  inline void select(unsigned thread);
  void make_ready(unsigned thread) { ready_[ready_tail_++ % kMaxThreads] = static_cast<std::uint16_t>(thread); }
  unsigned take_ready() { return ready_[ready_head_++ % kMaxThreads]; }
  inline void wake_spinning();
  bool any_ready() const { return ready_head_ != ready_tail_; }
  void release_barrier();
  void release_meeting(std::size_t warp_index, Meeting& meeting, unsigned except);
  unsigned existing_lanes(std::size_t warp_index) const;
  Fiber& free_fiber();
  void abandon_fibers();
  void fail_stuck();
  void describe_signal(int signal, const void* address);

  GridLaunch launch_;
  Fiber main_;
  Fiber* running_ = nullptr;                    // the fibre that runs; null outside kernels
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_;
  std::array<Fiber*, kMaxThreads> parked_{};    // a waiting thread's fibre
  std::vector<Index> index_;
  std::array<std::uint16_t, kMaxThreads> ready_{};
  std::vector<unsigned> spinning_;  // gave way to a thread that is being started
  unsigned ready_head_ = 0;
  unsigned ready_tail_ = 0;
  unsigned count_ = 0;    // threads of the block
  unsigned next_ = 0;     // not started yet
  unsigned exited_ = 0;
  unsigned current_ = 0;

  std::array<std::uint16_t, kMaxThreads> waiting_{};
  unsigned waiting_count_ = 0;
  const char* barrier_file_ = "";
  int barrier_line_ = 0;
  unsigned barrier_phase_ = 0;
  BarrierResult barrier_results_[2];

  std::vector<Warp> warps_;
  bool warps_used_ = false;
  SharedArena shared_;
  KernelFailure failure_;
  bool failed_ = false;
  int signal_ = 0;  // that ended the kernel, until it is described
  int signal_code_ = 0;
  const void* signal_address_ = nullptr;
  std::unique_ptr<char[]> signal_stack_;
};

}  // namespace tunebook
