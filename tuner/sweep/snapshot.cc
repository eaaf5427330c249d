#include "sweep/snapshot.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/json_text.h"
#include "db/encoding.h"
#include "db/sqlite.h"

namespace tunebook {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;
constexpr int kMostAttempts = 999'999;  // six digits keep names in the order of numbers
constexpr std::string_view kAttempt = "attempt-", kSnapshot = "snapshot-", kStaging = ".staging-";

std::string snapshot_stem(int attempt, int generation) { return fmt::format("{}{:06}-{:06}", kSnapshot, attempt, generation); }

// The number behind "attempt-"; 0 for another name.
int attempt_number(const fs::path& path) {
  const std::string name = path.filename().string();
  int number = 0;
  if (!name.starts_with(kAttempt)) return 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kAttempt.size(), end, number);
  return error == std::errc() && stop == end ? number : 0;
}

std::string host_name() {
  if (const char* const node = std::getenv("SLURMD_NODENAME"); node != nullptr && *node != '\0') return node;
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> result;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) result.push_back(at->path());
  if (error) throw EnvironmentError(fmt::format("{}: {}", folder.string(), error.message()));
  std::sort(result.begin(), result.end());
  return result;
}

// A file that goes with this object unless it was renamed.
struct Temporary {
  fs::path path;
  ~Temporary() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

void rename_synced(const fs::path& from, const fs::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    throw EnvironmentError(fmt::format("{}: {}", to.string(), std::strerror(errno)));
  }
  sync_folder(to.parent_path());
}

// Everything committed at one moment, as a database without a write-ahead log.
void copy_committed(const fs::path& book, const fs::path& target) {
  sqlite::Database source(book, sqlite::Database::Mode::read_only);
  sqlite::repeat_while_busy(source, [&] { sqlite::Statement(source, "VACUUM INTO ?").execute(target.string()); });
}

void count_rows(const fs::path& closed, Snapshot& snapshot) {
  sqlite::Database book(closed, sqlite::Database::Mode::read_only_immutable);
  snapshot.sessions = book.query_integer("SELECT count(*) FROM session");
  snapshot.finished_sessions = book.query_integer("SELECT count(*) FROM session WHERE finished_utc IS NOT NULL");
  snapshot.trials = book.query_integer("SELECT count(*) FROM trial");
}

nlohmann::ordered_json manifest_json(const Snapshot& snapshot, const ShardIdentity& identity) {
  return {{"tunebook_snapshot", kFormat},
          {"sweep", identity.sweep},
          {"shard", identity.shard},
          {"shards", identity.shards},
          {"attempt", snapshot.attempt},
          {"generation", snapshot.generation},
          {"complete", snapshot.complete},
          {"bytes", snapshot.content.bytes},
          {"hash", snapshot.content.hash},
          {"sessions", snapshot.sessions},
          {"finished_sessions", snapshot.finished_sessions},
          {"trials", snapshot.trials},
          {"host", snapshot.host},
          {"written_utc", snapshot.written_utc},
          {"result", snapshot.result}};
}

}  // namespace

ShardFolder::ShardFolder(fs::path folder, ShardIdentity identity) : folder_(std::move(folder)), identity_(std::move(identity)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) {
    throw EnvironmentError(fmt::format("the folder for snapshots {} cannot be made: {}; is the shared folder mounted on this node?",
                                       folder_.string(), error.message()));
  }
}

Snapshot ShardFolder::read_manifest(const fs::path& manifest) const {
  const nlohmann::ordered_json json = parse_json_text(read_text_file(manifest, std::size_t{16} << 20), manifest.string());
  Snapshot snapshot;
  ShardIdentity identity;
  try {
    if (json.at("tunebook_snapshot").get<int>() != kFormat) throw InputError("written by another version of Tunebook");
    identity = {json.at("sweep").get<std::string>(), json.at("shard").get<std::size_t>(), json.at("shards").get<std::size_t>()};
    snapshot.attempt = json.at("attempt").get<int>();
    snapshot.generation = json.at("generation").get<int>();
    snapshot.complete = json.at("complete").get<bool>();
    snapshot.content = {json.at("hash").get<std::string>(), json.at("bytes").get<std::int64_t>()};
    snapshot.sessions = json.at("sessions").get<std::int64_t>();
    snapshot.finished_sessions = json.at("finished_sessions").get<std::int64_t>();
    snapshot.trials = json.at("trials").get<std::int64_t>();
    snapshot.host = json.at("host").get<std::string>();
    snapshot.written_utc = json.at("written_utc").get<std::string>();
    snapshot.result = json.at("result");
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("it does not say whose it is: {}", error.what()));
  }
  if (identity.sweep != identity_.sweep) {
    throw InputError(fmt::format("it belongs to another sweep ({}, this one is {})", identity.sweep, identity_.sweep));
  }
  if (identity != identity_) {
    throw InputError(fmt::format("it belongs to shard {} of {}, this one is {} of {}", identity.shard, identity.shards, identity_.shard,
                                 identity_.shards));
  }
  // The name is what the order is read from.
  if (manifest.stem().string() != snapshot_stem(snapshot.attempt, snapshot.generation)) {
    throw InputError(fmt::format("it was {}.json when it was written", snapshot_stem(snapshot.attempt, snapshot.generation)));
  }
  snapshot.file = manifest;
  snapshot.file.replace_extension(".db");
  return snapshot;
}

