#include "db/store.h"

#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"
#include "db/migrations.h"
#include "db/schema.h"
#include "db/store_impl.h"

namespace tunebook {
namespace {

constexpr std::uintmax_t kLeastBytes = 512;  // of a SQLite database: its smallest page

std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// The folder of the book exists afterwards, and the path is none itself.
const std::filesystem::path& with_folder(const std::filesystem::path& path) {
  if (path.empty()) {
    throw InputError("book: the path is empty; give one with --book");
  }
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw InputError(fmt::format("book {0}: this is a folder; give a file in it, for example --book {0}/book.db", path.string()));
  }
  if (std::filesystem::is_other(std::filesystem::status(path, error))) {  // a device, a pipe, a socket
    throw InputError(fmt::format("book {}: this is no regular file; give another path with --book", path.string()));
  }
  // SQLite takes a file of one byte for an empty one and would write a book over it.
  if (const auto size = std::filesystem::file_size(path, error); !error && size > 0 && size < kLeastBytes) {
    throw InputError(fmt::format("book {}: the file is no SQLite database, it has {} bytes; give another path with --book", path.string(), size));
  }
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw InputError(fmt::format("book {}: its folder {} cannot be made: {}; give another path with --book", path.string(),
                                 folder.string(), error.message()));
  }
  return path;
}

}  // namespace

std::filesystem::path default_book_path(const std::string& option) {
  if (!option.empty()) {
    return option;
  }
  if (const std::string book = environment_variable("TUNEBOOK_BOOK"); !book.empty()) {
    return book;
  }
  if (const std::string data = environment_variable("XDG_DATA_HOME"); !data.empty()) {
    return std::filesystem::path(data) / "tunebook" / "book.db";
  }
  const std::string home = environment_variable("HOME");
  if (home.empty()) {
    throw InputError("book: neither TUNEBOOK_BOOK, XDG_DATA_HOME nor HOME is set; give a path with --book");
  }
  return std::filesystem::path(home) / ".local" / "share" / "tunebook" / "book.db";
}

std::int64_t WinnerRecord::tie_set_size() const {
  std::int64_t size = 0;
  for (const FinalistRecord& finalist : finalists) {
    size += finalist.in_tie_set ? 1 : 0;
  }
  return size;
}

sqlite::Database& prepare_book(sqlite::Database& database) {
  if (database.read_only()) {
    throw InputError(fmt::format("book {}: the file cannot be written (read-only, or owned by another user); give another path "
                                 "with --book",
                                 database.name()));
  }
  sqlite::repeat_while_busy(database, [&] {
    // Looked at before anything is changed: it may be another program's database.
    if (check_book(database, kSchemaVersion) >= kPublicationVersion && database.query_integer("SELECT count(*) FROM publication") > 0) {
      throw InputError(fmt::format("book {}: this is a published book, which is only read; give the working book with --book",
                                   database.name()));
    }
    database.execute("PRAGMA journal_mode = WAL");
    // A crash of the machine may lose the last trials, never the book; a crash of the program loses nothing.
    database.execute("PRAGMA synchronous = NORMAL");
    // Checkpoints sync the file: one per 16 MB of log instead of 4 keeps recording fast.
    database.execute("PRAGMA wal_autocheckpoint = 4000");
    database.execute("PRAGMA journal_size_limit = 33554432");
    database.execute("PRAGMA cache_size = -16000");
    migrate(database, book_schema());
  });
  return database;
}

Store::Impl::Impl(const std::filesystem::path& book_path)
    : path(with_folder(book_path)),
      database(path, sqlite::Database::Mode::read_write),
      prepared(prepare_book(database)),
      interner(database),
      find_session_id(database, "SELECT id FROM session WHERE uid = ?"),
      // The two newest, because a failure that deserves a retry is an answer only when it happened twice.
      find_trial(database,
                 fmt::format("SELECT {} FROM trial WHERE key = ? AND reused = 0 ORDER BY recorded_utc DESC, id DESC LIMIT 2", kTrialColumns)),
      insert_trial(database,
                   fmt::format("INSERT INTO trial (key, session_id, configuration_id, environment_id, recorded_utc, {}) "
                               "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                               "?, ?, ?, ?, ?, ?, ?, ?, ?)",
                               kTrialColumns)),
      has_proposal(database, "SELECT 1 FROM trial WHERE session_id = ? AND proposal = ? AND configuration_id = ? LIMIT 1"),
      last_of_proposal(database, "SELECT max(recorded_utc) FROM trial WHERE session_id = ? AND proposal = ?") {}

Store::Store(const std::filesystem::path& path) : impl_(std::make_unique<Impl>(path)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

const std::filesystem::path& Store::path() const { return impl_->path; }

}  // namespace tunebook
