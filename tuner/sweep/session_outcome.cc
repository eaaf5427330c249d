#include "sweep/session_outcome.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <sys/statvfs.h>

#include <fmt/format.h>

namespace tunebook {
namespace {

constexpr int kBadInput = 2, kNo = 3;  // exit codes of every verb
// Below this, a book's next transaction may fail.
constexpr std::uint64_t kRoomBytes = std::uint64_t{1} << 20;

// The last message that the program printed; what stands below it belongs to it.
std::string last_message(const std::string& error_output) {
  constexpr std::string_view kMark = "tunebook: ";
  std::size_t at = error_output.rfind(std::string("\n").append(kMark));
  at = at == std::string::npos ? (error_output.starts_with(kMark) ? 0 : std::string::npos) : at + 1;
  std::string text = at == std::string::npos ? error_output : error_output.substr(at + kMark.size());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  constexpr std::size_t kMost = 500;
  if (text.size() > kMost) text = at == std::string::npos ? "..." + text.substr(text.size() - kMost) : text.substr(0, kMost) + "...";
  return text;
}

bool disk_is_full(const std::filesystem::path& book, const std::string& message) {
  for (const std::string_view words : {"No space left on device", "Disk quota exceeded", "disk is full", "disk full"}) {
    if (message.find(words) != std::string::npos) return true;
  }
  struct statvfs status {};
  const std::filesystem::path folder = std::filesystem::absolute(book).parent_path();
  return ::statvfs(folder.c_str(), &status) == 0 && status.f_bavail * std::uint64_t{status.f_frsize} < kRoomBytes;
}

double number(const nlohmann::ordered_json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

}  // namespace

SessionOutcome session_outcome(const SessionExit& exit, const std::filesystem::path& book) {
  using Kind = SessionOutcome::Kind;
  SessionOutcome outcome;
  auto result = nlohmann::ordered_json::parse(exit.out, nullptr, false);
  if (result.is_object() && result.contains("session") && result.contains("winner")) {
    outcome.kind = Kind::finished;
    outcome.result = std::move(result);
    return outcome;
  }
  outcome.message = last_message(exit.error_output);
  if (!exit.start_error.empty()) {
    outcome.message = "the session could not be started: " + exit.start_error;
  } else if (exit.signal != 0) {
    outcome.message = fmt::format("the session was killed by signal {} ({}){}", exit.signal, ::strsignal(exit.signal),
                                  outcome.message.empty() ? "" : ": " + outcome.message);
  } else if (exit.code == kNo) {
    outcome.kind = Kind::nothing_stands;
    return outcome;
  }
  if (disk_is_full(book, outcome.message)) outcome.kind = Kind::no_room;
  else if (exit.stage == "device") outcome.kind = Kind::no_device;
  else if (exit.code == kBadInput) outcome.kind = Kind::bad_input;
  if (outcome.message.empty()) outcome.message = fmt::format("the session ended with exit code {} and said nothing", exit.code);
  return outcome;
}

nlohmann::ordered_json shortened(const nlohmann::ordered_json& result) {
  nlohmann::ordered_json kept;
  for (const char* key : {"session", "winner", "previous", "measured", "from_book", "cut", "wall_s"}) {
    if (const auto found = result.find(key); found != result.end()) kept[key] = *found;
  }
  return kept;
}

double busy_seconds(const nlohmann::ordered_json& result) {
  const auto clock = result.find("clock");
  if (clock == result.end() || !clock->is_object()) return 0;
  return std::max(0.0, number(*clock, "first_pass_s") - number(*clock, "device_idle_s")) + number(*clock, "finalists_s");
}

}  // namespace tunebook
