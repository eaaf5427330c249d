#include "db/merge_source.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "core/error.h"
#include "db/migrations.h"
#include "db/schema.h"
#include "db/store_impl.h"

namespace tunebook {
namespace {

// File times advance in steps of some milliseconds: only a file that was left alone for longer is known to be unchanged by them.
constexpr std::int64_t kSettleNs = 50'000'000;
constexpr int kCopyAttempts = 10;
constexpr std::chrono::milliseconds kBetweenAttempts{100};

std::filesystem::path wal_of(const std::filesystem::path& book) { return book.string() + "-wal"; }

// What tells that a file was written.
struct FileTime {
  std::int64_t size = -1, changed_ns = 0;  // -1: there is none
  friend bool operator==(const FileTime&, const FileTime&) = default;
};

FileTime file_time(const std::filesystem::path& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) {
    return {};
  }
  return {file.st_size, static_cast<std::int64_t>(file.st_mtim.tv_sec) * 1'000'000'000 + file.st_mtim.tv_nsec};
}

bool settled(const FileTime& time) {
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  return time.size < 0 || now - time.changed_ns > kSettleNs;
}

void copy_to(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing, error);
  if (!error) {
    std::filesystem::permissions(to, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, error);
  }
  if (error) {
    throw EnvironmentError(fmt::format("merge: {} cannot be copied to {}: {}; make room there, or name another folder in $TMPDIR",
                                       from.string(), to.string(), error.message()));
  }
}

}  // namespace

// A copy of a book in a folder of its own.
class MergeSource::Copy {
 public:
  explicit Copy(const std::filesystem::path& book) {
    std::string pattern = (std::filesystem::temp_directory_path() / "tunebook-merge-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw EnvironmentError(fmt::format("merge: no folder can be made for a copy of {}: {}: {}; name another folder in $TMPDIR",
                                         book.string(), pattern, std::strerror(errno)));
    }
    folder_ = pattern;
    try {
      copy(book);
      migrate_copy(book);
    } catch (...) {
      remove();
      throw;
    }
  }
  ~Copy() { remove(); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  std::filesystem::path file() const { return folder_ / "book.db"; }

 private:
  // The book and its -wal file as they were at one moment.
  void copy(const std::filesystem::path& book) const {
    for (int attempt = 0; attempt < kCopyAttempts; ++attempt) {
      const std::array before = {file_time(book), file_time(wal_of(book))};
      if (settled(before[0]) && settled(before[1])) {
        copy_to(book, file());
        if (before[1].size >= 0) {
          copy_to(wal_of(book), wal_of(file()));
        }
        if (before == std::array{file_time(book), file_time(wal_of(book))}) {
          return;
        }
        std::filesystem::remove(wal_of(file()));
      }
      std::this_thread::sleep_for(kBetweenAttempts);
    }
    throw EnvironmentError(fmt::format("merge: {} is being written all the time and has to be copied, because it is of an older version or "
                                       "its folder cannot be written; end the program that writes it, and merge again",
                                       book.string()));
  }

  void migrate_copy(const std::filesystem::path& book) const {
    sqlite::Database database(file(), sqlite::Database::Mode::read_write);
    if (check_book(database, kSchemaVersion) == 0) {
      throw InputError(fmt::format("book {}: the file is empty, no Tunebook book; give another path", book.string()));
    }
    prepare_book(database);
  }

  void remove() const {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::filesystem::path folder_;
};

MergeSource::MergeSource(const std::filesystem::path& path) : path_(path) {
  try {
    reader_ = std::make_unique<BookReader>(path);
  } catch (const sqlite::NotADatabaseError&) {
    throw;
  } catch (const InputError& refused) {
    // With a -wal file SQLite needs a -shm file beside it, which it may not be able to make.
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    if (error || access(real.c_str(), R_OK) != 0 || access(wal_of(real).c_str(), R_OK) != 0) {
      throw;
    }
    try {
      copy_ = std::make_unique<Copy>(real);
    } catch (const InputError&) {
      throw InputError(refused.what());  // it speaks of the book itself
    }
    return;
  }
  const bool published = reader_->version() >= kPublicationVersion && read([](sqlite::Database& book) {
                           return book.query_integer("SELECT count(*) FROM publication");
                         }) > 0;
  if (published) {
    throw InputError(fmt::format("book {}: this is a published book, which has no trials; merge the working book that it was published from",
                                 path.string()));
  }
  if (reader_->version() < kSchemaVersion) {
    copy_ = std::make_unique<Copy>(std::filesystem::canonical(path));
  }
  close();
}

void MergeSource::open() {
  if (reader_ == nullptr) {
    reader_ = std::make_unique<BookReader>(copy_ != nullptr ? copy_->file() : path_);
  }
}

MergeSource::~MergeSource() = default;
MergeSource::MergeSource(MergeSource&&) noexcept = default;
MergeSource& MergeSource::operator=(MergeSource&&) noexcept = default;

}  // namespace tunebook
