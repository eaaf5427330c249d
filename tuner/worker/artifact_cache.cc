#include "worker/artifact_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"

namespace tunebook {
namespace fs = std::filesystem;
namespace {

constexpr int kEntryVersion = 1;
constexpr std::uintmax_t kDefaultCapMib = 2048;
// An eviction goes below the cap by this share, so that the next starts do not evict again.
constexpr double kEvictTo = 0.8;
// Sizes are added up at most this often: a pool of 16 workers starts at once, and one look is enough.
constexpr std::time_t kEvictIntervalSeconds = 600;
// The time of last use is renewed only when it is older than this: a hit then costs no write.
constexpr std::time_t kTouchAfterSeconds = 3600;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::uintmax_t cap_bytes() {
  const std::string text = environment("TUNEBOOK_CACHE_MIB");
  std::uintmax_t mebibytes = kDefaultCapMib;
  if (!text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mebibytes);
    if (error != std::errc{} || end != text.data() + text.size() || mebibytes > (std::uintmax_t{1} << 40)) {
      throw EnvironmentError(fmt::format("TUNEBOOK_CACHE_MIB is \"{}\": give a whole number of mebibytes, or unset it", text));
    }
  }
  return mebibytes << 20;
}

// Makes `folder` and its missing parents, each with mode 0700. False (errno says why) if that is not possible.
bool make_private_folders(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return true;
  if (errno != ENOENT || !folder.has_parent_path() || folder.parent_path() == folder) return false;
  return make_private_folders(folder.parent_path()) && (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST);
}

void refuse_foreign(const fs::path& folder) {
  struct stat status = {};
  if (::stat(folder.c_str(), &status) != 0) return;
  const std::string remedy = "choose another folder with TUNEBOOK_CACHE";
  if (!S_ISDIR(status.st_mode)) {
    throw EnvironmentError(fmt::format("the cache {} is not a folder: remove it, or {}", folder.string(), remedy));
  }
  if (status.st_uid != ::geteuid()) {
    throw EnvironmentError(fmt::format("the cache folder {} belongs to another user (id {}); what it holds would be executed: {}",
                                       folder.string(), status.st_uid, remedy));
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw EnvironmentError(fmt::format("the cache folder {} can be written by other users (mode {:o}); what it holds would be "
                                       "executed: chmod 700 it after looking at its content, or {}",
                                       folder.string(), status.st_mode & 07777, remedy));
  }
}

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return std::nullopt;
  return bytes;
}

// Writes to a temporary name in the same folder and renames. Returns 0 or an errno value.
int write_and_rename(const fs::path& path, std::string_view bytes) {
  static std::atomic<unsigned> counter{0};
  const fs::path temporary = path.parent_path() / fmt::format(".tmp-{}-{}", ::getpid(), counter++);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  int error = 0;
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      error = errno;
      break;
    }
    done += static_cast<std::size_t>(written);
  }
  // Not synced: an entry torn by a power cut has the wrong content hash and is a miss.
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(temporary.c_str());
  return error;
}

fs::path shard(const fs::path& folder, std::string_view key) { return folder / std::string(key.substr(0, 2)); }

void check_key(std::string_view key) {
  const bool hexadecimal = std::all_of(key.begin(), key.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (key.size() < 8 || !hexadecimal) throw std::invalid_argument("cache key: hexadecimal digits expected");
}

}  // namespace

fs::path ArtifactCache::root() {
  if (const std::string own = environment("TUNEBOOK_CACHE"); !own.empty()) return fs::absolute(own);
  if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty() && xdg.front() == '/') return fs::path(xdg) / "tunebook";
  if (const std::string home = environment("HOME"); !home.empty() && home.front() == '/') return fs::path(home) / ".cache" / "tunebook";
  return {};
}

ArtifactCache::ArtifactCache(std::string kind, std::string suffix) : suffix_(std::move(suffix)) {
  const std::uintmax_t cap = cap_bytes();
  const fs::path top = root();
  if (top.empty()) return;
  make_private_folders(top);  // a failure shows when something is published
  refuse_foreign(top);
  folder_ = top / kind;
  make_private_folders(folder_);
  refuse_foreign(folder_);
  evict(cap);
}

ArtifactCache::~ArtifactCache() {
  if (private_folder_.empty()) return;
  std::error_code ignored;  // nothing can be done about it here
  fs::remove_all(private_folder_, ignored);
}

