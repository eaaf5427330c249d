#include "launch/learned_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "db/answer_json.h"
#include "db/encoding.h"

namespace tunebook {
namespace {

// A file that nobody reads must not fill the disk.
constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;

// A file descriptor, closed at the end; the lock goes with it.
class File {
 public:
  // Only a regular file: a pipe could block.
  explicit File(const std::string& path) : file_(open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666)) {}
  ~File() {
    if (file_ >= 0) close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

bool lock(int file) {
  int result = 0;
  do {
    result = flock(file, LOCK_EX);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

bool write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

std::string failed(const std::string& path) { return fmt::format("{} cannot be written: {}", path, std::strerror(errno)); }

}  // namespace

std::string learned_lines(const LearnedAbout& about, const std::vector<RefinedCandidate>& candidates, const std::vector<std::int64_t>& registers) {
  const std::string now = now_utc();
  std::string lines;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const RefinedCandidate& one = candidates[i];
    nlohmann::ordered_json json;
    json["kernel"] = about.kernel;
    json["problem"] = to_json(about.problem);
    json["device"] = to_json(about.device, true);
    json["kernel_hash"] = about.kernel_hash;
    json["objective"] = "time";
    json["method"] = about.method;
    json["configuration"] = to_json(one.configuration);
    json["outcome"] = one.outcome;
    json["message"] = one.message;
    json["median_us"] = one.samples_us.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(one.median_us);
    json["samples"] = one.samples_us.size();
    json["samples_us"] = one.samples_us;
    json["registers"] = registers.at(i) < 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(registers[i]);
    json["asked_utc"] = now;
    json["source"] = "launch";
    lines += to_json_line(json) + "\n";
  }
  return lines;
}

std::string append_learned(const std::string& path, const std::string& lines) {
  const File file(path);
  if (file.get() < 0) return failed(path);
  struct stat state {};
  if (fstat(file.get(), &state) != 0) return failed(path);
  if (!S_ISREG(state.st_mode)) return fmt::format("{} is not a regular file", path);
  if (lines.empty()) return "";
  if (!lock(file.get()) || fstat(file.get(), &state) != 0) return failed(path);
  if (state.st_size >= kMostBytes) return fmt::format("{} has reached 64 MiB: merge it into a book and remove it", path);
  char last = '\n';
  if (state.st_size > 0 && pread(file.get(), &last, 1, state.st_size - 1) != 1) return failed(path);
  return write_all(file.get(), last == '\n' ? lines : "\n" + lines) ? "" : failed(path);
}

}  // namespace tunebook
