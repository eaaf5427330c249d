#include "db/merge.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "db/encoding.h"
#include "db/merge_introduction.h"
#include "db/merge_rows.h"
#include "db/merge_source.h"
#include "db/store_impl.h"

namespace tunebook {
namespace {

// The lock is left free this long between two transactions, or a tuner that asks for it every 100 ms would hardly ever get it.
constexpr std::chrono::milliseconds kPause{5};
// Trials of the target that are held for comparison, by order of proposal.
constexpr std::int64_t kProposalsAtOnce = 4096;
// What a merge keeps of the target's pages, of its index of trial keys above all, which is written in random places.
constexpr const char* kTargetSettings = "PRAGMA cache_size = -262144; PRAGMA wal_autocheckpoint = 32768";

struct Stopped {};

// The content of rows of the target -> their ids.
using Contents = std::unordered_multimap<std::string, std::int64_t>;

// Takes a row of this content out of `contents`: each counts for one row of the source.
std::optional<std::int64_t> take(Contents& contents, const std::string& content) {
  const auto found = contents.find(content);
  if (found == contents.end()) {
    return std::nullopt;
  }
  const std::int64_t id = found->second;
  contents.erase(found);
  return id;
}

// The transactions in which the target is written while one source is read.
class Batches {
 public:
  Batches(const MergeSource& source, sqlite::Database& target, const MergeOptions& options, MergeCounts& committed)
      : source_(source), target_(target), options_(options), committed_(committed) {
    begin();
  }

  MergeCounts added;          // in the open transaction
  std::int64_t trials = 0;    // looked at so far

  // Counts a row that was looked at; from time to time, what was written so far is committed.
  void count_row() {
    if (++rows_ >= options_.rows_per_transaction) {
      commit();
      std::this_thread::sleep_for(kPause);
      begin();
    }
  }
  void commit() {
    if (source_.torn()) {
      throw EnvironmentError(fmt::format("book {}: it changes while it is read; end the program that writes it", source_.path().string()));
    }
    transaction_->commit();
    transaction_.reset();
    committed_ += std::exchange(added, {});
    if (options_.progress) {
      options_.progress(source_.path(), trials);
    }
    if (options_.stop && options_.stop()) {
      throw Stopped{};
    }
  }

 private:
  void begin() {
    rows_ = 0;
    sqlite::repeat_while_busy(target_, [&] { transaction_.emplace(target_, sqlite::Transaction::Kind::write); });
  }

  const MergeSource& source_;
  sqlite::Database& target_;
  const MergeOptions& options_;
  MergeCounts& committed_;
  std::optional<sqlite::Transaction> transaction_;
  std::int64_t rows_ = 0;
};

// Rows of one scope (a session, a device) of a table in both books, few enough to be held.
class ScopedCopy {
 public:
  ScopedCopy(sqlite::Database& source, sqlite::Database& target, const MergeTable& table, const std::string& where)
      : table_(table), read_source_(source, table.select() + where), read_target_(target, table.select() + where),
        insert_(target, table.insert()) {}

  // Adds the rows that the target lacks; returns how many.
  std::int64_t add_missing(std::int64_t source_scope, std::int64_t target_scope, const std::string& book) {
    sqlite::Statement::Run row = read_source_.run(source_scope);
    if (!row.next()) {
      return 0;
    }
    Contents known;
    sqlite::Statement::Run there = read_target_.run(target_scope);
    while (there.next()) {
      std::string content;
      append_content(content, table_.cells(there, 1));
      known.emplace(std::move(content), there.integer(0));
    }
    std::int64_t added = 0;
    do {
      const std::vector<sqlite::Cell> cells = table_.mapped_cells(row, 1, book);
      std::string content;
      append_content(content, cells);
      if (!take(known, content)) {
        insert_.run_cells(cells).next();
        ++added;
      }
    } while (row.next());
    return added;
  }

