#include "db/sqlite.h"

#include <sqlite3.h>

#include <cctype>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <system_error>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>

namespace tunebook::sqlite {
namespace {

// SQLite itself waits this long for a lock before the transaction is given up and repeated.
constexpr int kBusyTimeoutMs = 2000;

// SQLite tries to read what it could not create, and then says that it is not there. Nothing if that is not the case.
std::optional<std::string> uncreatable(const std::string& file) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::absolute(file, error).parent_path();
  if (std::filesystem::exists(file, error) || !std::filesystem::exists(folder, error) || ::access(folder.c_str(), W_OK | X_OK) == 0) return std::nullopt;
  return fmt::format("nothing may be created in {}", folder.string());
}

}  // namespace

// A URI, since only a URI can ask for immutable; every byte that could mean something in one is escaped.
std::string file_uri(const std::filesystem::path& path, bool immutable) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::strchr("/-_.~", c) != nullptr) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", byte);
    }
  }
  if (immutable) {
    uri += "?immutable=1";
  }
  return uri;
}

Database::Database(const std::filesystem::path& path, Mode mode) : name_(path.string()) {
  const bool writes = mode == Mode::read_write || mode == Mode::in_memory;
  const int access = writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const std::string uri = mode == Mode::in_memory ? "file::memory:" : file_uri(path, mode == Mode::read_only_immutable);
  const int code = sqlite3_open_v2(uri.c_str(), &handle_,
                                   access | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  try {
    if (code != SQLITE_OK) {
      fail(code);
    }
    configure();
  } catch (...) {
    sqlite3_close_v2(handle_);
    throw;
  }
}

Database::~Database() { sqlite3_close_v2(handle_); }

void Database::configure() {
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, kBusyTimeoutMs);
  // A book may come from anywhere: its schema must not be able to run functions with side effects, nor SQL to damage the file.
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr);
}

void Database::execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) {
    fail(code);
  }
}

std::int64_t Database::query_integer(const char* sql) {
  Statement statement(*this, sql);
  Statement::Run row = statement.run();
  return row.next() ? row.integer(0) : 0;
}

std::int64_t Database::last_insert_id() const { return sqlite3_last_insert_rowid(handle_); }

std::int64_t Database::changed_rows() const { return sqlite3_changes64(handle_); }

bool Database::read_only() const { return sqlite3_db_readonly(handle_, "main") == 1; }

void Database::fail(int code) const {
  const std::string reason = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
  const int system_error = handle_ != nullptr ? sqlite3_system_errno(handle_) : 0;
  const std::string detail =
      system_error != 0 ? fmt::format("{} ({})", reason, std::strerror(system_error)) : reason;
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw BusyError(fmt::format("book {}: locked by another program", name_));
    case SQLITE_NOTADB:
      throw NotADatabaseError(
          fmt::format("book {}: the file is no SQLite database; give another path with --book", name_));
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      throw InputError(fmt::format("book {}: cannot be opened or written: {}; check the path and the permissions of the "
                                   "file and its folder, or give another path{}",
                                   name_, uncreatable(name_).value_or(detail),
                                   name_.find(".copying-") != std::string::npos ? "" : " with --book"));
    case SQLITE_FULL:
      throw EnvironmentError(fmt::format("book {}: the disk is full; everything recorded before is kept. Free some space "
                                         "and run the same command again",
                                         name_));
    case SQLITE_IOERR:
      throw EnvironmentError(fmt::format("book {}: input/output error: {}; everything recorded before is kept", name_, detail));
    case SQLITE_CORRUPT:
      throw EnvironmentError(fmt::format("book {}: the file is damaged: {}; `tunebook doctor --book {}` tells more", name_,
                                         detail, name_));
    default:
      throw EnvironmentError(fmt::format("book {}: {} (SQLite result {})", name_, detail, code));
  }
}

