#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tunebook {

// Runs jobs one after the other on a thread of its own, which starts with the first job. May outlive whoever made
// it: after stop() nothing runs any more.
class JobQueue {
 public:
  struct Job {
    std::function<void()> run;      // throws nothing
    std::function<void()> abandon;  // instead, if the queue was stopped first; may be empty
  };

  JobQueue() = default;
  ~JobQueue() { stop(); }
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  // Abandons the job at once if the queue has stopped.
  void push(Job job);
  // Waits for the job at hand and abandons all others. Not to be called by a job.
  void stop();
  // For jobs that take long: whether they should end early.
  bool stopping() const;

 private:
  void work();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool stopping_ = false;
  std::thread worker_;
};

}  // namespace tunebook
