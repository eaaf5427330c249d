#include "sweep/shard_task.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "core/json_text.h"
#include "db/store.h"
#include "sweep/snapshot.h"
#include "sweep/snapshot_thread.h"

namespace tunebook {
namespace {

namespace fs = std::filesystem;

// The end of a task must not be lost because the shared folder was away for a moment.
constexpr int kLastTries = 4;
constexpr std::chrono::seconds kBetweenTries{3};

ShardIdentity base_identity(const SweepFolder& folder) { return {folder.sweep, 0, 0}; }

// The book that the work begins with. What was found is said; nothing found: a new book.
void restore_book(ShardFolder& shard, const ShardFolder::Found& found, const ShardTask& task, const fs::path& book) {
  for (const std::string& message : found.refused) task.message(message);
  if (found.snapshot) {
    shard.restore(*found.snapshot, book);
    task.message(fmt::format("shard {}: goes on from the snapshot of {} on {}: {} sessions, {} of them finished, {} trials", task.shard,
                             found.snapshot->written_utc, found.snapshot->host, found.snapshot->sessions, found.snapshot->finished_sessions,
                             found.snapshot->trials));
    return;
  }
  if (!found.refused.empty()) task.message(fmt::format("shard {}: no snapshot is left to go on from: it begins anew", task.shard));
  std::error_code error;
  if (!fs::exists(task.folder.base(), error)) return;
  restore_base(task.folder, book);
}

bool stage_end(ShardFolder& shard, const fs::path& book, const fs::path& scratch, const ShardEnd& end, const ShardTask& task) {
  nlohmann::ordered_json result;
  if (!end.interrupted) result = {{"exit_code", end.exit_code}, {"summary", end.result}};
  for (int tries = 1;; ++tries) {
    try {
      const Snapshot snapshot = shard.stage(book, scratch, result);
      task.message(fmt::format("shard {}: {}; {} of {} sessions finished, {} trials", task.shard,
                               snapshot.complete ? "complete" : "stopped before its end", snapshot.finished_sessions, snapshot.sessions,
                               snapshot.trials));
      return true;
    } catch (const SupersededError&) {
      throw;
    } catch (const std::exception& error) {
      task.message(fmt::format("the last snapshot was not left: {}{}", error.what(), tries < kLastTries ? "; tried again" : ""));
      if (tries == kLastTries) return false;
      std::this_thread::sleep_for(kBetweenTries);
    }
  }
}

}  // namespace

SweepFolder SweepFolder::of(const fs::path& frozen) {
  return {fs::absolute(frozen), content_hash(read_text_file(frozen))};
}

fs::path SweepFolder::shard(std::size_t index) const { return path() / fmt::format("shard-{:04}", index); }

ScratchFolder::ScratchFolder(const std::string& what) {
  const char* const given = std::getenv("TMPDIR");
  std::string pattern = (fs::path(given != nullptr && *given != '\0' ? given : "/tmp") / fmt::format("tunebook-{}-XXXXXX", what)).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw EnvironmentError(fmt::format("no folder on local disk: {}: {}; make room there, or set TMPDIR", pattern, std::strerror(errno)));
  }
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void stage_base(const SweepFolder& folder, const fs::path& book) {
  const ScratchFolder scratch("base");
  ShardFolder base(folder.base(), base_identity(folder));
  base.claim();
  base.stage(book, scratch.path());
}

void restore_base(const SweepFolder& folder, const fs::path& book) {
  ShardFolder base(folder.base(), base_identity(folder));
  const ShardFolder::Found found = base.newest();
  if (!found.snapshot) {
    throw EnvironmentError(fmt::format("{}: the book that the sweep began with is gone or damaged{}{}; submit the sweep anew, in another folder",
                                       folder.base().string(), found.refused.empty() ? "" : ": ",
                                       found.refused.empty() ? "" : found.refused.front()));
  }
  base.restore(*found.snapshot, book);
}

int run_shard_task(const ShardTask& task, const std::function<ShardEnd(const fs::path&, const std::function<bool()>&)>& work) {
  ShardFolder shard(task.folder.shard(task.shard), {task.folder.sweep, task.shard, task.shards});
  const ShardFolder::Found found = shard.newest();
  if (found.snapshot && found.snapshot->complete) {
    const int exit_code = found.snapshot->result.value("exit_code", 1);
    if (exit_code != 1) {
      task.message(fmt::format("shard {}: complete since {}", task.shard, found.snapshot->written_utc));
      return exit_code;
    }
  }
  const int attempt = shard.claim();
  const ScratchFolder scratch(fmt::format("shard-{}", task.shard));
  const fs::path book = scratch.path() / "book.db";
  restore_book(shard, found, task, book);
  { Store made(book); }  // there is a book to leave from the beginning
  ::setenv("TUNEBOOK_CACHE", (scratch.path() / "cache").c_str(), 0);
  task.message(fmt::format("shard {} of {}: attempt {}, in {}", task.shard, task.shards, attempt, scratch.path().string()));

  std::atomic<bool> superseded = false;
  const auto stop = [&] { return superseded || task.stop(); };
  std::optional<SnapshotThread> snapshots(std::in_place, shard, book, scratch.path(), task.snapshot_every_s, task.stop, task.message,
                                          [&] { superseded = true; });
  const ShardEnd end = work(book, stop);
  snapshots.reset();
  const bool left = stage_end(shard, book, scratch.path(), end, task);
  return left && !end.interrupted ? end.exit_code : kTryAgain;
}

}  // namespace tunebook
