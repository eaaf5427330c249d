#include "db/book_reader.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"
#include "db/migrations.h"
#include "db/schema.h"

namespace tunebook {
namespace {

// File times advance in steps of some milliseconds; a file changed within this time may change again under the same time.
constexpr std::int64_t kSettleNs = 1'000'000'000;

std::filesystem::path existing_file(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);  // -wal lies beside the real file
  if (error) {
    throw InputError(fmt::format("book {}: {}; tune a kernel first, or give the path of an existing book", path.string(),
                                 error.message()));
  }
  if (!std::filesystem::is_regular_file(real, error)) {
    throw InputError(fmt::format("book {}: this is no regular file; give the path of a book", path.string()));
  }
  return real;
}

}  // namespace

BookReader::BookReader(const std::filesystem::path& path) : path_(existing_file(path)) {
  read([](sqlite::Database&) { return 0; });
}

BookReader::FileState BookReader::file_state() const {
  // Only stat: opening the file and closing it again would drop the locks that SQLite holds on it in this process.
  struct stat file {};
  if (stat(path_.c_str(), &file) != 0) {
    throw EnvironmentError(fmt::format("book {}: {}", path_.string(), std::strerror(errno)));
  }
  struct stat wal {};
  FileState state;
  state.device = file.st_dev;
  state.inode = file.st_ino;
  state.size = file.st_size;
  state.changed_ns = static_cast<std::int64_t>(file.st_mtim.tv_sec) * 1'000'000'000 + file.st_mtim.tv_nsec;
  state.wal = stat((path_.string() + "-wal").c_str(), &wal) == 0;
  return state;
}

bool BookReader::must_open(const FileState& now) const {
  const bool same_file = now.device == opened_.device && now.inode == opened_.inode;
  return database_ == nullptr || !same_file || (immutable_ && !(settled_ && now == opened_));
}

bool BookReader::file_changed() const { return must_open(file_state()); }

BookReader::FileState BookReader::open_current() {
  const FileState now = file_state();
  if (!must_open(now)) {
    return now;
  }
  attachment_.reset();
  database_.reset();
  opened_ = now;
  immutable_ = !now.wal;
  database_ = std::make_unique<sqlite::Database>(
      path_, immutable_ ? sqlite::Database::Mode::read_only_immutable : sqlite::Database::Mode::read_only);
  version_ = sqlite::repeat_while_busy(*database_, [&] { return check_book(*database_, kSchemaVersion); });
  if (version_ == 0) {
    throw InputError(fmt::format("book {}: the file is empty, no Tunebook book; give another path", path_.string()));
  }
  const std::int64_t clock_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                    std::chrono::system_clock::now().time_since_epoch())
                                    .count();
  settled_ = clock_ns - now.changed_ns > kSettleNs;
  if (!settled_ && immutable_ && version_ >= kPublicationVersion) {
    // Nobody writes into a published book: another one replaces the file.
    settled_ = database_->query_integer("SELECT count(*) FROM publication") > 0;
  }
  return now;
}

bool BookReader::disturbed(const FileState& before) const { return immutable_ && file_state() != before; }

}  // namespace tunebook
