#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>

#include <fmt/format.h>

#include "core/statistics.h"

namespace tunebook::cli {
namespace {

// Of the terminal that the stream is; 0 where it is none.
std::size_t terminal_columns(std::FILE* stream) {
  winsize size{};
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string coloured(std::string_view text, const char* code, std::FILE* stream) {
  return colour_allowed(stream) ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace

std::string terminal_text(const TextTable& table) { return table.to_text(terminal_columns(stdout)); }

bool colour_allowed(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && isatty(fileno(stream)) == 1;
}

std::string bold(std::string_view text, std::FILE* stream) { return coloured(text, "1", stream); }
std::string green(std::string_view text, std::FILE* stream) { return coloured(text, "32", stream); }
std::string red(std::string_view text, std::FILE* stream) { return coloured(text, "31", stream); }

std::string verified_text(std::int64_t verified_problems, std::int64_t skipped_problems) {
  if (verified_problems > 1) {
    return fmt::format("on {} problems, the tuned one included{}", verified_problems,
                       skipped_problems > 0 ? fmt::format("; {} excluded by its constraints", skipped_problems) : "");
  }
  return red("on the tuned problem alone", stdout) +
         (skipped_problems > 0 ? fmt::format(": its constraints exclude all {} others, so that no ragged size was checked", skipped_problems)
                               : ": the kernel declares no other to verify on, so that no ragged size was checked");
}

std::string interval_name(std::span<const double> sample) {
  const double coverage = median_interval_coverage(sample.size());
  return coverage >= 0.95 ? "95 % interval" : fmt::format("{:.0f} % interval", 100 * coverage);
}

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1) {}
ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(const std::string& text) {
  if (!terminal_) return;
  const double now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  if (last_shown_ >= 0 && now - last_shown_ < 0.1) return;
  last_shown_ = now;
  const std::size_t terminal = terminal_columns(stderr);
  const std::size_t columns = terminal > 1 ? terminal - 1 : 79;
  fmt::print(stderr, "\r\x1b[K{}", text.substr(0, columns));
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
  shown_ = false;
}

}  // namespace tunebook::cli
