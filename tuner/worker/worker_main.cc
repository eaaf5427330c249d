#include "worker/worker_main.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>

#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/error.h"
#include "worker/channel.h"
#include "worker/compile_threads.h"
#include "worker/group_guard.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TUNEBOOK_RESERVES_ADDRESS_SPACE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TUNEBOOK_RESERVES_ADDRESS_SPACE 1
#endif
#endif

namespace tunebook {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kDefaultFd = 3;
// How long a worker whose coordinator is gone may take to notice by itself before the watchdog ends it.
constexpr std::chrono::milliseconds kOrphanGrace{1000};
constexpr int kParentCheckMs = 1000;
constexpr std::int64_t kMostThreads = 64;

struct WorkerOptions {
  WorkerRole role = WorkerRole::compiler;
  std::string device;
  int fd = kDefaultFd;
  std::int64_t address_space_mib = 0;  // 0: no limit
  int threads = 1;                     // of a compiler
};

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// Nothing if the command line is not one that the coordinator writes.
std::optional<WorkerOptions> parse_options(int argc, char** argv) {
  static const option kOptions[] = {{"role", required_argument, nullptr, 'r'},
                                    {"device", required_argument, nullptr, 'd'},
                                    {"fd", required_argument, nullptr, 'f'},
                                    {"address-space-mib", required_argument, nullptr, 'a'},
                                    {"threads", required_argument, nullptr, 't'},
                                    {nullptr, 0, nullptr, 0}};
  WorkerOptions options;
  bool role_given = false;
  opterr = 0;
  optind = 1;
  for (int found = 0; (found = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    const std::string_view value = optarg != nullptr ? optarg : "";
    if (found == 'r' && (value == "compiler" || value == "runner")) {
      options.role = value == "runner" ? WorkerRole::runner : WorkerRole::compiler;
      role_given = true;
    } else if (found == 'd') {
      options.device = value;
    } else if (found == 'f' && parse_number(value)) {
      options.fd = static_cast<int>(*parse_number(value));
    } else if (found == 'a' && parse_number(value)) {
      options.address_space_mib = *parse_number(value);
    } else if (found == 't' && parse_number(value) && *parse_number(value) >= 1 && *parse_number(value) <= kMostThreads) {
      options.threads = static_cast<int>(*parse_number(value));
    } else {
      return std::nullopt;
    }
  }
  if (!role_given || optind != argc) return std::nullopt;
  return options;
}

bool is_socket(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

int explain_and_refuse(const char* program) {
  fmt::print(stderr,
             "{} is a helper of tunebook: it compiles or runs kernels on behalf of the tunebook program, which starts it and\n"
             "talks to it over a socket. It is of no use by hand; see `tunebook --help`.\n",
             program);
  return kExitUsage;
}

bool peer_is_gone(int fd) {
  pollfd entry{fd, POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) > 0;
}

// Ends the process when the coordinator is gone although the main thread is stuck (in a kernel, in a compiler): the kernel's
// own PR_SET_PDEATHSIG does the same at once, but only for a death of the parent, and not through a wrapper in between.
class Watchdog {
 public:
  Watchdog(int fd, pid_t parent) : stop_(::eventfd(0, EFD_CLOEXEC)) {
    thread_ = std::thread([this, fd, parent] { watch(fd, parent); });
  }
  ~Watchdog() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t ignored = ::write(stop_, &one, sizeof one);
    thread_.join();
    ::close(stop_);
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch(int fd, pid_t parent) const {
    for (;;) {
      pollfd entries[2] = {{fd, POLLRDHUP, 0}, {stop_, POLLIN, 0}};
      ::poll(entries, 2, kParentCheckMs);
      if (entries[1].revents != 0) return;
      if (entries[0].revents != 0 || ::getppid() != parent) break;
    }
    pollfd stop{stop_, POLLIN, 0};
    if (::poll(&stop, 1, static_cast<int>(kOrphanGrace.count())) == 0) ::_exit(kExitFailure);
  }

  int stop_;
  std::thread thread_;
};

// The out-of-memory killer shall take a worker rather than the coordinator with its open book. Raising one's own score is
// always permitted; where /proc is not there, nothing is lost.
void volunteer_for_oom_killer() {
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t ignored = ::write(fd, "1000", 4);
  ::close(fd);
}

// Sanitizers reserve terabytes of address space, so the limit would stop every one of their programs.
void limit_address_space([[maybe_unused]] std::int64_t mib) {
#ifndef TUNEBOOK_RESERVES_ADDRESS_SPACE
  const rlim_t bytes = static_cast<rlim_t>(mib) << 20;
  const rlimit limit{bytes, bytes};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) {
    throw EnvironmentError(fmt::format("cannot limit the address space to {} MiB: {}", mib, std::strerror(errno)));
  }
#endif
}

void serve_compiler(int fd, CompilerBackend& backend) {
  FrameReader reader;
  while (const auto message = read_message(fd, reader)) {
    const Request request = decode_request(*message);
    const auto* compile = std::get_if<CompileRequest>(&request);
    if (compile == nullptr) throw ProtocolError("a compile worker was asked to run something");
    CompileReply reply = backend.compile(*compile);
    reply.id = compile->id;
    write_message(fd, encode(Reply{std::move(reply)}));
  }
}

void serve_runner(int fd, RunnerBackend& backend) {
  const Hello hello = backend.hello();
  write_message(fd, encode(Reply{hello}));
  if (hello.error.empty()) backend.warm_up();
  FrameReader reader;
  while (const auto message = read_message(fd, reader)) {
    const Request request = decode_request(*message);
    const std::int64_t id = std::visit([](const auto& any) { return any.id; }, request);
    const StageCallback stage = [fd, id](const std::string& what) { write_message(fd, encode(Reply{Stage{id, what}})); };
    Reply reply = std::visit(
        [&](const auto& any) -> Reply {
          using Type = std::decay_t<decltype(any)>;
          if constexpr (std::is_same_v<Type, SetupRequest>) {
            return backend.setup(any, stage);
          } else if constexpr (std::is_same_v<Type, RunRequest>) {
            return backend.run(any, stage);
          } else if constexpr (std::is_same_v<Type, InterleaveRequest>) {
            return backend.interleave(any, stage);
          } else if constexpr (std::is_same_v<Type, CalibrateRequest>) {
            return backend.calibrate(any, stage);
          } else {
            throw ProtocolError("a runner was asked to compile");
          }
        },
        request);
    std::visit(
        [id](auto& any) {
          if constexpr (requires { any.id; }) any.id = id;
        },
        reply);
    write_message(fd, encode(reply));
  }
}

// False if it failed and said why.
bool serve(const WorkerOptions& options, const BackendFactory& factory) {
  if (options.role == WorkerRole::runner) {
    const auto backend = factory.runner(options.device);
    serve_runner(options.fd, *backend);
    return true;
  }
  if (options.address_space_mib > 0) limit_address_space(options.address_space_mib);
  auto backend = factory.compiler();
  write_message(options.fd, encode(Reply{backend->hello()}));
  if (options.threads > 1) return serve_compiles(options.fd, options.threads, std::move(backend), factory.compiler);
  serve_compiler(options.fd, *backend);
  return true;
}

}  // namespace

int worker_main(int argc, char** argv, const BackendFactory& factory) {
  const pid_t parent = ::getppid();
  const auto options = parse_options(argc, argv);
  if (!options || !is_socket(options->fd)) return explain_and_refuse(argc > 0 ? argv[0] : "this program");

  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above took effect.
  if (::getppid() != parent || peer_is_gone(options->fd)) return kExitFailure;
  volunteer_for_oom_killer();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);                // Ctrl-C reaches the whole group; the coordinator decides what to do
  ::fcntl(options->fd, F_SETFD, FD_CLOEXEC);   // compilers started from here must not hold the channel open
  ::dup2(STDERR_FILENO, STDOUT_FILENO);        // whatever a library prints belongs with the diagnostics

  if (options->role == WorkerRole::compiler) guard_group();  // compilers have children of their own
  try {
    const Watchdog watchdog(options->fd, parent);
    return serve(*options, factory) ? 0 : kExitFailure;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return kExitFailure;
  }
}

}  // namespace tunebook
