#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include <nlohmann/json.hpp>

namespace tunebook {

// The exit code of a task that has not finished but can go on where it was, if it is started again: sysexits.h's EX_TEMPFAIL.
inline constexpr int kTryAgain = 75;

// The shared folder of a sweep that runs in parts: the frozen plan and what is left beside it.
//   plan.json            the frozen plan: what every task reads
//   base/                the working book as it was when the plan was frozen, as a snapshot
//   shard-0003/          snapshots of the shard's book (snapshot.h)
//   merged.db            what the merge made of them
struct SweepFolder {
  std::filesystem::path frozen;     // the file
  std::string sweep;                // hash of its text

  // Throws InputError if the file cannot be read.
  static SweepFolder of(const std::filesystem::path& frozen);
  std::filesystem::path path() const { return frozen.parent_path(); }
  std::filesystem::path base() const { return path() / "base"; }
  std::filesystem::path shard(std::size_t index) const;
  std::filesystem::path merged() const { return path() / "merged.db"; }
};

// A folder on local disk, in $TMPDIR (else /tmp), gone with this object. Throws EnvironmentError.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& what);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Leaves the working book, as it is now, for the tasks of the sweep to start from.
void stage_base(const SweepFolder& folder, const std::filesystem::path& book);
// Copies it to `book`, a path that is not there yet. Throws EnvironmentError if it is gone or damaged.
void restore_base(const SweepFolder& folder, const std::filesystem::path& book);

struct ShardTask {
  SweepFolder folder;
  std::size_t shard = 0, shards = 1;
  double snapshot_every_s = 300;
  std::function<bool()> stop;                           // asked from several threads: told to stop?
  std::function<void(const std::string&)> message;      // told from several threads
};

// How the shard's work ended.
struct ShardEnd {
  int exit_code = 0;                // of the items; not kTryAgain
  bool interrupted = false;         // told to stop: not all items have had their turn
  nlohmann::ordered_json result;    // for people and for the merge
};

// What a task does about its shard, on whatever node: copies the last snapshot (else the base) to local disk, has `work` run on that book
// while snapshots are left in the shared folder, and leaves a last one. Returns the exit code: that of the work, or kTryAgain if it was
// interrupted or its end could not be left in the shared folder. A shard that is complete is not worked on again, unless some of it failed.
// `work` is to end soon when `stop` says so; it gets the book's path and its own `stop`, which also holds once a later task has the shard.
// Unless $TUNEBOOK_CACHE is set, compiled kernels are kept in the task's own folder.
int run_shard_task(const ShardTask& task,
                   const std::function<ShardEnd(const std::filesystem::path& book, const std::function<bool()>& stop)>& work);

}  // namespace tunebook