 private:
  const MergeTable& table_;
  sqlite::Statement read_source_, read_target_, insert_;
};

// Merges one source, as it is at one moment, into the target.
class SourceMerge {
 public:
  SourceMerge(const MergeSource& book, sqlite::Database& source, sqlite::Database& target, Batches& batches)
      : book_(book.path().string()), source_(source), target_(target), batches_(batches) {}

  void run() {
    add_shared_rows();
    add_requirements();
    sqlite::Statement sessions(source_, session_.select() + " ORDER BY id");
    sqlite::Statement::Run row = sessions.run();
    while (row.next()) {
      merge_session(row);
    }
    sqlite::Statement devices(source_, "SELECT id FROM device");
    sqlite::Statement::Run device = devices.run();
    while (device.next()) {
      batches_.added.ceilings += ceilings_.add_missing(device.integer(0), ids_["device"].at(device.integer(0)), book_);
      batches_.count_row();
    }
    batches_.commit();
  }

 private:
  // What trials and sessions refer to, known by `key`; of two texts for one key in `text` the longer counts, then the greater.
  std::int64_t add_rows(const std::string& name, const std::vector<std::string>& key, const std::string& text) {
    const MergeTable table(target_, name, ids_);
    std::string where;
    for (const std::string& column : key) {
      where += fmt::format("{} {} = ?", where.empty() ? " WHERE" : " AND", column);
    }
    sqlite::Statement read(source_, table.select() + " ORDER BY id");
    sqlite::Statement find(target_, fmt::format("SELECT id, {} FROM {}{}", text, name, where));
    sqlite::Statement insert(target_, table.insert());
    sqlite::Statement improve(target_, fmt::format("UPDATE {} SET {} = ? WHERE id = ?", name, text));
    const std::size_t text_at = table.column(text);
    RowIds& ids = ids_[name];
    std::int64_t added = 0;
    sqlite::Statement::Run row = read.run();
    while (row.next()) {
      const std::vector<sqlite::Cell> cells = table.cells(row, 1);
      check_hash(name, cells[0], cells[text_at]);
      check_described(book_, table, name, cells);
      std::vector<sqlite::Cell> key_cells;
      for (const std::string& column : key) {
        key_cells.push_back(cells[table.column(column)]);
      }
      std::optional<std::int64_t> id;
      {
        sqlite::Statement::Run found = find.run_cells(key_cells);
        if (found.next()) {
          id = found.integer(0);
          const auto ours = found.text_view(1);
          const auto theirs = row.text_view(1 + static_cast<int>(text_at));
          if (std::pair(theirs.size(), theirs) > std::pair(ours.size(), ours)) {
            improve.execute(theirs, *id);
          }
        }
      }
      if (!id) {
        insert.run_cells(cells).next();
        id = target_.last_insert_id();
        ++added;
      }
      ids[row.integer(0)] = *id;
      batches_.count_row();
    }
    return added;
  }

  // A text under the hash of another one would be given to every session that has that hash.
  void check_hash(const std::string& table, const sqlite::Cell& hash, const sqlite::Cell& text) const {
    const auto* const bytes = std::get_if<sqlite::Blob>(&hash);
    if (bytes != nullptr && bytes->bytes != as_blob(to_hash(content_hash(std::get<std::string_view>(text)))).bytes) {
      throw InputError(fmt::format("book {}: it is damaged: a row of {} has not the hash of its text; nothing of it can be merged", book_, table));
    }
  }

  void add_shared_rows() {
    add_rows("environment", {"hash"}, "json");
    add_rows("problem", {"hash"}, "json");
    add_rows("configuration", {"hash"}, "json");
    batches_.added.devices += add_rows("device", {"key"}, "json");
    batches_.added.kernels += add_rows("kernel", {"name", "hash"}, "spec");
  }

