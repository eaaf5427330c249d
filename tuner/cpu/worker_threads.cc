#include "cpu/worker_threads.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cpu/block_runner.h"

namespace tunebook {

// Shared with the threads, because one that is stuck may outlive the owner.
struct WorkerThreads::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::thread> threads;
  std::function<void(int)> job;
  std::uint64_t generation = 0;
  int running = 0;
  bool gave_up = false;
  bool stop = false;
  std::exception_ptr error;

  void serve(int worker) {
    BlockRunner runner;
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stop || generation != seen; });
      if (stop) return;
      seen = generation;
      lock.unlock();
      std::exception_ptr thrown;
      try {
        job(worker);
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      if (thrown) error = thrown;
      --running;
      changed.notify_all();
    }
  }
};

WorkerThreads::WorkerThreads(int count) : state_(std::make_shared<State>()) {
  for (int worker = 0; worker < std::max(count, 1); ++worker) {
    state_->threads.emplace_back([state = state_, worker] { state->serve(worker); });
  }
}

WorkerThreads::~WorkerThreads() {
  bool stuck = false;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
    stuck = state_->running != 0;
  }
  state_->changed.notify_all();
  for (std::thread& thread : state_->threads) {
    if (stuck) {
      thread.detach();
    } else {
      thread.join();
    }
  }
  state_->threads.clear();
}

int WorkerThreads::count() const { return static_cast<int>(state_->threads.size()); }

bool WorkerThreads::run(const std::function<void(int)>& job, std::chrono::milliseconds grace) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  state.job = job;
  state.gave_up = false;
  state.error = nullptr;
  state.running = count();
  ++state.generation;
  state.changed.notify_all();
  state.changed.wait(lock, [&] { return state.running == 0 || state.gave_up; });
  if (!state.changed.wait_for(lock, grace, [&] { return state.running == 0; })) return false;
  if (state.error) std::rethrow_exception(std::exchange(state.error, nullptr));
  return true;
}

void WorkerThreads::give_up() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->gave_up = true;
  }
  state_->changed.notify_all();
}

void WorkerThreads::parallel_for(std::int64_t count, std::int64_t piece,
                                 const std::function<void(std::int64_t, std::int64_t)>& job) {
  if (count <= piece) {
    if (count > 0) job(0, count);
    return;
  }
  std::atomic<std::int64_t> next{0};
  run([&](int) {
    for (std::int64_t begin; (begin = next.fetch_add(piece)) < count;) job(begin, std::min(begin + piece, count));
  });
}

}  // namespace tunebook
