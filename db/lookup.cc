#include "tunebook/lookup.h"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include "db/lookup_book.h"
#include "db/lookup_cache.h"
#include "db/lookup_misses.h"

namespace tunebook {

const char* tier_name(Tier tier) {
  switch (tier) {
    case Tier::exact:
      return "exact";
    case Tier::predicted:
      return "predicted";
    case Tier::near:
      return "near";
    case Tier::same_architecture:
      return "same_architecture";
    case Tier::far:
      return "far";
    case Tier::shipped:
      return "shipped";
    case Tier::preset_default:
      return "default";
  }
  return "unknown";
}

const char* stale_name(Stale stale) {
  switch (stale) {
    case Stale::no:
      return "no";
    case Stale::yes:
      return "yes";
    case Stale::unknown:
      break;
  }
  return "unknown";
}

const char* obstacle_name(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::none:
      return "none";
    case Obstacle::not_needed:
      return "not needed";
    case Obstacle::constraint:
      return "constraint";
    case Obstacle::limit:
      return "limit";
    case Obstacle::architecture:
      return "architecture";
    case Obstacle::device_kind:
      return "device kind";
    case Obstacle::undeclared_value:
      return "undeclared value";
    case Obstacle::declaration:
      return "declaration";
    case Obstacle::categorical:
      return "categorical dimension";
    case Obstacle::other_device:
      return "other device";
    case Obstacle::other_objective:
      return "other objective";
    case Obstacle::other_method:
      return "other method";
    case Obstacle::unfinished:
      return "unfinished session";
    case Obstacle::unreadable:
      return "unreadable";
  }
  return "unknown";
}

struct Lookup::Impl {
  Impl(const std::string& book_path, const LookupOptions& options)
      : book(book_path, options), tables(options.kept_questions), misses(options.record_misses, options.record_misses_per_second) {}

  LookupBook book;
  ThreadTables tables;
  MissLog misses;
};

namespace {

void check_asked(const Query& query) {
  if (query.kernel.empty()) {
    throw std::invalid_argument("Query::kernel is empty: name the kernel");
  }
}

}  // namespace

Lookup::Lookup(const std::string& book_path, LookupOptions options) : impl_(std::make_unique<Impl>(book_path, options)) {}
Lookup::~Lookup() = default;
Lookup::Lookup(Lookup&&) noexcept = default;
Lookup& Lookup::operator=(Lookup&&) noexcept = default;

std::shared_ptr<const Answer> Lookup::best(const Query& query) const {
  Impl& impl = *impl_;
  impl.book.refresh_if_due();
  AnswerTable* const table = impl.tables.of_this_thread();
  const std::uint64_t hash = question_hash(query);
  if (table != nullptr) {
    if (const std::shared_ptr<const Answer>* const kept = table->find(hash, query, impl.book.generation())) {
      return *kept;
    }
  }
  check_asked(query);
  LookupBook::Answered answered = impl.book.ask(query);
  impl.misses.record(query, answered.answer.get());
  if (table != nullptr) {
    table->keep(hash, query, answered.generation, answered.answer);
  }
  return std::move(answered.answer);
}

Explanation Lookup::explain(const Query& query, std::size_t most) const {
  check_asked(query);
  return impl_->book.explain(query, most);
}

}  // namespace tunebook
