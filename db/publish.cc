#include "db/publish.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "db/book_reader.h"
#include "db/encoding.h"
#include "db/migrations.h"
#include "db/schema.h"
#include "db/sqlite.h"
#include "db/store.h"
#include "db/store_models.h"

namespace tunebook {
namespace {

// A file that is gone when this goes, with what SQLite may have put beside it.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::filesystem::path path) : path_(std::move(path)) {}
  ~TemporaryFile() {
    for (const char* const suffix : {"", "-journal", "-wal", "-shm"}) {
      std::error_code ignored;
      std::filesystem::remove(path_.string() + suffix, ignored);
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::filesystem::path temporary_beside(const std::filesystem::path& output, const char* what) {
  std::random_device random;
  return output.parent_path() / fmt::format(".{}.{}-{:08x}{:08x}", output.filename().string(), what, random(), random());
}

bool is_published(const std::filesystem::path& path) {
  BookReader reader(path);
  return reader.version() >= kPublicationVersion &&
         reader.read([](sqlite::Database& book) { return book.query_integer("SELECT count(*) FROM publication"); }) > 0;
}

// Where the new book goes: what lies there may only be an older published book.
std::filesystem::path checked_output(const std::filesystem::path& given, const std::filesystem::path& book) {
  std::error_code error;
  if (given.empty()) {
    throw InputError("publish: the output's path is empty; name a file");
  }
  // A link stays, and what it points at is replaced.
  const std::filesystem::path output = std::filesystem::weakly_canonical(std::filesystem::absolute(given), error);
  if (error) {
    throw InputError(fmt::format("publish: {}: {}", given.string(), error.message()));
  }
  if (!std::filesystem::is_directory(output.parent_path(), error)) {
    throw InputError(fmt::format("publish: {}: there is no folder {}; make it first", given.string(), output.parent_path().string()));
  }
  if (!std::filesystem::exists(output, error)) {
    // A -wal file that was left behind would be taken for the new book's.
    if (std::filesystem::exists(output.string() + "-wal", error)) {
      throw InputError(fmt::format("publish: {0}-wal is left of another database; remove it, or name another file", output.string()));
    }
    return output;
  }
  if (std::filesystem::equivalent(output, book, error)) {
    throw InputError(fmt::format("publish: {} is the working book itself; name another file", given.string()));
  }
  if (!is_published(output)) {
    throw InputError(fmt::format("publish: {} is a working book, which is never replaced; name another file", given.string()));
  }
  return output;
}

// As writers do if possible, so that locks are honoured; else as BookReader does.
std::string source_uri(const std::filesystem::path& book) {
  const bool writable = access(book.c_str(), W_OK) == 0 && access(std::filesystem::absolute(book).parent_path().c_str(), W_OK) == 0;
  const bool wal = access((book.string() + "-wal").c_str(), F_OK) == 0;
  if (writable) {
    return sqlite::file_uri(book, false) + "?mode=rw";
  }
  return wal ? sqlite::file_uri(book, false) + "?mode=ro" : sqlite::file_uri(book, true);
}

// Rows keep their ids: they are in the order in which they were added, which reading the winners of a kernel likes.
constexpr const char* kCopy = R"sql(
INSERT INTO main.kernel SELECT * FROM book.kernel;
INSERT INTO main.device SELECT * FROM book.device;
INSERT INTO main.session
  SELECT id, uid, identity_hash, '{}', kernel_id, device_id, problem_id, environment_id, toolchain, method, strategy, seed, budget,
         where_json, '', wall_seconds, started_utc, finished_utc
  FROM book.session WHERE finished_utc IS NOT NULL AND EXISTS (SELECT 1 FROM book.winner WHERE session_id = session.id) ORDER BY id;
INSERT INTO main.winner
  SELECT id, session_id, NULL, configuration_id, objective, median_us, ci_low_us, ci_high_us, gflops, gbps, energy_j, registers,
         shared_bytes, recorded_utc
  FROM book.winner AS one WHERE session_id IN (SELECT id FROM main.session)
  AND id = (SELECT id FROM book.winner WHERE session_id = one.session_id AND objective = one.objective
            ORDER BY recorded_utc DESC, id DESC LIMIT 1) ORDER BY id;
INSERT INTO main.finalist
  SELECT winner_id, place, configuration_id, x'', median_us, ci_low_us, ci_high_us, in_tie_set, registers, shared_bytes, energy_j,
         sanitizer
  FROM book.finalist WHERE winner_id IN (SELECT id FROM main.winner);
INSERT INTO main.requirement SELECT * FROM book.requirement;
INSERT INTO main.ceiling SELECT * FROM book.ceiling;
INSERT INTO main.environment SELECT * FROM book.environment
  WHERE id IN (SELECT environment_id FROM main.session UNION SELECT environment_id FROM main.ceiling);
INSERT INTO main.problem SELECT * FROM book.problem WHERE id IN (SELECT problem_id FROM main.session) ORDER BY id;
INSERT INTO main.configuration SELECT * FROM book.configuration WHERE id IN (
  SELECT configuration_id FROM main.winner UNION SELECT configuration_id FROM main.finalist
  UNION SELECT configuration_id FROM main.requirement) ORDER BY id;
)sql";

// The models of the attached book, as far as they are whole and their kernel and device are there.
constexpr const char* kModels =
    "SELECT kernel_id, device_id, dtype, method, format, body, trials, problems, learned_from, learned_utc, content_hash "
    "FROM book.model WHERE kernel_id IN (SELECT id FROM main.kernel) AND device_id IN (SELECT id FROM main.device) "
    "ORDER BY kernel_id, device_id, dtype, method";

// The new book with room between its rows, in `target`.
Publication copy_book(const std::filesystem::path& book, const PublishOptions& options, sqlite::Database& target) {
  // The file is thrown away if anything goes wrong: it needs no journal on disk, and what refers to what is known from the source.
  target.execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -64000");
  migrate(target, book_schema());
  sqlite::Statement(target, "ATTACH ? AS book").execute(source_uri(book));
  sqlite::in_transaction(target, sqlite::Transaction::Kind::read, [&] {
    target.execute(kCopy);
    if (options.models) {
      for (const ModelRecord& model : read_models(target, kModels)) write_model(target, model);
      for (const ModelRecord& model : options.outdated) delete_model(target, model);
      for (const ModelRecord& model : options.learned) write_model(target, model);
    }
    sqlite::Statement(target, "INSERT INTO main.publication VALUES (?)").execute(now_utc());
  });
  target.execute("DETACH book");
  Publication publication;
  publication.kernels = target.query_integer("SELECT count(*) FROM kernel");
  publication.devices = target.query_integer("SELECT count(*) FROM device");
  publication.models = target.query_integer("SELECT count(*) FROM model");
  publication.winners = target.query_integer("SELECT count(*) FROM winner");
  return publication;
}

void sync(const std::filesystem::path& path, std::optional<mode_t> mode) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = file >= 0 && (!mode || fchmod(file, *mode) == 0) && fsync(file) == 0;
  const int error = errno;
  if (file >= 0) {
    close(file);
  }
  if (!done) {
    throw EnvironmentError(fmt::format("publish: {}: {}", path.string(), std::strerror(error)));
  }
}

}  // namespace

Publication publish_book(const std::filesystem::path& given, const std::filesystem::path& given_output, const PublishOptions& options) {
  if (BookReader(given).version() < kSchemaVersion) {
    Store migrated(given);  // brings it up to date; says so if it cannot be written
  }
  const std::filesystem::path book = std::filesystem::canonical(given);
  const std::filesystem::path output = checked_output(given_output, book);
  const TemporaryFile loose(temporary_beside(output, "copying"));
  const TemporaryFile sealed(temporary_beside(output, "publishing"));
  Publication publication;
  {
    sqlite::Database target(loose.path(), sqlite::Database::Mode::read_write);
    publication = copy_book(book, options, target);
    sqlite::Statement(target, "VACUUM INTO ?").execute(sealed.path().string());
  }
  // Nobody writes it, everybody may read it.
  sync(sealed.path(), 0444);
  publication.bytes = static_cast<std::int64_t>(std::filesystem::file_size(sealed.path()));
  if (std::rename(sealed.path().c_str(), output.c_str()) != 0) {
    throw EnvironmentError(fmt::format("publish: {}: {}", output.string(), std::strerror(errno)));
  }
  sync(output.parent_path(), std::nullopt);
  return publication;
}

}  // namespace tunebook
