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

  // Calls body(database) on a consistent view of the book and returns what it returns; it may be called several times.
  template <class Body>
  auto read(Body&& body) {
    for (int attempt = 0;; ++attempt) {
      const FileState before = open_current();
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
  // Opens the book if it is not open, or not as it must be by now.
  FileState open_current();
  bool disturbed(const FileState& before) const;

  std::filesystem::path path_;
  FileState opened_;
  bool immutable_ = false;
  bool settled_ = false;  // the file had not been changed just before it was opened
  std::unique_ptr<sqlite::Database> database_;
};

}  // namespace tunebook