  void add_requirements() {
    const MergeTable table(target_, "requirement", ids_);
    // -1 stands for "not known", which is less than any number.
    const auto larger = [](const char* column) {
      return fmt::format("{0} = nullif(max(coalesce({0}, -1), coalesce(excluded.{0}, -1)), -1)", column);
    };
    sqlite::Statement upsert(target_, fmt::format("{} ON CONFLICT (kernel_id, configuration_id, device_id) DO UPDATE SET {}, {}", table.insert(),
                                                  larger("registers"), larger("shared_bytes")));
    sqlite::Statement read(source_, table.select());
    sqlite::Statement::Run row = read.run();
    while (row.next()) {
      upsert.run_cells(table.mapped_cells(row, 1, book_)).next();
      batches_.count_row();
    }
  }

  void merge_session(const sqlite::Statement::Run& row) {
    const std::int64_t source_id = row.integer(0);
    const auto [session, is_new] = find_or_add_session(row);
    ids_["session"][source_id] = session;
    std::int64_t added = add_trials(source_id, session, is_new);
    const std::int64_t winners = add_winners(source_id, session);
    const std::int64_t baselines = baselines_.add_missing(source_id, session, book_);
    const std::int64_t profiles = profiles_.add_missing(source_id, session, book_);
    batches_.added.winners += winners;
    batches_.added.baselines += baselines;
    batches_.added.profiles += profiles;
    added += winners + baselines + profiles;
    const bool ended = end_session(row, session);
    if (!is_new && (added > 0 || ended)) {
      ++batches_.added.sessions_extended;
    }
    batches_.count_row();
  }

  std::pair<std::int64_t, bool> find_or_add_session(const sqlite::Statement::Run& row) {
    std::vector<sqlite::Cell> cells = session_.mapped_cells(row, 1, book_);
    const sqlite::Cell uid = cells[session_.column("uid")];
    {
      sqlite::Statement::Run found = find_session_.run_cells({&uid, 1});
      if (found.next()) {
        check_same_session(cells, session_.cells(found, 1));
        return {found.integer(0), false};
      }
    }
    // It stays unfinished until all of it is there.
    cells[finished_at_] = std::monostate{};
    cells[wall_at_] = 0.0;
    insert_session_.run_cells(cells).next();
    ++batches_.added.sessions;
    return {target_.last_insert_id(), true};
  }

  void check_same_session(const std::vector<sqlite::Cell>& theirs, const std::vector<sqlite::Cell>& ours) const {
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      std::string their_content, our_content;
      append_content(their_content, {&theirs[i], 1});
      append_content(our_content, {&ours[i], 1});
      if (their_content != our_content && i != finished_at_ && i != wall_at_) {
        throw InputError(fmt::format("book {}: its session {} is another one than in book {}: {} differs, so one of the two was changed by "
                                     "other means; leave out the book that is wrong",
                                     book_, std::get<std::string_view>(theirs[session_.column("uid")]), target_.name(), session_.columns()[i]));
      }
    }
  }

  std::int64_t add_trials(std::int64_t source_id, std::int64_t session, bool is_new) {
    RowIds& ids = ids_["trial"];  // of this session
    ids.clear();
    Contents known;
    std::optional<std::int64_t> known_until;  // proposals
    std::int64_t added = 0;
    const std::size_t proposal_at = trial_.column("proposal");
    sqlite::Statement::Run row = read_trials_.run(source_id);
    while (row.next()) {
      const std::vector<sqlite::Cell> cells = trial_.mapped_cells(row, 1, book_);
      std::optional<std::int64_t> id;
      if (!is_new) {
        const std::int64_t proposal = std::get<std::int64_t>(cells[proposal_at]);
        if (!known_until || proposal > *known_until) {
          known_until = proposal > std::numeric_limits<std::int64_t>::max() - kProposalsAtOnce ? std::numeric_limits<std::int64_t>::max()
                                                                                               : proposal + kProposalsAtOnce;
          known = read_known_trials(session, proposal, *known_until);
        }
        std::string content;
        append_content(content, cells);
        id = take(known, content);
      }
      if (!id) {
        insert_trial_.run_cells(cells).next();
        id = target_.last_insert_id();
        ++added;
        ++batches_.added.trials;
      }
      ids[row.integer(0)] = *id;
      ++batches_.trials;
      batches_.count_row();
    }
    return added;
  }

