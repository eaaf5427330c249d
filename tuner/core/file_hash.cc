#include "core/file_hash.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/error.h"

namespace tunebook {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw EnvironmentError(fmt::format("{}: {}", path.string(), std::strerror(error)));
}

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags) : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (fd_ < 0) fail(path_, errno);
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  // Fills the piece as far as there is something; 0: the end.
  std::size_t read(std::vector<char>& piece) {
    for (;;) {
      const ssize_t got = ::read(fd_, piece.data(), piece.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) fail(path_, errno);
    }
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno != EINTR) {
        fail(path_, errno);
      }
    }
  }

  // Network file systems report a full disk or quota here or at the close at the latest.
  void sync_and_close() {
    if (::fsync(fd_) != 0) fail(path_, errno);
    const int fd = fd_;
    fd_ = -1;
    if (::close(fd) != 0) fail(path_, errno);
  }

  void sync() {
    if (::fsync(fd_) != 0) fail(path_, errno);
  }

 private:
  std::filesystem::path path_;
  int fd_;
};

// Removes a half-written file unless it became whole.
class Unfinished {
 public:
  explicit Unfinished(const std::filesystem::path& path) : path_(path) {}
  ~Unfinished() {
    if (!whole) ::unlink(path_.c_str());
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  bool whole = false;

 private:
  const std::filesystem::path& path_;
};

class Hasher {
 public:
  Hasher() : state_(XXH3_createState(), &XXH3_freeState) {
    if (!state_) throw std::bad_alloc();
    XXH3_128bits_reset(state_.get());
  }
  void add(const char* bytes, std::size_t size) {
    XXH3_128bits_update(state_.get(), bytes, size);
    bytes_ += static_cast<std::int64_t>(size);
  }
  FileHash finish() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return {fmt::format("{:016x}{:016x}", hash.high64, hash.low64), bytes_};
  }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
  std::int64_t bytes_ = 0;
};

}  // namespace

FileHash hash_file(const std::filesystem::path& path) {
  Descriptor file(path, O_RDONLY);
  Hasher hasher;
  std::vector<char> piece(kPieceBytes);
  while (const std::size_t got = file.read(piece)) hasher.add(piece.data(), got);
  return hasher.finish();
}

FileHash copy_file_synced(const std::filesystem::path& source, const std::filesystem::path& target) {
  Descriptor from(source, O_RDONLY);
  Descriptor to(target, O_WRONLY | O_CREAT | O_EXCL);
  Unfinished unfinished(target);
  Hasher hasher;
  std::vector<char> piece(kPieceBytes);
  while (const std::size_t got = from.read(piece)) {
    hasher.add(piece.data(), got);
    to.write({piece.data(), got});
  }
  to.sync_and_close();
  unfinished.whole = true;
  return hasher.finish();
}

void write_file_synced(const std::filesystem::path& target, const std::string& text) {
  Descriptor file(target, O_WRONLY | O_CREAT | O_EXCL);
  Unfinished unfinished(target);
  file.write(text);
  file.sync_and_close();
  unfinished.whole = true;
}

void sync_folder(const std::filesystem::path& folder) {
  Descriptor(folder, O_RDONLY | O_DIRECTORY).sync();
}

}  // namespace tunebook
