#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <utility>

#include "db/sqlite.h"

namespace tunebook {

// A book opened for reading, wherever it lies. With a -wal file beside it, a writer may be at work: it is read as SQLite does,
// under locks. Without one it is opened immutable, which needs no lock and works in a read-only folder, but must not be
// mixed with writing; so the file is looked at before and after each read, and opened anew when a writer has come.
class BookReader {
 public:
  // Throws InputError or EnvironmentError, saying what is wrong and what to do.
  explicit BookReader(const std::filesystem::path& path);

  // The open file's device and inode.
  std::pair<std::uint64_t, std::uint64_t> file() const { return {opened_.device, opened_.inode}; }
  // True if it was opened while nobody wrote: it cannot change under the reader's eyes.
  bool immutable() const { return immutable_; }
  // The book's schema version.
  std::int64_t version() const { return version_; }
  // True if the file may have changed since the last read, as far as its directory entry tells; a writer's commits (a -wal file is
  // there) do not show in it. Throws EnvironmentError if the file is gone.
  bool file_changed() const;

  // For bodies of read() that act on what they read before they return: true if a writer has come since to a book that was opened
  // while nobody wrote, so that what was read may be of two states. The body should then throw; it is called again.
  bool torn() const { return disturbed(reading_since_); }

  // Something that belongs to the connection and goes before it, such as prepared statements.
  template <class T>
  T& attachment(sqlite::Database& database) {
    if (attachment_ == nullptr) {
      attachment_ = std::make_shared<T>(database);
    }
    return *static_cast<T*>(attachment_.get());
  }

  // Calls body(database) on a consistent view of the book and returns what it returns; it may be called several times.
  template <class Body>
  auto read(Body&& body) {
    for (int attempt = 0;; ++attempt) {
      const FileState before = open_current();
      reading_since_ = before;
      try {
        auto result = sqlite::in_transaction(*database_, sqlite::Transaction::Kind::read, [&] { return body(*database_); });
        if (attempt == kAttempts || !disturbed(before)) {
          return result;
        }
      } catch (const std::exception&) {
        // A read under which the file was changed may have met any damage.
        if (attempt == kAttempts || !disturbed(before)) {
          throw;
        }
      }
    }
  }

 private:
  struct FileState {
    std::uint64_t device = 0, inode = 0;
    std::int64_t size = 0;
    std::int64_t changed_ns = 0;  // since 1970
    bool wal = false;
    friend bool operator==(const FileState&, const FileState&) = default;
  };
  static constexpr int kAttempts = 5;

  FileState file_state() const;
  bool must_open(const FileState& now) const;
  // Opens the book if it is not open, or not as it must be by now.
  FileState open_current();
  bool disturbed(const FileState& before) const;

  std::filesystem::path path_;
  FileState opened_, reading_since_;
  bool immutable_ = false;
  bool settled_ = false;  // the file had not been changed just before it was opened, or is a published book
  std::int64_t version_ = 0;
  std::unique_ptr<sqlite::Database> database_;
  std::shared_ptr<void> attachment_;  // destroyed before database_
};

}  // namespace tunebook
