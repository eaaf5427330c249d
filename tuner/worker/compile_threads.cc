#include "worker/compile_threads.h"

#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <pthread.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "worker/channel.h"

namespace tunebook {
namespace {

// Compilers recurse deeply. A thread's stack follows `ulimit -s`, but is only 2 MiB where that says "unlimited".
constexpr std::size_t kStackBytes = std::size_t{16} << 20;

void give_threads_deep_stacks() {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return;
  if (::pthread_attr_setstacksize(&attributes, kStackBytes) == 0) ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
}

class CompileThreads {
 public:
  CompileThreads(int fd, int threads, std::unique_ptr<CompilerBackend> first,
                 const std::function<std::unique_ptr<CompilerBackend>()>& make_backend)
      : fd_(fd) {
    give_threads_deep_stacks();
    threads_.emplace_back([this, backend = std::move(first)] { serve([&]() -> CompilerBackend& { return *backend; }); });
    for (int i = 1; i < threads; ++i) {
      threads_.emplace_back([this, &make_backend] {
        std::unique_ptr<CompilerBackend> backend;
        serve([&]() -> CompilerBackend& {
          backend = make_backend();
          return *backend;
        });
      });
    }
  }
  // Waits for the compiles that have begun: not for long, as the channel is closed and the watchdog ends the process soon.
  ~CompileThreads() {
    close_channel();
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      queue_.clear();
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  CompileThreads(const CompileThreads&) = delete;
  CompileThreads& operator=(const CompileThreads&) = delete;

  void add(CompileRequest request) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(request));
    }
    changed_.notify_one();
  }

  // Ends the service. Printed at once: a thread may be stuck, and then the watchdog has the last word.
  void fail(const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    {
      const std::lock_guard lock(mutex_);
      failed_ = true;
    }
    close_channel();
  }
  bool failed() {
    const std::lock_guard lock(mutex_);
    return failed_;
  }

 private:
  template <typename Backend>
  void serve(Backend open) {
    try {
      CompilerBackend& backend = open();
      while (const auto request = next()) {
        CompileReply reply = backend.compile(*request);
        reply.id = request->id;
        const nlohmann::json message = encode(Reply{std::move(reply)});
        const std::lock_guard lock(write_mutex_);
        write_message(fd_, message);
      }
    } catch (const std::exception& error) {
      fail(error);
    }
  }

  // Nothing when the channel is closed.
  std::optional<CompileRequest> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
    if (closed_) return std::nullopt;
    CompileRequest request = std::move(queue_.front());
    queue_.pop_front();
    return request;
  }

  // For reading: the reader finds the end, the watchdog counts down, and what other threads finish in time is still answered.
  void close_channel() const { ::shutdown(fd_, SHUT_RD); }

  int fd_;
  std::mutex write_mutex_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<CompileRequest> queue_;
  bool closed_ = false;
  bool failed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

bool serve_compiles(int fd, int threads, std::unique_ptr<CompilerBackend> first,
                    const std::function<std::unique_ptr<CompilerBackend>()>& make_backend) {
  CompileThreads compilers(fd, threads, std::move(first), make_backend);
  try {
    FrameReader reader;
    while (const auto message = read_message(fd, reader)) {
      Request request = decode_request(*message);
      auto* compile = std::get_if<CompileRequest>(&request);
      if (compile == nullptr) throw ProtocolError("a compile worker was asked to run something");
      compilers.add(std::move(*compile));
    }
  } catch (const std::exception& error) {
    compilers.fail(error);
  }
  return !compilers.failed();
}

}  // namespace tunebook