Statement::Statement(Database& database, std::string_view sql) : database_(database) {
  const int code = sqlite3_prepare_v3(database.handle(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                      &handle_, nullptr);
  if (code != SQLITE_OK) {
    database.fail(code);
  }
}

Statement::~Statement() { sqlite3_finalize(handle_); }

void Statement::bind(int index, std::string_view text) {
  // A null pointer would bind NULL, which an empty text is not.
  const char* const data = text.data() != nullptr ? text.data() : "";
  const int code = sqlite3_bind_text64(handle_, index, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) {
    database_.fail(code);
  }
}

void Statement::bind(int index, Blob blob) {
  const char* const data = blob.bytes.data() != nullptr ? blob.bytes.data() : "";
  const int code = sqlite3_bind_blob64(handle_, index, data, blob.bytes.size(), SQLITE_TRANSIENT);
  if (code != SQLITE_OK) {
    database_.fail(code);
  }
}

void Statement::bind(int index, std::nullopt_t) {
  const int code = sqlite3_bind_null(handle_, index);
  if (code != SQLITE_OK) {
    database_.fail(code);
  }
}

void Statement::bind_integer(int index, std::int64_t value) {
  const int code = sqlite3_bind_int64(handle_, index, value);
  if (code != SQLITE_OK) {
    database_.fail(code);
  }
}

void Statement::bind_real(int index, double value) {
  const int code = sqlite3_bind_double(handle_, index, value);
  if (code != SQLITE_OK) {
    database_.fail(code);
  }
}

Statement::Run Statement::run_cells(std::span<const Cell> cells) {
  int index = 0;
  for (const Cell& cell : cells) {
    ++index;
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
            bind(index, std::nullopt);
          } else {
            bind(index, value);
          }
        },
        cell);
  }
  return Run(*this);
}

Statement::Run::~Run() {
  sqlite3_reset(statement_.handle_);
  sqlite3_clear_bindings(statement_.handle_);
}

bool Statement::Run::next() {
  const int code = sqlite3_step(statement_.handle_);
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code != SQLITE_DONE) {
    statement_.database_.fail(code);
  }
  return false;
}

bool Statement::Run::is_null(int column) const { return sqlite3_column_type(statement_.handle_, column) == SQLITE_NULL; }

std::int64_t Statement::Run::integer(int column) const { return sqlite3_column_int64(statement_.handle_, column); }

double Statement::Run::real(int column) const { return sqlite3_column_double(statement_.handle_, column); }

std::string Statement::Run::text(int column) const {
  const void* const data = sqlite3_column_blob(statement_.handle_, column);
  const int size = sqlite3_column_bytes(statement_.handle_, column);
  return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

std::string_view Statement::Run::text_view(int column) const {
  const void* const data = sqlite3_column_blob(statement_.handle_, column);
  const int size = sqlite3_column_bytes(statement_.handle_, column);
  return data == nullptr ? std::string_view() : std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

Cell Statement::Run::cell(int column) const {
  switch (sqlite3_column_type(statement_.handle_, column)) {
    case SQLITE_INTEGER:
      return integer(column);
    case SQLITE_FLOAT:
      return real(column);
    case SQLITE_TEXT:
      return text_view(column);
    case SQLITE_BLOB:
      return Blob{text_view(column)};
    default:
      return std::monostate{};
  }
}

std::optional<std::int64_t> Statement::Run::optional_integer(int column) const {
  return is_null(column) ? std::nullopt : std::optional(integer(column));
}

std::optional<double> Statement::Run::optional_real(int column) const {
  return is_null(column) ? std::nullopt : std::optional(real(column));
}

Transaction::Transaction(Database& database, Kind kind) : database_(database) {
  database_.execute(kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  // A full disk or an input/output error may already have rolled it back.
  if (!done_ && sqlite3_get_autocommit(database_.handle()) == 0) {
    sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  done_ = true;
}

void wait_for_turn(const Database& database, std::chrono::steady_clock::time_point since,
                   std::chrono::milliseconds patience) {
  const auto waited = std::chrono::steady_clock::now() - since;
  if (waited > patience) {
    throw EnvironmentError(fmt::format(
        "book {}: still locked by another program after {} s; end that program, or give another book with --book",
        database.name(), std::chrono::duration_cast<std::chrono::seconds>(waited).count()));
  }
  // Random, so that several waiting programs do not knock at the same moments.
  thread_local std::minstd_rand random{std::random_device{}()};
  std::this_thread::sleep_for(std::chrono::milliseconds(1 + random() % 20));
}

}  // namespace tunebook::sqlite