ShardFolder::Found ShardFolder::newest() {
  for (;;) {
    Found found;
    const std::vector<fs::path> files = entries(folder_);
    for (auto file = files.rbegin(); file != files.rend() && !found.snapshot; ++file) {
      if (!file->filename().string().starts_with(kSnapshot) || file->extension() != ".json") continue;
      std::string reason;
      try {
        Snapshot snapshot = read_manifest(*file);
        const FileHash content = hash_file(snapshot.file);
        if (content == snapshot.content) {
          found.snapshot = std::move(snapshot);
          continue;
        }
        reason = content.bytes != snapshot.content.bytes
                     ? fmt::format("it is torn: {} bytes of {}", content.bytes, snapshot.content.bytes)
                     : fmt::format("it is damaged: the hash of its content is {}, not {}", content.hash, snapshot.content.hash);
      } catch (const std::runtime_error& error) {  // InputError, EnvironmentError
        reason = error.what();
      }
      found.refused.push_back(fmt::format("snapshot {} is not used: {}; the one before it is, and the file is left as it is",
                                          (folder_ / file->stem()).string(), reason));
      refused_.insert(file->stem());
    }
    // A task that still works may have replaced them all while they were read.
    if (found.snapshot || entries(folder_) == files) {
      last_good_ = found.snapshot;
      return found;
    }
  }
}

int ShardFolder::claim() {
  int last = 0;
  for (const fs::path& file : entries(folder_)) last = std::max(last, attempt_number(file));
  for (attempt_ = last + 1; attempt_ <= kMostAttempts; ++attempt_) {
    const fs::path file = folder_ / fmt::format("{}{:06}", kAttempt, attempt_);
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      ::close(fd);
      // What tasks before were writing when they were killed. One that still lives fails, as it should.
      for (const fs::path& left : entries(folder_)) {
        std::error_code ignored;
        if (left.filename().string().starts_with(kStaging)) fs::remove(left, ignored);
      }
      return attempt_;
    }
    if (errno != EEXIST) {
      throw EnvironmentError(fmt::format("{}: {}; the shared folder must be writable on this node", file.string(), std::strerror(errno)));
    }
  }
  throw EnvironmentError(fmt::format("{}: more than {} tasks", folder_.string(), kMostAttempts));
}

bool ShardFolder::superseded() const {
  const auto files = entries(folder_);
  return std::any_of(files.begin(), files.end(), [&](const fs::path& file) { return attempt_number(file) > attempt_; });
}

void ShardFolder::restore(const Snapshot& snapshot, const fs::path& book) const {
  Temporary copy{book.string() + ".part"};
  const FileHash content = copy_file_synced(snapshot.file, copy.path);
  if (content != snapshot.content) {
    throw EnvironmentError(fmt::format("snapshot {} changed while it was read", snapshot.file.string()));
  }
  rename_synced(copy.path, book);
}

Snapshot ShardFolder::stage(const fs::path& book, const fs::path& scratch, const nlohmann::ordered_json& result) {
  Snapshot snapshot;
  snapshot.attempt = attempt_;
  snapshot.generation = ++generation_;
  snapshot.complete = !result.is_null();
  snapshot.result = result;
  snapshot.host = host_name();
  const std::string stem = snapshot_stem(snapshot.attempt, snapshot.generation);
  // SQLite writes on local disk only: its locks are not to be trusted on a network file system.
  const Temporary local{scratch / (stem + ".db")};
  copy_committed(book, local.path);
  count_rows(local.path, snapshot);
  const Temporary shared{folder_ / fmt::format("{}{}.db", kStaging, stem)};
  snapshot.content = copy_file_synced(local.path, shared.path);
  snapshot.written_utc = now_utc();
  const Temporary manifest{folder_ / fmt::format("{}{}.json", kStaging, stem)};
  write_file_synced(manifest.path, manifest_json(snapshot, identity_).dump(2) + "\n");
  if (superseded()) {
    throw SupersededError(fmt::format("a later task works on shard {} in {}: this one was taken for dead and ends", identity_.shard,
                                      folder_.string()));
  }
  snapshot.file = folder_ / (stem + ".db");
  rename_synced(shared.path, snapshot.file);
  rename_synced(manifest.path, folder_ / (stem + ".json"));
  if (last_good_) remove_older_than(*last_good_);
  last_good_ = snapshot;
  return snapshot;
}

void ShardFolder::remove_older_than(const Snapshot& kept) const {
  const fs::path first_kept = kept.file.stem();
  for (const fs::path& file : entries(folder_)) {
    const fs::path stem = file.stem();
    if (!stem.string().starts_with(kSnapshot) || !(stem < first_kept) || refused_.contains(stem)) continue;
    std::error_code ignored;
    // The manifest goes first: entries are sorted, and a book without one is no snapshot.
    fs::remove(folder_ / (stem.string() + ".json"), ignored);
    fs::remove(file, ignored);
  }
}

}  // namespace tunebook
