#include "cli/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace tunebook::cli {
namespace {

bool is_database(const std::filesystem::path& path) {
  constexpr std::string_view kMagic = "SQLite format 3";
  std::string begin(kMagic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return file && begin == kMagic;
}

// SQLite's files beside a database: a -wal file holds what is not in the database yet.
bool is_beside_database(const std::filesystem::path& path) {
  const std::string text = path.string();
  for (const std::string_view suffix : {"-wal", "-shm", "-journal"}) {
    if (text.ends_with(suffix) && is_database(text.substr(0, text.size() - suffix.size()))) return true;
  }
  return false;
}

}  // namespace

OutputFile::OutputFile(const std::filesystem::path& path) {
  if (path.empty()) throw InputError("an output file's path is empty; name a file");
  std::error_code error;
  path_ = std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);  // a link stays, and what it points at is replaced
  if (error) throw InputError(fmt::format("{}: {}", path.string(), error.message()));
  if (std::filesystem::is_directory(path_, error)) throw InputError(fmt::format("{}: this is a folder; name a file", path.string()));
  if (const auto there = std::filesystem::status(path, error); std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    throw InputError(fmt::format("{}: this is no regular file (a device or a pipe), which is not replaced; name a file", path.string()));
  }
  if (!std::filesystem::is_directory(path_.parent_path(), error)) {
    throw InputError(fmt::format("{}: there is no folder {}; make it first", path.string(), path_.parent_path().string()));
  }
  if (is_beside_database(path_)) throw InputError(fmt::format("{}: this belongs to the database beside it; name another file", path.string()));
  if (is_database(path_)) throw InputError(fmt::format("{}: this is a database, which is not replaced by a report; name another file", path.string()));
  std::string name = (path_.parent_path() / fmt::format(".{}.XXXXXX", path_.filename().string().substr(0, 200))).string();
  file_ = mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0) throw InputError(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
  temporary_ = name;
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(file_, 0666 & ~mask);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})), file_(std::exchange(other.file_, -1)) {}

OutputFile::~OutputFile() {
  if (file_ >= 0) close(file_);
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove(temporary_, ignored);
}

void OutputFile::write(std::string_view content) {
  const auto check = [&](bool done) {
    if (!done) throw EnvironmentError(fmt::format("{}: {}; what was there is unchanged", path_.string(), std::strerror(errno)));
  };
  while (!content.empty()) {
    const ssize_t written = ::write(file_, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    check(written >= 0);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  check(fsync(file_) == 0);
  check(std::rename(temporary_.c_str(), path_.c_str()) == 0);
  temporary_.clear();
}

}  // namespace tunebook::cli
