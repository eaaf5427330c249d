#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/book_reader.h"
#include "db/lookup_kernel.h"
#include "db/lookup_rows.h"
#include "db/lookup_tiers.h"
#include "db/sqlite.h"
#include "tunebook/lookup.h"

namespace tunebook {

// What has been read of the book so far. Immutable: what is read later makes a new one that shares the parts.
struct BookSnapshot {
  struct Kernel {
    std::shared_ptr<const std::vector<KernelVersion>> versions;
    std::map<std::int64_t, std::shared_ptr<const DeviceRows>> rows;  // by row of the device
    // Models of time by row of the device and dtype.
    std::map<std::pair<std::int64_t, std::string>, std::shared_ptr<const DeviceModels>> models;
  };
  // Differs whenever winners, sessions, kernels, devices or models may have changed.
  using Stamp = std::array<std::int64_t, 10>;

  std::uint64_t generation = 0;  // raised when the book has changed; answers of an older one are void
  Stamp stamp{};
  std::shared_ptr<const std::vector<KnownDevice>> devices;
  std::map<std::string, Kernel> kernels;  // that the book knows
};

// The book behind a Lookup: answers questions from what has been read, and reads what is missing. For many threads at once; only
// reading takes turns.
class LookupBook {
 public:
  LookupBook(const std::string& path, const LookupOptions& options);

  // An answer and the generation of the book that it is from.
  struct Answered {
    std::shared_ptr<const Answer> answer;
    std::uint64_t generation = 0;
  };
  Answered ask(const Query& query);
  // At most so many candidates, and of these at most so many predicted ones.
  Explanation explain(const Query& query, std::size_t most, std::size_t most_predicted);
  // All candidates of the tiers.
  Explanation candidates(const Query& query);

  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // Looks whether the book has changed, if the time has come. Threads go on with what they have meanwhile, as long as it is within
  // the interval. A book that cannot be read at the moment is no error here: the next new question tells.
  void refresh_if_due();

 private:
  template <class Body>
  auto read(Body&& body);
  void refresh();
  std::shared_ptr<const BookSnapshot> current() const;
  void publish(std::shared_ptr<const BookSnapshot> snapshot);
  // What is known, if it is still true of the book as this transaction sees it; else a fresh start.
  BookSnapshot draft(sqlite::Database& book);
  BookSnapshot::Stamp stamp(sqlite::Database& book);
  // The kernel's versions, read if need be.
  BookSnapshot::Kernel& kernel(sqlite::Database& book, BookSnapshot& snapshot, const std::string& name);
  // Reads what `question` asks for into `kernel`.
  Sources reading_sources(sqlite::Database& book, BookSnapshot::Kernel& kernel) const;
  std::int64_t version() const;  // of the book
  struct Extent {
    std::size_t most = 0, most_predicted = 0;
    bool outsiders = false;
  };
  Explanation consider(const Query& query, const Extent& extent);
  std::optional<Answered> ask_snapshot(const BookSnapshot& snapshot, const Query& query) const;

  const double near_cap_;
  const std::int64_t interval_ns_;
  std::vector<std::shared_ptr<const KernelSpec>> brought_;

  std::mutex reading_;                           // guards all of these:
  std::optional<BookReader> reader_;             // empty with LookupOptions::no_book,
  std::unique_ptr<sqlite::Database> empty_book_; // which stands for the book then
  SpecCache specs_;

  mutable std::mutex snapshot_mutex_;            // guards snapshot_; held for moments only
  std::shared_ptr<const BookSnapshot> snapshot_;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<std::int64_t> looked_ns_{0};       // when the file was looked at last
};

// Candidates that belong to no tier, for people: other devices, objectives, methods, categorical values, unfinished sessions. At most
// `most`; the number of those beyond is added to `left_out`.
void add_outsiders(sqlite::Database& book, const Question& question, std::size_t most, Explanation& explanation);

}  // namespace tunebook
