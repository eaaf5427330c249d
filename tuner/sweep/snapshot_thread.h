#pragma once

#include <condition_variable>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>

#include "sweep/snapshot.h"

namespace tunebook {

// Leaves snapshots of a working book from a thread of its own, so that sessions do not wait for the shared folder: regularly, and at once
// when the task is told to stop, because nobody knows how long it may still live. The folder is the thread's until finish().
class SnapshotThread {
 public:
  // `stop_requested`: asked several times a second, from the thread. `message`: told, from the thread, what went wrong; the next snapshot
  // is tried all the same. `superseded`: called once, from the thread, when a later task has the shard; nothing is staged after that.
  SnapshotThread(ShardFolder& folder, std::filesystem::path book, std::filesystem::path scratch, double every_s,
                 std::function<bool()> stop_requested, std::function<void(const std::string&)> message, std::function<void()> superseded);
  ~SnapshotThread();
  SnapshotThread(const SnapshotThread&) = delete;
  SnapshotThread& operator=(const SnapshotThread&) = delete;

  // Ends the thread, waiting for a snapshot that is being written.
  void finish();

 private:
  void run();
  bool stage();  // false: superseded
  bool wait_s(double seconds);

  ShardFolder& folder_;
  std::filesystem::path book_, scratch_;
  double every_s_;
  std::function<bool()> stop_requested_;
  std::function<void(const std::string&)> message_;
  std::function<void()> superseded_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace tunebook
