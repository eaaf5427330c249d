#include "sweep/shard_merge.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "db/session_history.h"
#include "db/sqlite.h"
#include "db/store.h"

namespace tunebook {
namespace {

namespace fs = std::filesystem;

std::string device_kind(const std::string& device) { return device.substr(0, device.find(':')); }

// What a session was for, as far as a plan on another machine can say it: not which device of a kind.
using Purpose = std::tuple<std::string, std::string, std::string>;  // kernel, problem, kind of device

// For each of them, how many sessions have been finished since the plan was frozen.
std::set<Purpose> finished_purposes(const fs::path& book, const FrozenPlan& plan) {
  std::set<Purpose> finished;
  for (const SessionSummary& session : read_session_history(book).sessions) {
    if (session.finished && *session.finished >= plan.frozen_at && !session.winner.empty()) {
      finished.emplace(session.kernel, session.problem.canonical(), session.device.kind);
    }
  }
  return finished;
}

Purpose purpose_of(const SweepItem& item) { return {item.kernel, item.problem.canonical(), device_kind(item.device)}; }

// A database without a write-ahead log, renamed into place.
void leave_closed(const fs::path& book, const fs::path& scratch, const fs::path& target) {
  const fs::path closed = scratch / "closed.db";
  {
    sqlite::Database source(book, sqlite::Database::Mode::read_only);
    sqlite::Statement(source, "VACUUM INTO ?").execute(closed.string());
  }
  const fs::path beside = target.parent_path() / fmt::format(".{}.{}", target.filename().string(), ::getpid());
  std::error_code ignored;
  fs::remove(beside, ignored);
  copy_file_synced(closed, beside);
  fs::remove(closed, ignored);
  // A log that was left beside the older one (it was opened for writing) would be taken for this one's.
  for (const char* const suffix : {"-wal", "-shm"}) fs::remove(target.string() + suffix, ignored);
  if (std::rename(beside.c_str(), target.c_str()) != 0) {
    const int error = errno;
    fs::remove(beside, ignored);
    throw EnvironmentError(fmt::format("{}: {}", target.string(), std::strerror(error)));
  }
  sync_folder(target.parent_path());
}

// What the shard's sessions said, one for each of its items; null if its summary does not tell.
const nlohmann::ordered_json* results_of(const ShardReport& shard) {
  if (!shard.complete()) return nullptr;
  const nlohmann::ordered_json& result = shard.snapshot->result;
  const auto summary = result.find("summary");
  if (summary == result.end() || !summary->is_object()) return nullptr;
  const auto results = summary->find("results");
  return results != summary->end() && results->is_array() ? &*results : nullptr;
}

// A shard judged its own items only: the more there are, the larger a change by chance is among them.
std::vector<NightComparison> compare_all(const SweepMerge& merge, const FrozenPlan& plan) {
  std::map<std::string, const nlohmann::ordered_json*> by_id;
  for (const ShardReport& shard : merge.shards) {
    const nlohmann::ordered_json* results = results_of(shard);
    if (results == nullptr) continue;
    for (const auto& result : *results) {
      if (const auto id = result.find("id"); result.is_object() && id != result.end() && id->is_string()) by_id[id->get<std::string>()] = &result;
    }
  }
  std::vector<const nlohmann::ordered_json*> results;
  for (const FrozenItem& frozen : plan.items) {
    const auto found = by_id.find(frozen.item.id());
    results.push_back(found == by_id.end() ? nullptr : found->second);
  }
  return compare_nights(plan, results);
}

int exit_code_of(const SweepMerge& merge) {
  bool regression = !with_verdict(merge.comparisons, reports::Verdict::regression).empty();
  for (const ShardReport& shard : merge.shards) {
    if (shard.exit_code() != 0 && shard.exit_code() != 3) return 1;
    regression = regression || (shard.exit_code() == 3 && results_of(shard) == nullptr);
  }
  if (!merge.missing.empty()) return 1;
  return regression ? 3 : 0;
}

}  // namespace

int ShardReport::exit_code() const {
  if (!complete()) return 1;
  const auto code = snapshot->result.find("exit_code");
  return code != snapshot->result.end() && code->is_number_integer() ? code->get<int>() : 1;
}

SweepMerge merge_sweep(const SweepFolder& folder, const FrozenPlan& plan, const std::function<void(const std::string&)>& message) {
  SweepMerge merge;
  const ScratchFolder scratch("merge");
  const fs::path book = scratch.path() / "merged.db";
  if (std::error_code error; fs::exists(folder.base(), error)) restore_base(folder, book);
  { Store made(book); }  // a merged book is there even if no shard left anything
  for (std::size_t i = 0; i < plan.shards.size(); ++i) {
    ShardReport report;
    report.shard = i;
    report.items = plan.shards[i].size();
    ShardFolder shard(folder.shard(i), {folder.sweep, i, plan.shards.size()});
    ShardFolder::Found found = shard.newest();
    report.refused = std::move(found.refused);
    for (const std::string& refused : report.refused) message(refused);
    if (found.snapshot) {
      // Checked once more while it is copied: nothing torn gets into the merged book.
      const fs::path copy = scratch.path() / "shard.db";
      shard.restore(*found.snapshot, copy);
      merge.added += merge_books({copy}, book).added;
      fs::remove(copy);
    }
    report.snapshot = std::move(found.snapshot);
    merge.shards.push_back(std::move(report));
  }
  const std::set<Purpose> finished = finished_purposes(book, plan);
  for (ShardReport& report : merge.shards) {
    for (const std::size_t item : plan.shards[report.shard]) {
      if (finished.contains(purpose_of(plan.items[item].item))) {
        ++report.finished;
      } else {
        merge.missing.push_back(item);
      }
    }
  }
  std::sort(merge.missing.begin(), merge.missing.end());
  const Store::Health health = Store::check_file(book);
  if (!health.problems.empty()) throw EnvironmentError(fmt::format("the merged book is not sound: {}", health.problems.front()));
  merge.sessions = health.sessions;
  merge.trials = health.trials;
  leave_closed(book, scratch.path(), folder.merged());
  merge.book = folder.merged();
  merge.comparisons = compare_all(merge, plan);
  merge.exit_code = exit_code_of(merge);
  return merge;
}

nlohmann::ordered_json SweepMerge::to_json(const FrozenPlan& plan) const {
  nlohmann::ordered_json json = {{"book", book.string()}, {"sessions", sessions}, {"trials", trials}, {"sessions_added", added.sessions},
                                 {"trials_added", added.trials}};
  json["shards"] = nlohmann::ordered_json::array();
  for (const ShardReport& report : shards) {
    nlohmann::ordered_json shard = {{"shard", report.shard},       {"items", report.items},          {"finished", report.finished},
                                    {"complete", report.complete()}, {"exit_code", report.exit_code()}, {"snapshot", nullptr},
                                    {"refused", report.refused}};
    if (report.snapshot) {
      shard["snapshot"] = {{"file", report.snapshot->file.string()}, {"attempt", report.snapshot->attempt},
                           {"written_utc", report.snapshot->written_utc}, {"host", report.snapshot->host}};
    }
    if (report.complete()) shard["summary"] = report.snapshot->result.value("summary", nlohmann::ordered_json());
    json["shards"].push_back(shard);
  }
  json["missing"] = nlohmann::ordered_json::array();
  for (const std::size_t item : missing) json["missing"].push_back(plan.items[item].item.to_json());
  add_verdicts(json, plan, comparisons);
  json["exit_code"] = exit_code;
  return json;
}

}  // namespace tunebook
