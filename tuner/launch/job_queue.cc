#include "launch/job_queue.h"

#include <utility>

namespace tunebook {

void JobQueue::push(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      jobs_.push_back(std::move(job));
      if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
      changed_.notify_one();
      return;
    }
  }
  if (job.abandon) job.abandon();
}

void JobQueue::stop() {
  std::deque<Job> abandoned;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    abandoned.swap(jobs_);
  }
  changed_.notify_all();
  if (worker_.joinable()) worker_.join();
  for (const Job& job : abandoned) {
    if (job.abandon) job.abandon();
  }
}

bool JobQueue::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void JobQueue::work() {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
      if (stopping_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job.run();
  }
}

}  // namespace tunebook
