#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cpu/grid_runner.h"
#include "cpu/guarded_buffer.h"
#include "cpu/worker_threads.h"
#include "worker/message.h"

namespace tunebook {

// Why a result is not accepted; the message starts with the problem.
struct Rejection {
  Outcome outcome = Outcome::wrong_result;
  std::string message;
};

// The memory of one problem: arguments as a launch wants them, what inputs must still be, and what the reference gave.
class ProblemBuffers {
 public:
  // Allocates and fills. Throws std::bad_alloc.
  ProblemBuffers(const ProblemSetup& setup, WorkerThreads& threads);

  const ProblemSetup& setup() const { return setup_; }
  // For one launch, with its own values of some scalars. Valid until the next call.
  void** arguments(const std::vector<ScalarValue>& scalars = {});

  // Workspaces of these sizes (the others as large as for the reference), zero where that is declared, else filled with garbage.
  void make_workspaces(const std::vector<WorkspaceSize>& sizes, std::uint8_t poison);

  // Outputs filled with `poison`, inputs that a kernel may change as they were at first.
  void prepare(std::uint8_t poison);
  // The second part alone: before each timed launch.
  void restore_changed_inputs();
  bool has_changed_inputs() const;

  // What the reference wrote is what is expected from then on.
  void keep_expected();
  // Compares outputs with the expected, inputs with what they were, guard bytes with their pattern.
  std::optional<Rejection> check(double& max_error);

  // Guard bytes and inputs as they were at first, whatever a wrong kernel wrote there.
  void repair();

  // To compare two runs bit by bit.
  void keep_first_run();
  std::optional<Rejection> compare_with_first_run();

  // "access outside buffer 'a': byte offset +12 past its end"; "" if the address belongs to none.
  std::string describe_address(const void* address) const;

 private:
  using Bytes = std::vector<std::byte>;
  struct Slot {
    std::optional<GuardedBuffer> buffer;  // pointers
    Bytes original;                       // in, inout
    Bytes expected;                       // out, inout
    Bytes first_run;                      // out, inout
    void* pointer = nullptr;
    std::int64_t count = 0;               // pointers: elements; a workspace's change
    alignas(16) unsigned char scalar[16] = {};
    alignas(16) unsigned char launch_scalar[16] = {};  // for one launch
  };

  void fill(const ArgumentSetup& argument, void* data);
  bool is_workspace(std::size_t i) const;
  std::optional<Rejection> check_workspace(std::size_t i) const;
  void copy(void* to, const void* from, std::size_t bytes);
  bool is_output(std::size_t i) const;
  std::string element(std::size_t i, std::int64_t index) const;
  bool unwritten(std::size_t i, std::int64_t index) const;

  ProblemSetup setup_;
  WorkerThreads& threads_;
  std::vector<Slot> slots_;
  std::vector<void*> pointers_;
  std::vector<void*> launch_pointers_;
  std::uint8_t poison_ = 0;  // what outputs were filled with last
};

}  // namespace tunebook
