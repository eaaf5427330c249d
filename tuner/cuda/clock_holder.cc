#include "cuda/clock_holder.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cuda/nvml_device.h"
#include "cuda/nvml_library.h"

namespace tunebook {
namespace {

constexpr int kArguments = 5;

int say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
  return EXIT_FAILURE;
}

// Signals that end a process politely, as a descriptor.
int signal_descriptor() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return ::signalfd(-1, &signals, SFD_CLOEXEC);
}

// Until standard input is closed, or a signal asks to end.
void wait_for_the_end(int signals) {
  std::array<pollfd, 2> entries = {{{STDIN_FILENO, POLLIN, 0}, {signals, POLLIN, 0}}};
  for (;;) {
    if (::poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR) return;
    if (entries[1].revents != 0) return;
    if (entries[0].revents == 0) continue;
    std::array<char, 64> ignored{};
    const ssize_t count = ::read(STDIN_FILENO, ignored.data(), ignored.size());
    if (count == 0 || (count < 0 && errno != EINTR)) return;
  }
}

}  // namespace

bool is_clock_holder(int argc, char** argv) { return argc > 1 && std::string_view(argv[1]) == "--hold-clocks"; }

int hold_clocks(int argc, char** argv) {
  if (argc != kArguments) return say("usage: --hold-clocks MHZ PCI_BUS_ID UUID");
  const std::string_view text = argv[2];
  int mhz = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mhz);
  if (error != std::errc{} || end != text.data() + text.size() || mhz < 1) return say(fmt::format("\"{}\" is no clock in MHz", text));
  // Before anything is changed that has to be changed back.
  const int signals = signal_descriptor();
  if (signals < 0) return say("signals cannot be waited for");

  std::string why;
  const std::unique_ptr<NvmlDevice> device = NvmlDevice::find(NvmlLibrary::open(why), argv[3], argv[4], why);
  if (!device) return say(fmt::format("clocks can be locked through NVML only: {}", why));
  if (const std::string problem = device->lock_clocks(mhz); !problem.empty()) return say(problem);
  say("locked");
  wait_for_the_end(signals);
  const std::string problem = device->reset_clocks();
  if (problem.empty()) return EXIT_SUCCESS;
  fmt::print(stderr, "the SM clock is still locked at {} MHz: {}; reset it with: nvidia-smi --reset-gpu-clocks\n", mhz, problem);
  return EXIT_FAILURE;
}

}  // namespace tunebook