  Contents read_known_trials(std::int64_t session, std::int64_t first, std::int64_t last) {
    Contents known;
    sqlite::Statement::Run row = read_known_.run(session, first, last);
    while (row.next()) {
      std::string content;
      append_content(content, trial_.cells(row, 1));
      known.emplace(std::move(content), row.integer(0));
    }
    return known;
  }

  // A winner is one with its finalists.
  std::int64_t add_winners(std::int64_t source_id, std::int64_t session) {
    sqlite::Statement::Run row = source_winners_.run(source_id);
    if (!row.next()) {
      return 0;
    }
    Contents known;
    sqlite::Statement::Run there = target_winners_.run(session);
    while (there.next()) {
      std::string content;
      append_content(content, winner_.cells(there, 1));
      sqlite::Statement::Run finalist = target_finalists_.run(there.integer(0));
      while (finalist.next()) {
        append_content(content, without_winner(finalist_.cells(finalist, 0)));
      }
      known.emplace(std::move(content), there.integer(0));
    }
    RowIds& ids = ids_["winner"];  // of one row
    std::int64_t added = 0;
    do {
      const std::vector<sqlite::Cell> cells = winner_.mapped_cells(row, 1, book_);
      std::string content;
      append_content(content, cells);
      ids[row.integer(0)] = 0;  // not known yet, and no part of the content
      {
        sqlite::Statement::Run finalist = source_finalists_.run(row.integer(0));
        while (finalist.next()) {
          append_content(content, without_winner(finalist_.mapped_cells(finalist, 0, book_)));
        }
      }
      if (!take(known, content)) {
        insert_winner_.run_cells(cells).next();
        ids[row.integer(0)] = target_.last_insert_id();
        sqlite::Statement::Run finalist = source_finalists_.run(row.integer(0));
        while (finalist.next()) {
          insert_finalist_.run_cells(finalist_.mapped_cells(finalist, 0, book_)).next();
        }
        ++added;
      }
      ids.clear();
    } while (row.next());
    return added;
  }

  std::vector<sqlite::Cell> without_winner(std::vector<sqlite::Cell> cells) const {
    cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(finalist_.column("winner_id")));
    return cells;
  }

  // True if it was not finished, finished earlier or had run for less long before.
  bool end_session(const sqlite::Statement::Run& row, std::int64_t session) {
    const std::vector<sqlite::Cell> cells = session_.cells(row, 1);
    end_session_.run_cells(std::vector<sqlite::Cell>{cells[finished_at_], cells[wall_at_], session}).next();
    return target_.changed_rows() > 0;
  }

