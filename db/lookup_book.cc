#include "db/lookup_book.h"

#include <time.h>

#include <exception>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/json_text.h"
#include "core/spec.h"
#include "db/migrations.h"
#include "db/schema.h"

namespace tunebook {
namespace {

// Prepared once per connection: they run whenever the book is looked at.
struct BookStatements {
  explicit BookStatements(sqlite::Database& book) : stamp(book, stamp_sql(book)) {}

  static std::string stamp_sql(sqlite::Database& book) {
    std::string sql =
        "SELECT (SELECT max(id) FROM winner), (SELECT max(id) FROM session), "
        "(SELECT count(*) FROM session WHERE finished_utc IS NULL), (SELECT max(id) FROM kernel), "
        "(SELECT max(id) FROM device), ";
    const bool has_models =
        book.query_integer("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'model'") > 0;
    sql += has_models ? "(SELECT max(id) FROM model), (SELECT count(*) FROM model)" : "0, 0";
    return sql;
  }

  sqlite::Statement stamp;
};
// Columns of the statement, the first entries of a stamp.
constexpr int kStampColumns = 7;

// Coarse: steps of some milliseconds, but it costs a few nanoseconds only.
std::int64_t coarse_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::vector<std::shared_ptr<const KernelSpec>> parse_brought(const LookupOptions& options) {
  std::vector<std::shared_ptr<const KernelSpec>> specs;
  const auto parse = [&](const std::string& text, const std::string& where) {
    specs.push_back(std::make_shared<const KernelSpec>(KernelSpec::parse(parse_json_text(text, where), where)));
  };
  if (!options.spec_json.empty()) {
    parse(options.spec_json, "LookupOptions::spec_json");
  }
  for (const std::string& text : options.more_specs_json) {
    parse(text, "LookupOptions::more_specs_json");
  }
  return specs;
}

}  // namespace

LookupBook::LookupBook(const std::string& path, const LookupOptions& options)
    : near_cap_(options.near_cap),
      interval_ns_(std::chrono::duration_cast<std::chrono::nanoseconds>(options.refresh_interval).count()),
      brought_(parse_brought(options)) {
  if (!(near_cap_ >= 0)) {
    throw std::invalid_argument("LookupOptions::near_cap: expected a distance, 0 or more");
  }
  if (options.no_book) {
    empty_book_ = std::make_unique<sqlite::Database>("(no book)", sqlite::Database::Mode::in_memory);
    migrate(*empty_book_, book_schema());
  } else {
    reader_.emplace(path);
  }
  snapshot_ = std::make_shared<const BookSnapshot>();
  looked_ns_ = coarse_now_ns();
}

template <class Body>
auto LookupBook::read(Body&& body) {
  return reader_ ? reader_->read(body) : body(*empty_book_);
}

std::shared_ptr<const BookSnapshot> LookupBook::current() const {
  const std::lock_guard lock(snapshot_mutex_);
  return snapshot_;
}

void LookupBook::publish(std::shared_ptr<const BookSnapshot> snapshot) {
  const std::uint64_t generation = snapshot->generation;
  std::shared_ptr<const BookSnapshot> old;  // freed outside the lock
  {
    const std::lock_guard lock(snapshot_mutex_);
    old = std::exchange(snapshot_, std::move(snapshot));
  }
  generation_.store(generation, std::memory_order_release);
}

BookSnapshot::Stamp LookupBook::stamp(sqlite::Database& book) {
  BookSnapshot::Stamp stamp{};
  if (!reader_) {
    return stamp;
  }
  sqlite::Statement::Run row = reader_->attachment<BookStatements>(book).stamp.run();
  row.next();
  for (int column = 0; column < kStampColumns; ++column) {
    stamp[static_cast<std::size_t>(column)] = row.integer(column);
  }
  const auto [device, inode] = reader_->file();
  stamp[kStampColumns] = static_cast<std::int64_t>(device);
  stamp[kStampColumns + 1] = static_cast<std::int64_t>(inode);
  stamp[kStampColumns + 2] = 1;  // no fresh snapshot's
  return stamp;
}

BookSnapshot LookupBook::draft(sqlite::Database& book) {
  BookSnapshot snapshot = *current();
  const BookSnapshot::Stamp now = stamp(book);
  if (now != snapshot.stamp || snapshot.devices == nullptr) {
    const std::uint64_t generation = snapshot.generation + 1;
    snapshot = {};
    snapshot.generation = generation;
    snapshot.stamp = now;
    snapshot.devices = std::make_shared<const std::vector<KnownDevice>>(read_devices(book));
  }
  return snapshot;
}

BookSnapshot::Kernel& LookupBook::kernel(sqlite::Database& book, BookSnapshot& snapshot, const std::string& name) {
  BookSnapshot::Kernel& kernel = snapshot.kernels[name];
  if (kernel.versions == nullptr) {
    kernel.versions =
        std::make_shared<const std::vector<KernelVersion>>(kernel_versions(book, version(), specs_, name, brought_));
  }
  return kernel;
}

std::int64_t LookupBook::version() const { return reader_ ? reader_->version() : kSchemaVersion; }

Sources LookupBook::reading_sources(sqlite::Database& book, BookSnapshot::Kernel& kernel) const {
  Sources sources;
  sources.rows = [&book, &kernel](const KnownDevice& device) {
    std::shared_ptr<const DeviceRows>& rows = kernel.rows[device.row];
    if (rows == nullptr) {
      rows = DeviceRows::read(book, *kernel.versions, {&device, nullptr});
    }
    return rows.get();
  };
  sources.models = [&book, &kernel, this](const KnownDevice& device, const std::string& dtype) {
    std::shared_ptr<const DeviceModels>& models = kernel.models[{device.row, dtype}];
    if (models == nullptr) {
      models = read_models(book, version(), *kernel.versions, device, dtype);
    }
    return models.get();
  };
  return sources;
}

std::optional<LookupBook::Answered> LookupBook::ask_snapshot(const BookSnapshot& snapshot, const Query& query) const {
  const auto known = snapshot.kernels.find(query.kernel);
  if (known == snapshot.kernels.end()) {
    return std::nullopt;
  }
  const BookSnapshot::Kernel& kernel = known->second;
  Sources at_hand;
  at_hand.rows = [&](const KnownDevice& device) {
    const auto rows = kernel.rows.find(device.row);
    return rows == kernel.rows.end() ? nullptr : rows->second.get();
  };
  at_hand.models = [&](const KnownDevice& device, const std::string& dtype) {
    const auto models = kernel.models.find({device.row, dtype});
    return models == kernel.models.end() ? nullptr : models->second.get();
  };
  Evaluation result = evaluate(make_question(query, *kernel.versions, *snapshot.devices, near_cap_), at_hand);
  return result.complete ? std::optional(Answered{std::move(result.answer), snapshot.generation}) : std::nullopt;
}

LookupBook::Answered LookupBook::ask(const Query& query) {
  if (std::optional<Answered> answered = ask_snapshot(*current(), query)) {
    return *answered;
  }
  const std::lock_guard lock(reading_);
  struct Result {
    std::shared_ptr<const BookSnapshot> snapshot;
    std::shared_ptr<const Answer> answer;
  };
  const Result result = read([&](sqlite::Database& book) {
    BookSnapshot snapshot = draft(book);
    BookSnapshot::Kernel& asked = kernel(book, snapshot, query.kernel);
    const Question question = make_question(query, *asked.versions, *snapshot.devices, near_cap_);
    // An exact answer is found by index: no more is read of the book then.
    std::map<std::int64_t, std::shared_ptr<const DeviceRows>> probed;
    const RowSource exact_rows = [&](const KnownDevice& device) {
      if (const auto read_before = asked.rows.find(device.row); read_before != asked.rows.end()) {
        return read_before->second.get();
      }
      return (probed[device.row] = DeviceRows::read(book, *asked.versions, {&device, &question.fits})).get();
    };
    std::shared_ptr<const Answer> answer = evaluate_exact(question, exact_rows).answer;
    if (answer == nullptr) {
      answer = evaluate(question, reading_sources(book, asked)).answer;
    }
    if (asked.versions->empty()) {
      snapshot.kernels.erase(query.kernel);  // names that the book does not know are not kept
    }
    return Result{std::make_shared<const BookSnapshot>(std::move(snapshot)), std::move(answer)};
  });
  publish(result.snapshot);
  return {result.answer, result.snapshot->generation};
}

Explanation LookupBook::explain(const Query& query, std::size_t most, std::size_t most_predicted) {
  return consider(query, {most, most_predicted, true});
}

Explanation LookupBook::candidates(const Query& query) {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  return consider(query, {kAll, kAll, false});
}

Explanation LookupBook::consider(const Query& query, const Extent& extent) {
  const std::lock_guard lock(reading_);
  return read([&](sqlite::Database& book) {
    BookSnapshot snapshot = draft(book);
    BookSnapshot::Kernel& asked = kernel(book, snapshot, query.kernel);
    const Question question = make_question(query, *asked.versions, *snapshot.devices, near_cap_);
    const Sources sources = reading_sources(book, asked);
    Explanation explanation;
    explanation.answer = evaluate(question, sources).answer;
    std::size_t predicted = 0;
    evaluate(question, sources, [&](Consideration consideration) {
      const bool is_predicted = consideration.candidate.tier == Tier::predicted;
      if (explanation.considered.size() < extent.most && !(is_predicted && predicted == extent.most_predicted)) {
        predicted += is_predicted ? 1 : 0;
        explanation.considered.push_back(std::move(consideration));
      } else {
        ++explanation.left_out;
      }
      return true;
    });
    if (extent.outsiders) {
      add_outsiders(book, question, extent.most, explanation);
    }
    return explanation;
  });
}

void LookupBook::refresh() {
  // Looked at before the clock is set: what changes after this moment is seen by the next look.
  const std::int64_t now = coarse_now_ns();
  try {
    if (reader_ && (!reader_->immutable() || reader_->file_changed())) {
      const std::shared_ptr<const BookSnapshot> known = current();
      if (known->devices != nullptr) {
        auto fresh = std::make_shared<const BookSnapshot>(reader_->read([&](sqlite::Database& book) { return draft(book); }));
        if (fresh->generation != known->generation) {
          publish(std::move(fresh));
        }
      }
    }
  } catch (const std::runtime_error&) {
    // The book cannot be read at the moment. What is known stays good; the next new question says what is wrong.
  }
  looked_ns_.store(now, std::memory_order_relaxed);
}

void LookupBook::refresh_if_due() {
  if (!reader_) {
    return;
  }
  // Half of the interval, so that one thread can look while the others go on.
  const std::int64_t since = coarse_now_ns() - looked_ns_.load(std::memory_order_relaxed);
  if (interval_ns_ > 0 && since < interval_ns_ / 2) {
    return;
  }
  std::unique_lock lock(reading_, std::defer_lock);
  if (interval_ns_ <= 0 || since >= interval_ns_) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return;
  }
  // Another thread may have looked while this one waited.
  if (interval_ns_ <= 0 || coarse_now_ns() - looked_ns_.load(std::memory_order_relaxed) >= interval_ns_ / 2) {
    refresh();
  }
}

}  // namespace tunebook
