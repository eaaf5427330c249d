#include "db/lookup_misses.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/problem.h"
#include "core/value.h"
#include "db/encoding.h"

namespace tunebook {
namespace {

// Beyond this many bytes nothing is added: a file that nobody reads must not fill the disk.
constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;
// Questions that are remembered as recorded; later ones are not recorded. 100,000 questions are more than a sweep can work through.
constexpr std::size_t kMostQuestions = 100'000;

nlohmann::ordered_json to_json(const LookupValues& values) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : values) {
    json[name] = nlohmann::ordered_json(to_json_value(value));
  }
  return json;
}

nlohmann::ordered_json to_json(const DeviceKey& key) {
  nlohmann::ordered_json json{{"kind", key.kind}};
  const auto add_text = [&](const char* name, const std::string& text) {
    if (!text.empty()) {
      json[name] = text;
    }
  };
  const auto add_number = [&](const char* name, std::int64_t number) {
    if (number != 0) {
      json[name] = number;
    }
  };
  add_text("name", key.name);
  add_number("compute_capability", key.compute_capability);
  add_text("instruction_set", key.instruction_set);
  add_number("sm_count", key.sm_count);
  add_number("memory_gib", key.memory_gib);
  add_text("host_compiler", key.host_compiler);
  add_number("max_threads_per_block", key.max_threads_per_block);
  add_number("shared_bytes_per_block_optin", key.shared_bytes_per_block_optin);
  add_number("registers_per_block", key.registers_per_block);
  return json;
}

// What this process has recorded in one file.
struct Recorded {
  std::set<Hash> questions;
  std::int64_t second = 0;  // the one that is going on
  int in_second = 0;
};

// True if the question is new and there is room in this second.
bool is_due(const std::string& path, const std::string& question, int most_per_second) {
  static std::mutex mutex;
  static auto* const files = new std::map<std::string, Recorded>;  // questions may come until the very end of the process
  const Hash hash = to_hash(content_hash(question));
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const std::int64_t second = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  const std::lock_guard lock(mutex);
  Recorded& recorded = (*files)[path];
  if (recorded.second != second) {
    recorded.second = second;
    recorded.in_second = 0;
  }
  if (recorded.in_second >= most_per_second || recorded.questions.size() >= kMostQuestions || !recorded.questions.insert(hash).second) {
    return false;
  }
  ++recorded.in_second;
  return true;
}

// One write at the end of the file; only to a regular file, since a pipe could block.
void append(const std::string& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
  if (file < 0) {
    return;
  }
  struct stat state {};
  if (fstat(file, &state) == 0 && S_ISREG(state.st_mode) && state.st_size < kMostBytes) {
    [[maybe_unused]] const ssize_t written = write(file, line.data(), line.size());
  }
  close(file);
}

}  // namespace

void MissLog::record(const Query& query, const Answer* answer) const noexcept {
  if (path_.empty() || (answer != nullptr && answer->tier == Tier::exact)) {
    return;
  }
  try {
    nlohmann::ordered_json json;
    json["kernel"] = query.kernel;
    json["problem"] = to_json(query.problem);
    json["device"] = to_json(query.device);
    json["kernel_hash"] = query.kernel_hash;
    json["objective"] = query.objective;
    json["method"] = query.method;
    if (is_due(path_, to_book_text(json), most_per_second_)) {
      json["tier"] = answer != nullptr ? nlohmann::ordered_json(tier_name(answer->tier)) : nlohmann::ordered_json(nullptr);
      json["asked_utc"] = now_utc();
      append(path_, to_book_text(json) + "\n");
    }
  } catch (const std::exception&) {
    // Out of memory: the question is not recorded.
  }
}

}  // namespace tunebook
