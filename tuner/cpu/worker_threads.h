#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace tunebook {

// One OS thread per core; each keeps a BlockRunner.
class WorkerThreads {
 public:
  explicit WorkerThreads(int count);
  // Threads that are stuck in a kernel are left behind: the process must end soon.
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  int count() const;

  // Runs job(worker) once on every thread, worker from 0, and waits for all. If a job calls give_up(), the others have
  // `grace` to end; false if one did not. Must not be called again then. An exception in a job is thrown here.
  bool run(const std::function<void(int)>& job, std::chrono::milliseconds grace = std::chrono::milliseconds(500));
  void give_up();

  // job(begin, end) over [0, count) in pieces of at most `piece`.
  void parallel_for(std::int64_t count, std::int64_t piece, const std::function<void(std::int64_t, std::int64_t)>& job);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tunebook
