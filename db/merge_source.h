#pragma once

#include <filesystem>
#include <memory>
#include <utility>

#include "db/book_reader.h"
#include "db/sqlite.h"

namespace tunebook {

// A working book that is only read, brought to this program's version. It is never changed: one of an older version, and one whose
// -wal file is needed but which lies where SQLite cannot make its -shm file, are read from a copy in a temporary folder ($TMPDIR) that
// goes with this object. A book that is written meanwhile is read as it was at one moment.
class MergeSource {
 public:
  // Throws InputError if the file is missing, no book, of a newer version or a published book; EnvironmentError if it cannot be copied.
  explicit MergeSource(const std::filesystem::path& path);
  ~MergeSource();
  MergeSource(MergeSource&&) noexcept;
  MergeSource& operator=(MergeSource&&) noexcept;

  const std::filesystem::path& path() const { return path_; }

  // Calls body(database) on a consistent view of the book; it may be called several times.
  template <class Body>
  auto read(Body&& body) {
    open();
    return reader_->read(std::forward<Body>(body));
  }
  // Until the next read(): a thousand books need not be open at once.
  void close() { reader_.reset(); }
  // Within read(): what was read may be of two states, and the body should throw. It is called again.
  bool torn() const { return reader_->torn(); }

 private:
  class Copy;
  void open();

  std::filesystem::path path_;
  std::unique_ptr<Copy> copy_;  // outlives its reader
  std::unique_ptr<BookReader> reader_;
};

}  // namespace tunebook
