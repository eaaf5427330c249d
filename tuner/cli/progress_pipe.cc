#include "cli/progress_pipe.h"

#include <chrono>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/error.h"

namespace tunebook::cli {
namespace {

constexpr double kProgressSeconds = 0.2;

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

ProgressPipe::ProgressPipe(int fd) : fd_(fd) {
  if (fd_ < 0) return;
  const int flags = ::fcntl(fd_, F_GETFL);
  if (flags < 0) throw InputError(fmt::format("--progress-fd {}: this is no open descriptor; leave it out, it is for programs that run sessions", fd_));
  // A line that finds no room is not worth waiting for.
  ::fcntl(fd_, F_SETFL, flags | O_NONBLOCK);
  ::fcntl(fd_, F_SETFD, FD_CLOEXEC);
  std::signal(SIGPIPE, SIG_IGN);
  // Trials are committed one by one: nothing is lost by ending at once. A parent that died before this shows at the first line.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void ProgressPipe::stage(const std::string& name) { write({{"stage", name}}); }

void ProgressPipe::opened(const std::string& session_id) { write({{"stage", "session"}, {"session", session_id}}); }

void ProgressPipe::progress(const TuneObserver::Progress& progress) {
  if (fd_ < 0) return;
  const double now = now_s();
  if (progress.step == last_step_ && now - last_progress_s_ < kProgressSeconds) return;
  last_progress_s_ = now;
  last_step_ = progress.step;
  nlohmann::ordered_json line = {{"step", progress.step}, {"done", progress.done}, {"total", progress.total}, {"failed", progress.failed}};
  if (progress.best_us) line["best_us"] = *progress.best_us;
  if (progress.remaining_seconds) line["remaining_s"] = *progress.remaining_seconds;
  write(line);
}

void ProgressPipe::write(const nlohmann::ordered_json& line) {
  if (fd_ < 0) return;
  const std::string text = line.dump() + "\n";
  if (::write(fd_, text.data(), text.size()) >= 0) return;
  if (errno == EPIPE) std::raise(SIGTERM);  // nobody waits for this session any more
}

}  // namespace tunebook::cli
