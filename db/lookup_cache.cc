#include "db/lookup_cache.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>
#include <variant>

namespace tunebook {
namespace {

constexpr std::size_t kFirstPlaces = 64;

std::uint64_t mixed(std::uint64_t state, std::uint64_t word) {
  state = (state ^ word) * 0x9e3779b97f4a7c15U;
  return state ^ (state >> 29);
}

template <class Word>
std::uint64_t load(const char* bytes) {
  Word word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

std::uint64_t mixed(std::uint64_t state, std::string_view text) {
  const char* const bytes = text.data();
  const std::size_t size = text.size();
  std::uint64_t word = size << 56;
  if (size >= 8) {
    state = mixed(state, load<std::uint64_t>(bytes));
    word ^= load<std::uint64_t>(bytes + size - 8);
  } else if (size >= 4) {
    word ^= load<std::uint32_t>(bytes) ^ (load<std::uint32_t>(bytes + size - 4) << 24);
  } else if (size > 0) {
    word ^= load<std::uint8_t>(bytes) ^ (load<std::uint8_t>(bytes + size / 2) << 8) ^ (load<std::uint8_t>(bytes + size - 1) << 16);
  }
  return mixed(state, word);
}

std::uint64_t mixed(std::uint64_t state, const LookupValue& value) {
  if (const auto* const integer = std::get_if<std::int64_t>(&value)) {
    return mixed(state, static_cast<std::uint64_t>(*integer));
  }
  if (const auto* const text = std::get_if<std::string>(&value)) {
    return mixed(state, std::string_view(*text));
  }
  return mixed(state, static_cast<std::uint64_t>(std::get<bool>(value)));
}

// The tables of this thread, by number of the Lookup. Looked through from the newest on: a program has few Lookups.
struct ThreadStore {
  struct Entry {
    std::uint64_t id;
    std::shared_ptr<AnswerTable> table;
  };
  std::vector<Entry> entries;
  ThreadStore() = default;
  ThreadStore(const ThreadStore&) = delete;
  ThreadStore& operator=(const ThreadStore&) = delete;
  ~ThreadStore();
};

// Plain, so that they can be read without asking whether they are there yet, and also after the store is gone.
struct LastUsed {
  std::uint64_t id;
  AnswerTable* table;
  bool over;
};
thread_local constinit LastUsed last_used = {0, nullptr, false};
thread_local ThreadStore thread_store;

ThreadStore::~ThreadStore() { last_used = {0, nullptr, true}; }

}  // namespace

std::uint64_t question_hash(const Query& query) {
  std::uint64_t state = mixed(0x243f6a8885a308d3U, std::string_view(query.kernel));
  for (const auto& [name, value] : query.problem) {
    state = mixed(state, value);
  }
  const DeviceKey& device = query.device;
  const auto number = [](std::int64_t value, int shift) { return static_cast<std::uint64_t>(value) << shift; };
  for (const std::string* const text : {&device.name, &device.instruction_set, &query.kernel_hash, &query.objective, &query.method}) {
    state = mixed(state, std::string_view(*text));
  }
  state = mixed(state, number(device.compute_capability, 0) ^ number(device.sm_count, 16) ^ number(device.memory_gib, 40));
  return mixed(state, number(device.shared_bytes_per_block_optin, 0) ^ number(device.max_threads_per_block, 24) ^
                          number(device.registers_per_block, 40));
}

AnswerTable::AnswerTable(std::size_t most) : most_(std::bit_ceil(std::max(most, kWays))), places_(std::min(most_, kFirstPlaces)) {}

AnswerTable::Place* AnswerTable::place_for(std::uint64_t hash, std::uint64_t generation) {
  const std::size_t first = set_of(hash);
  for (std::size_t i = first; i < first + kWays; ++i) {
    if (places_[i].kept == nullptr || places_[i].generation != generation) {
      return &places_[i];
    }
  }
  return nullptr;
}

void AnswerTable::keep(std::uint64_t hash, const Query& query, std::uint64_t generation, std::shared_ptr<const Answer> answer) {
  Place* place = place_for(hash, generation);
  while (place == nullptr && places_.size() < most_) {
    std::vector<Place> old(places_.size() * 2);
    old.swap(places_);
    for (Place& moved : old) {
      if (moved.kept != nullptr && moved.generation == generation) {
        if (Place* const target = place_for(moved.hash, generation)) {
          *target = std::move(moved);
        }
      }
    }
    place = place_for(hash, generation);
  }
  if (place == nullptr) {
    place = &places_[set_of(hash) + turn_++ % kWays];
  }
  *place = {hash, generation, std::make_unique<const Kept>(Kept{query, std::move(answer)})};
}

void AnswerTable::abandon() {
  places_ = std::vector<Place>();
  abandoned_.store(true, std::memory_order_release);
}

std::uint64_t ThreadTables::next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

AnswerTable* ThreadTables::of_this_thread() {
  const LastUsed& last = last_used;
  return last.id == id_ ? last.table : make();
}

AnswerTable* ThreadTables::make() {
  if (last_used.over) {
    return nullptr;
  }
  std::vector<ThreadStore::Entry>& entries = thread_store.entries;
  for (const ThreadStore::Entry& entry : entries) {
    if (entry.id == id_) {
      last_used = {id_, entry.table.get(), false};
      return entry.table.get();
    }
  }
  auto table = std::make_shared<AnswerTable>(most_);
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(tables_, [](const std::weak_ptr<AnswerTable>& one) { return one.expired(); });
    tables_.push_back(table);
  }
  // Only the thread holds a table of a Lookup that is gone; it is empty by then.
  std::erase_if(entries, [](const ThreadStore::Entry& entry) { return entry.table->abandoned(); });
  entries.push_back({id_, table});
  last_used = {id_, table.get(), false};
  return table.get();
}

ThreadTables::~ThreadTables() {
  const std::lock_guard lock(mutex_);
  for (const std::weak_ptr<AnswerTable>& one : tables_) {
    if (const std::shared_ptr<AnswerTable> table = one.lock()) {
      table->abandon();
    }
  }
}

}  // namespace tunebook
