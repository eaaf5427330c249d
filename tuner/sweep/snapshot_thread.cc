#include "sweep/snapshot_thread.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace tunebook {
namespace {

// How soon a request to stop is seen. Slurm gives a task half a minute by default (KillWait).
constexpr std::chrono::milliseconds kLook{100};

}  // namespace

SnapshotThread::SnapshotThread(ShardFolder& folder, std::filesystem::path book, std::filesystem::path scratch, double every_s,
                               std::function<bool()> stop_requested, std::function<void(const std::string&)> message,
                               std::function<void()> superseded)
    : folder_(folder),
      book_(std::move(book)),
      scratch_(std::move(scratch)),
      every_s_(every_s),
      stop_requested_(std::move(stop_requested)),
      message_(std::move(message)),
      superseded_(std::move(superseded)),
      thread_([this] { run(); }) {}

SnapshotThread::~SnapshotThread() { finish(); }

void SnapshotThread::finish() {
  {
    const std::scoped_lock lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// False: the thread is to end.
bool SnapshotThread::wait_s(double seconds) {
  std::unique_lock lock(mutex_);
  return !ended_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return end_; });
}

bool SnapshotThread::stage() {
  try {
    folder_.stage(book_, scratch_);
  } catch (const SupersededError&) {
    superseded_();
    return false;
  } catch (const std::exception& error) {
    message_(fmt::format("no snapshot was left: {}; tried again with the next", error.what()));
  }
  return true;
}

void SnapshotThread::run() {
  using Clock = std::chrono::steady_clock;
  const auto interval = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(every_s_));
  Clock::time_point next = Clock::now() + interval;
  bool stopping = false;
  while (wait_s(std::chrono::duration<double>(kLook).count())) {
    const bool asked_now = !stopping && stop_requested_();
    stopping = stopping || asked_now;
    if (!asked_now && Clock::now() < next) continue;
    if (!stage()) return;
    // Counted from the end of one to the beginning of the next: a slow folder must not be all that a task does.
    next = Clock::now() + interval;
  }
}

}  // namespace tunebook
