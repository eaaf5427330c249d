#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "cuda/buffer_copies.h"
#include "cuda/device_memory.h"
#include "cuda/loaded_kernel.h"
#include "worker/message.h"

namespace tunebook {

// The kernels of one candidate on one problem, in the order of their launches.
struct PreparedLaunch {
  std::shared_ptr<LoadedKernel> kernel;
  LaunchShape shape;
  std::vector<ScalarValue> scalars = {};  // instead of the problem's
};
struct PreparedLaunches {
  std::vector<PreparedLaunch> launches;
  std::vector<WorkspaceSize> workspaces;  // the others are as large as for the reference
};

// What a verification found. `message` starts with the problem.
struct Judgement {
  Outcome outcome = Outcome::ok;
  std::string message;
  double max_error = 0;
};

// Device buffers of one problem. Inputs are shared by all; each output exists three times: the reference's, and one for each of the
// two runs of a verification (so that both can be compared after one synchronisation). A workspace exists once, for whatever runs: of
// the size that the candidate declares. All have guard bands.
class ProblemBuffers {
 public:
  // Allocates, fills, runs the reference. Throws CudaError, LaunchRefused (the reference cannot be launched), EnvironmentError (the
  // reference writes outside of its buffers or into an input).
  ProblemBuffers(const ProblemSetup& setup, cudaStream_t stream);

  const std::string& display() const { return setup_.display; }
  // Two runs from differently poisoned outputs, and all checks; one synchronisation. Throws CudaError.
  Judgement verify(const PreparedLaunches& launches, bool nondeterministic);
  // One run from poisoned outputs, and all checks. Throws CudaError.
  Judgement verify_once(const PreparedLaunches& launches);
  // The same for what `queue` puts on the stream, working on set 0; of the outputs only those among `arguments` are compared. Throws
  // CudaError and what `queue` throws.
  Judgement verify_queued(const std::function<void()>& queue, const std::vector<std::size_t>& arguments);

  // Timing works on sets of buffers with the same inputs: number 0 is that of run 0, the others are copies, made when first asked for.
  // Tries to have `wanted` sets (at least 1); returns how many there are, fewer where memory is short. Throws CudaError.
  std::int64_t ensure_sets(std::int64_t wanted);
  // Makes the inout arguments of a set anew.
  void restore_inout(std::int64_t set = 0);
  // Makes workspaces that several candidates can use in turn: each as large as the largest needs, zero where that is declared. They keep
  // it so. Throws CudaError.
  void share_workspaces(const std::vector<const PreparedLaunches*>& candidates);
  // Queues all launches, on the buffers of a set that ensure_sets() has made. Throws CudaError.
  void launch(const PreparedLaunches& launches, std::int64_t set = 0);
  // The buffer of a pointer argument in such a set.
  void* address(std::size_t argument, std::int64_t set) const;
  const std::vector<ArgumentSetup>& arguments() const { return setup_.arguments; }

  // After a candidate wrote where it must not: guards and inputs are made anew, and the reference is run again if its result changed.
  void repair();

 private:
  enum Slot : int { kRunA = 0, kRunB = 1, kReference = 2 };

  struct Bound {
    ArgumentSetup setup;
    std::array<GuardedBuffer, 3> buffers;            // inputs: only the first, which all slots use
    std::array<void*, 3> pointers = {};              // by slot
    alignas(8) std::array<unsigned char, 8> scalar = {};
    std::int64_t count = 0;                          // of a workspace: elements that it has now
    bool is_input() const { return setup.pointer && setup.access == Argument::Access::in; }
    bool is_workspace() const { return setup.pointer && setup.access == Argument::Access::workspace; }
    bool is_output() const { return setup.pointer && !is_input() && !is_workspace(); }
    bool in_every_set() const { return setup.pointer && !is_workspace(); }
  };
  struct RangeName {
    std::size_t argument;
    Slot slot;
  };

  void allocate();
  void list_ranges();
  // Workspaces of these sizes, other than which they have: they are made anew.
  void size_workspaces(const std::vector<WorkspaceSize>& sizes);
  // A declared zero, or garbage.
  void fill_workspaces(int pattern);
  std::vector<std::string> dirty_workspaces() const;
  void launch_all(const PreparedLaunches& launches, std::vector<void*> addresses);
  void fill_guards();
  void fill_inputs();
  void run_reference();
  void poison(Slot slot, int pattern);
  void fill_inout(Slot slot);
  void launch_on(const PreparedLaunches& launches, Slot slot);
  std::vector<BufferCopies::Source> copy_sources() const;
  void queue_checks();
  void fetch_checks();
  // What was run on slots kRunA and `second`, which may be the same.
  Judgement judge(Slot second, bool nondeterministic);
  std::uint64_t reference_checksum();
  std::vector<std::string> guard_violations() const;
  std::vector<std::string> modified_inputs() const;
  std::string wrong_element(std::size_t argument, std::uint64_t first_wrong) const;
  std::string element_text(const Bound& bound, Slot slot, std::uint64_t index) const;

  std::array<int, 3> poisons_ = {};  // by slot: the byte that its outputs were filled with last
  ProblemSetup setup_;
  cudaStream_t stream_;
  std::vector<Bound> arguments_;
  std::vector<RangeName> range_names_;
  std::shared_ptr<LoadedKernel> reference_;
  std::uint64_t reference_sum_ = 0;

  DeviceMemory ranges_;        // GuardedRange[range_names_.size()]
  DeviceMemory checks_;        // CheckResult[arguments], then uint64_t[ranges]: copied back at once
  PinnedMemory host_checks_;   // the same on the host
  DeviceMemory checksum_;
  BufferCopies copies_;        // sets 1, 2, ... for timing
};

}  // namespace tunebook
