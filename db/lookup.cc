#include "tunebook/lookup.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/problem.h"
#include "db/lookup_book.h"
#include "db/lookup_cache.h"
#include "db/lookup_misses.h"
#include "db/lookup_shipped.h"

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
      : book(book_path, options),
        shipped(options),
        tables(options.kept_questions),
        misses(options.record_misses, options.record_misses_per_second) {}

  LookupBook book;
  ShippedBooks shipped;
  ThreadTables tables;
  MissLog misses;
};

namespace {

// Shipped books are asked where this is all that the book itself has to say.
bool asks_shipped(const std::shared_ptr<const Answer>& answer) {
  return answer == nullptr || answer->tier == Tier::preset_default;
}

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
  if (!impl.shipped.empty() && asks_shipped(answered.answer)) {
    std::vector<Answer> shipped = impl.shipped.answers(query);
    if (!shipped.empty()) {
      answered.answer = std::make_shared<const Answer>(std::move(shipped.front()));
    }
  }
  impl.misses.record(query, answered.answer.get());
  if (table != nullptr) {
    table->keep(hash, query, answered.generation, answered.answer);
  }
  return std::move(answered.answer);
}

namespace {

// Puts what the shipped books answer before the presets.
void add_shipped(std::vector<Answer> shipped, std::size_t most, Explanation& explanation) {
  std::vector<Consideration>& considered = explanation.considered;
  const bool is_answer = asks_shipped(explanation.answer) && !shipped.empty();
  if (is_answer) {
    explanation.answer = std::make_shared<const Answer>(shipped.front());
    for (Consideration& one : considered) {
      if (one.obstacle == Obstacle::none) {
        one.obstacle = Obstacle::not_needed;
        one.reason = "a better candidate was found";
      }
    }
  }
  auto at = std::find_if(considered.begin(), considered.end(), [](const Consideration& one) {
    return !one.in_a_tier || one.candidate.tier == Tier::preset_default;
  });
  for (std::size_t i = 0; i < shipped.size(); ++i) {
    const bool first = is_answer && i == 0;
    at = considered.insert(at, {std::move(shipped[i]), true, first ? Obstacle::none : Obstacle::not_needed,
                                first ? "" : "a better candidate was found"}) + 1;
  }
  if (considered.size() > most) {
    explanation.left_out += static_cast<std::int64_t>(considered.size() - most);
    considered.resize(most);
  }
}

NamedValues as_values(const LookupValues& values) {
  NamedValues named;
  for (const auto& [name, value] : values) named.set(name, value);
  return named;
}

}  // namespace

Explanation Lookup::explain(const Query& query, std::size_t most) const {
  check_asked(query);
  // Half of the room is for what the model predicts, so that winners can be seen, too.
  Explanation explanation = impl_->book.explain(query, most, (most + 1) / 2);
  if (!impl_->shipped.empty()) {
    add_shipped(impl_->shipped.answers(query), most, explanation);
  }
  return explanation;
}

std::vector<Answer> Lookup::ranked(const Query& query, std::size_t count) const {
  check_asked(query);
  const Explanation explanation = impl_->book.candidates(query);
  std::vector<Answer> candidates = usable_candidates(explanation);
  if (!impl_->shipped.empty()) {
    std::vector<Answer> shipped = impl_->shipped.ranked(query);
    const auto presets = std::find_if(candidates.begin(), candidates.end(), [](const Answer& one) {
      return one.tier == Tier::preset_default;
    });
    candidates.insert(presets, std::make_move_iterator(shipped.begin()), std::make_move_iterator(shipped.end()));
  }
  std::vector<Answer> ranked;
  std::vector<NamedValues> seen;
  for (Answer& candidate : candidates) {
    if (ranked.size() == count) break;
    NamedValues configuration = as_values(candidate.configuration);
    if (std::find(seen.begin(), seen.end(), configuration) != seen.end()) continue;
    seen.push_back(std::move(configuration));
    ranked.push_back(std::move(candidate));
  }
  return ranked;
}

}  // namespace tunebook