std::optional<ArtifactCache::Entry> ArtifactCache::lookup(std::string_view key) const {
  check_key(key);
  for (const fs::path& folder : {folder_, private_folder_}) {
    if (folder.empty()) continue;
    const fs::path sidecar = shard(folder, key) / fmt::format("{}.json", key);
    const std::optional<std::string> text = read_file(sidecar);
    if (!text) continue;
    const nlohmann::json entry = nlohmann::json::parse(*text, nullptr, false);
    if (!entry.is_object() || entry.value("version", nlohmann::json()) != kEntryVersion || entry.value("key", nlohmann::json()) != key ||
        !entry.contains("content") || !entry["content"].is_string() || !entry.contains("metadata")) {
      continue;
    }
    const std::string content = entry["content"].get<std::string>();
    const fs::path artifact = shard(folder, key) / fmt::format("{}-{}.{}", key, content.substr(0, 16), suffix_);
    const std::optional<std::string> bytes = read_file(artifact);
    if (!bytes || content_hash(*bytes) != content) continue;
    struct stat status = {};
    if (::stat(sidecar.c_str(), &status) == 0 && std::time(nullptr) - status.st_mtime > kTouchAfterSeconds) {
      ::utimensat(AT_FDCWD, sidecar.c_str(), nullptr, 0);
      ::utimensat(AT_FDCWD, artifact.c_str(), nullptr, 0);
    }
    return Entry{artifact, entry["metadata"]};
  }
  return std::nullopt;
}

fs::path ArtifactCache::store(const fs::path& folder, std::string_view key, std::string_view bytes,
                              const nlohmann::json& metadata) const {
  const fs::path place = shard(folder, key);
  const std::string content = content_hash(bytes);
  const fs::path artifact = place / fmt::format("{}-{}.{}", key, content.substr(0, 16), suffix_);
  const nlohmann::json entry = {{"version", kEntryVersion}, {"key", key}, {"content", content}, {"metadata", metadata}};
  const std::string text = entry.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  int error = make_private_folders(place) ? 0 : errno;
  if (error == 0) error = write_and_rename(artifact, bytes);
  if (error == 0) error = write_and_rename(place / fmt::format("{}.json", key), text);
  if (error != 0) throw EnvironmentError(fmt::format("{}: {}", folder.string(), std::strerror(error)));
  return artifact;
}

fs::path ArtifactCache::private_folder() {
  if (private_folder_.empty()) {
    std::error_code error;
    const fs::path temporary = fs::temp_directory_path(error);
    std::string pattern = ((error ? fs::path("/tmp") : temporary) / "tunebook-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw EnvironmentError(fmt::format("no folder for compiled kernels: {}: {}; make room there, or set TMPDIR or TUNEBOOK_CACHE", pattern,
                                         std::strerror(errno)));
    }
    private_folder_ = pattern;
  }
  return private_folder_;
}

fs::path ArtifactCache::publish(std::string_view key, std::string_view bytes, const nlohmann::json& metadata) {
  check_key(key);
  std::string reason = "no HOME, XDG_CACHE_HOME or TUNEBOOK_CACHE is set";
  if (!folder_.empty()) {
    try {
      return store(folder_, key, bytes, metadata);
    } catch (const EnvironmentError& error) {
      reason = error.what();
    }
  }
  if (private_folder_.empty()) {
    std::fprintf(stderr, "tunebook: compiled kernels are not kept, the cache cannot be written: %s; set TUNEBOOK_CACHE to a folder with room\n",
                 reason.c_str());
  }
  return store(private_folder(), key, bytes, metadata);
}

fs::path ArtifactCache::publish_file(std::string_view key, const fs::path& file, const nlohmann::json& metadata) {
  const std::optional<std::string> bytes = read_file(file);
  if (!bytes) throw EnvironmentError(fmt::format("cannot read {}", file.string()));
  return publish(key, *bytes, metadata);
}

void ArtifactCache::evict(std::uintmax_t cap) const {
  const int lock = ::open((folder_ / ".evict").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return;  // read-only: nothing grows
  struct stat status = {};
  const bool recent = ::fstat(lock, &status) == 0 && status.st_size > 0 && std::time(nullptr) - status.st_mtime < kEvictIntervalSeconds;
  if (recent || ::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return;
  }
  struct File {
    fs::path path;
    std::time_t used = 0;
    std::uintmax_t bytes = 0;
  };
  std::vector<File> files;
  std::uintmax_t total = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    struct stat info = {};
    if (::lstat(it->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode) || it->path().filename() == ".evict") continue;
    const auto bytes = static_cast<std::uintmax_t>(info.st_blocks) * 512;
    total += bytes;
    files.push_back({it->path(), info.st_mtime, bytes});
  }
  if (total > cap) {
    std::sort(files.begin(), files.end(), [](const File& x, const File& y) { return x.used < y.used; });
    const auto target = static_cast<std::uintmax_t>(static_cast<double>(cap) * kEvictTo);
    for (const File& file : files) {
      if (total <= target) break;
      if (::unlink(file.path.c_str()) == 0) total -= file.bytes;
    }
  }
  // The stamp: not empty, with the time of this look.
  [[maybe_unused]] const ssize_t written = ::pwrite(lock, "1\n", 2, 0);
  ::futimens(lock, nullptr);
  ::close(lock);
}

}  // namespace tunebook
