#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file_hash.h"

namespace tunebook {

// Which part of which sweep a snapshot belongs to.
struct ShardIdentity {
  std::string sweep;         // hash of the frozen plan's text
  std::size_t shard = 0, shards = 1;
  friend bool operator==(const ShardIdentity&, const ShardIdentity&) = default;
};

// A closed copy of a shard's working book: everything that was committed at one moment.
struct Snapshot {
  std::filesystem::path file;
  int attempt = 0;           // which of the shard's tasks wrote it: 1, 2, ...
  int generation = 0;        // its 1st, 2nd, ...
  bool complete = false;     // the task ended by itself: all of the shard's items have had their turn
  FileHash content;
  std::int64_t sessions = 0, finished_sessions = 0, trials = 0;
  std::string written_utc, host;
  nlohmann::ordered_json result;  // of a complete one: what the task said at its end

  // The order in which snapshots of one shard are taken: a later task's before an earlier one's.
  std::pair<int, int> order() const { return {attempt, generation}; }
};

// A later task works on the same shard: this one was taken for dead (its node was not reachable) and has nothing more to say.
class SupersededError : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

// The folder in which the tasks of one shard, one after the other and on any node, leave snapshots of their working book. It may be on
// a network file system: only new files, fsync, rename and exclusive creation are used, no locks.
//
//   attempt-000002                  made by the shard's second task when it began
//   snapshot-000002-000005.db       the fifth snapshot of that task
//   snapshot-000002-000005.json     says whose it is, its size and hash. Renamed into place last: without it there is no snapshot.
//
// The newest two that are whole are kept, so that there is one to go on from if the newest is damaged. Files that were refused are never
// touched. Used by one thread at a time.
class ShardFolder {
 public:
  // Throws EnvironmentError if the folder cannot be made.
  ShardFolder(std::filesystem::path folder, ShardIdentity identity);

  const std::filesystem::path& path() const { return folder_; }
  const ShardIdentity& identity() const { return identity_; }

  struct Found {
    std::optional<Snapshot> snapshot;    // the newest that is whole and this shard's
    std::vector<std::string> refused;    // one message for each newer one: which, why, what that means
  };
  // Reads and compares every byte of what it returns.
  Found newest();

  // Makes the caller the shard's task from here on, which outdates those before. Returns its number.
  int claim();
  // True once a later task has claimed the shard.
  bool superseded() const;

  // Copies a snapshot to `book`, a path on local disk that is not there yet; checked once more while it is read.
  void restore(const Snapshot& snapshot, const std::filesystem::path& book) const;

  // Leaves a snapshot of the working book, which may be written meanwhile; `scratch` is a folder on local disk with room for a copy.
  // `result`: of a task that has ended by itself, else null. Throws SupersededError, or EnvironmentError if a file cannot be written: the
  // snapshots before are then still there.
  Snapshot stage(const std::filesystem::path& book, const std::filesystem::path& scratch, const nlohmann::ordered_json& result = nullptr);

 private:
  Snapshot read_manifest(const std::filesystem::path& manifest) const;
  void remove_older_than(const Snapshot& kept) const;

  std::filesystem::path folder_;
  ShardIdentity identity_;
  int attempt_ = 0, generation_ = 0;
  std::optional<Snapshot> last_good_;  // found, or staged by this task
  std::set<std::filesystem::path> refused_;
};

}  // namespace tunebook
