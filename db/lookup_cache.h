#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tunebook/lookup.h"

namespace tunebook {

// A number for a question; equal questions have equal numbers. Long texts count by their ends and length only: it says where to
// look, equality is decided by comparing.
std::uint64_t question_hash(const Query& query);

// The questions that one thread has asked one Lookup, with their answers. A fixed number of places per hash, so that finding or not
// finding is a few comparisons whatever is asked. The table grows up to its cap when good answers would be pushed out.
class AnswerTable {
 public:
  explicit AnswerTable(std::size_t most);

  // The answer of this question and generation of the book; null: not there (the answer itself may be "nothing", too).
  const std::shared_ptr<const Answer>* find(std::uint64_t hash, const Query& query, std::uint64_t generation) const {
    const std::size_t first = set_of(hash);
    for (std::size_t i = first; i < first + kWays; ++i) {
      const Place& place = places_[i];
      if (place.hash == hash && place.generation == generation && place.kept != nullptr && place.kept->query == query) {
        return &place.kept->answer;
      }
    }
    return nullptr;
  }
  void keep(std::uint64_t hash, const Query& query, std::uint64_t generation, std::shared_ptr<const Answer> answer);

  // The Lookup is gone: nothing is kept any more. May be asked by the thread that owns the table meanwhile.
  void abandon();
  bool abandoned() const { return abandoned_.load(std::memory_order_acquire); }

 private:
  static constexpr std::size_t kWays = 4;
  struct Kept {
    Query query;
    std::shared_ptr<const Answer> answer;
  };
  struct Place {
    std::uint64_t hash = 0;
    std::uint64_t generation = 0;
    std::unique_ptr<const Kept> kept;
  };
  std::size_t set_of(std::uint64_t hash) const { return (hash & (places_.size() / kWays - 1)) * kWays; }
  Place* place_for(std::uint64_t hash, std::uint64_t generation);

  const std::size_t most_;
  std::atomic<bool> abandoned_{false};
  std::size_t turn_ = 0;  // which place of a full set gives way
  std::vector<Place> places_;  // a power of two
};

// The tables of one Lookup, one for each thread that asks it. Threads own their tables, and the Lookup empties them when it goes.
class ThreadTables {
 public:
  explicit ThreadTables(std::size_t most) : most_(most) {}
  ~ThreadTables();  // no thread may be asking any more
  ThreadTables(const ThreadTables&) = delete;
  ThreadTables& operator=(const ThreadTables&) = delete;

  // The calling thread's table, made if need be: no lock once it is there. Null while the thread's storage is being destroyed.
  AnswerTable* of_this_thread();

 private:
  static std::uint64_t next_id();
  AnswerTable* make();

  const std::uint64_t id_ = next_id();  // never used again by another Lookup
  const std::size_t most_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<AnswerTable>> tables_;
};

}  // namespace tunebook
