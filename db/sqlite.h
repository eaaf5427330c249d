#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tunebook::sqlite {

// Another connection holds the lock; the whole transaction can be repeated.
class BusyError : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

// SQLite found that the file is no database at all.
class NotADatabaseError : public InputError {
 public:
  using InputError::InputError;
};

// "file:..." for ATTACH or opening, every byte that could mean something in a URI escaped.
std::string file_uri(const std::filesystem::path& path, bool immutable);

// One connection, hardened for files from elsewhere: foreign keys on, untrusted schema, defensive mode. For use by one thread
// at a time. Errors are thrown as BusyError, NotADatabaseError, InputError (path, permissions) or EnvironmentError (disk full,
// input/output, damage), naming the file.
class Database {
 public:
  enum class Mode {
    read_write,            // created if missing
    read_only,             // sees what writers commit
    read_only_immutable,   // takes no locks and needs no writable folder; only while nobody writes
    in_memory,             // empty, gone with this object; `path` is only its name in messages
  };
  Database(const std::filesystem::path& path, Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs one or several statements without values.
  void execute(const char* sql);
  // The first column of the first row as an integer; 0 if there is no row.
  std::int64_t query_integer(const char* sql);
  std::int64_t last_insert_id() const;  // of the last INSERT into a table with row ids
  std::int64_t changed_rows() const;    // by the last INSERT, UPDATE or DELETE
  bool read_only() const;
  sqlite3* handle() const { return handle_; }
  const std::string& name() const { return name_; }

  // Throws the error for the result code `code` of a call on this connection.
  [[noreturn]] void fail(int code) const;

 private:
  void configure();

  std::string name_;
  sqlite3* handle_ = nullptr;
};

struct Blob {
  std::string_view bytes;
};

// A value of any column, for rows that are copied as they are: NULL, a number, text or bytes.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string_view, Blob>;

// A prepared statement. The Database must outlive it.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // One execution; resets the statement when it goes, so that no read lock is left behind.
  class Run {
   public:
    explicit Run(Statement& statement) : statement_(statement) {}
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    bool next();  // false: no more rows
    bool is_null(int column) const;
    std::int64_t integer(int column) const;
    double real(int column) const;
    std::string text(int column) const;  // or the bytes of a blob
    std::string_view text_view(int column) const;  // the same, until the next call of next()
    std::optional<std::int64_t> optional_integer(int column) const;
    std::optional<double> optional_real(int column) const;
    Cell cell(int column) const;  // text and bytes until the next call of next()

   private:
    Statement& statement_;
  };

  // Binds the values in order (all parameters must be given) and starts.
  template <class... Values>
  Run run(const Values&... values) {
    int index = 0;
    (bind(++index, values), ...);
    return Run(*this);
  }
  // The same with as many values as there are cells.
  Run run_cells(std::span<const Cell> cells);
  // Runs to the end, ignoring rows.
  template <class... Values>
  void execute(const Values&... values) {
    Run running = run(values...);
    while (running.next()) {
    }
  }

 private:
  void bind(int index, std::string_view text);
  void bind(int index, const std::string& text) { bind(index, std::string_view(text)); }
  void bind(int index, const char* text) { bind(index, std::string_view(text)); }
  void bind(int index, Blob blob);
  void bind(int index, std::nullopt_t);
  void bind_integer(int index, std::int64_t value);
  void bind_real(int index, double value);
  template <std::integral Integer>
  void bind(int index, Integer value) {
    bind_integer(index, static_cast<std::int64_t>(value));
  }
  template <std::floating_point Real>
  void bind(int index, Real value) {
    bind_real(index, value);  // SQLite has no NaN: it becomes NULL
  }
  template <class Value>
  void bind(int index, const std::optional<Value>& value) {
    if (value) {
      bind(index, *value);
    } else {
      bind(index, std::nullopt);
    }
  }

  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

// Rolls back unless committed.
class Transaction {
 public:
  enum class Kind {
    read,   // a consistent view
    write,  // takes the write lock at once: a lock taken later could deadlock with another writer
  };
  Transaction(Database& database, Kind kind);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool done_ = false;
};

// How long a transaction is repeated while the book is locked. A tuner holds the lock for about a millisecond per trial, so a
// minute without a turn means that something is wrong.
inline constexpr std::chrono::milliseconds kBusyPatience{60'000};

// Throws EnvironmentError if `since` is longer ago than `patience`; else sleeps a little.
void wait_for_turn(const Database& database, std::chrono::steady_clock::time_point since, std::chrono::milliseconds patience);

// Runs `body` and repeats it while it throws BusyError.
template <class Body>
auto repeat_while_busy(const Database& database, Body&& body, std::chrono::milliseconds patience = kBusyPatience) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    try {
      return body();
    } catch (const BusyError&) {
      wait_for_turn(database, start, patience);
    }
  }
}

// Runs `body` in a transaction, the whole repeated while the book is busy; `body` must have no effect outside the book
// that a repetition would spoil.
template <class Body>
auto in_transaction(Database& database, Transaction::Kind kind, Body&& body,
                    std::chrono::milliseconds patience = kBusyPatience) {
  return repeat_while_busy(
      database,
      [&] {
        Transaction transaction(database, kind);
        if constexpr (std::is_void_v<decltype(body())>) {
          body();
          transaction.commit();
        } else {
          auto result = body();
          transaction.commit();
          return result;
        }
      },
      patience);
}

}  // namespace tunebook::sqlite