  const std::string book_;
  sqlite::Database& source_;
  sqlite::Database& target_;
  Batches& batches_;
  std::map<std::string, RowIds> ids_ = {{"environment", {}}, {"problem", {}}, {"configuration", {}}, {"device", {}},
                                        {"kernel", {}},      {"session", {}}, {"trial", {}},         {"winner", {}}};
  const MergeTable session_{target_, "session", ids_}, trial_{target_, "trial", ids_}, winner_{target_, "winner", ids_},
      finalist_{target_, "finalist", ids_}, baseline_{target_, "baseline", ids_}, profile_{target_, "profile", ids_},
      ceiling_{target_, "ceiling", ids_};
  const std::size_t finished_at_ = session_.column("finished_utc"), wall_at_ = session_.column("wall_seconds");
  sqlite::Statement find_session_{target_, session_.select() + " WHERE uid = ?"}, insert_session_{target_, session_.insert()};
  sqlite::Statement end_session_{target_,
                                 "UPDATE session SET finished_utc = nullif(max(coalesce(finished_utc, ''), coalesce(?1, '')), ''), "
                                 "wall_seconds = max(wall_seconds, ?2) WHERE id = ?3 "
                                 "AND (coalesce(finished_utc, '') < coalesce(?1, '') OR wall_seconds < ?2)"};
  sqlite::Statement read_trials_{source_, trial_.select() + " WHERE session_id = ? ORDER BY proposal, id"};
  sqlite::Statement read_known_{target_, trial_.select() + " WHERE session_id = ? AND proposal BETWEEN ? AND ?"};
  sqlite::Statement insert_trial_{target_, trial_.insert()};
  sqlite::Statement source_winners_{source_, winner_.select() + " WHERE session_id = ? ORDER BY id"};
  sqlite::Statement target_winners_{target_, winner_.select() + " WHERE session_id = ?"};
  sqlite::Statement source_finalists_{source_, finalist_.select() + " WHERE winner_id = ? ORDER BY place"};
  sqlite::Statement target_finalists_{target_, finalist_.select() + " WHERE winner_id = ? ORDER BY place"};
  sqlite::Statement insert_winner_{target_, winner_.insert()}, insert_finalist_{target_, finalist_.insert()};
  ScopedCopy baselines_{source_, target_, baseline_, " WHERE session_id = ? ORDER BY id"};
  ScopedCopy profiles_{source_, target_, profile_, " JOIN trial ON trial.id = trial_id WHERE trial.session_id = ? ORDER BY profile.id"};
  ScopedCopy ceilings_{source_, target_, ceiling_, " WHERE device_id = ? ORDER BY id"};
};

void merge_one(MergeSource& source, sqlite::Database& target, const MergeOptions& options, MergedBook& merged) {
  source.read([&](sqlite::Database& book) {
    merged.sessions = book.query_integer("SELECT count(*) FROM session");
    merged.unfinished = book.query_integer("SELECT count(*) FROM session WHERE finished_utc IS NULL");
    merged.trials = book.query_integer("SELECT count(*) FROM trial");
    Batches batches(source, target, options, merged.added);
    SourceMerge(source, book, target, batches).run();
    return 0;
  });
  source.close();
}

bool same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  std::error_code error;
  return std::filesystem::equivalent(one, other, error) && !error;
}

}  // namespace

MergeCounts& MergeCounts::operator+=(const MergeCounts& other) {
  kernels += other.kernels;
  devices += other.devices;
  sessions += other.sessions;
  sessions_extended += other.sessions_extended;
  trials += other.trials;
  winners += other.winners;
  baselines += other.baselines;
  profiles += other.profiles;
  ceilings += other.ceilings;
  return *this;
}

MergeResult merge_books(const std::vector<std::filesystem::path>& sources, const std::filesystem::path& target, const MergeOptions& options) {
  MergeResult result;
  std::vector<MergeSource> books;
  for (const std::filesystem::path& source : sources) {
    MergedBook& merged = result.books.emplace_back();
    merged.path = source;
    merged.is_target = same_file(source, target);
    if (!merged.is_target) {
      books.emplace_back(source);
    }
  }
  if (books.empty()) {
    return result;
  }
  { const Store made(target); }  // if missing, with its folder
  sqlite::Database database(target, sqlite::Database::Mode::read_write);
  prepare_book(database);
  database.execute(kTargetSettings);
  const std::vector<std::int64_t> devices = introduce("device", books, database);
  std::vector<std::int64_t> kernels;
  try {
    kernels = introduce("kernel", books, database);
    auto book = books.begin();
    for (MergedBook& merged : result.books) {
      if (!merged.is_target) {
        merge_one(*book++, database, options, merged);
      }
    }
  } catch (const Stopped&) {
    result.stopped = true;
  } catch (const InputError&) {
    withdraw(database, kernels, devices);
    throw;
  }
  result.added.devices += static_cast<std::int64_t>(devices.size());
  result.added.kernels += static_cast<std::int64_t>(kernels.size());
  for (const MergedBook& merged : result.books) {
    result.added += merged.added;
  }
  return result;
}

}  // namespace tunebook
