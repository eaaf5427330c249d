#include "db/lookup_shipped.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

namespace tunebook {
namespace {

Answer as_shipped(Answer answer, const std::string& path) {
  answer.shipped_tier = answer.tier;
  answer.tier = Tier::shipped;
  answer.source = std::filesystem::path(path).filename().string();
  return answer;
}

}  // namespace

ShippedBooks::ShippedBooks(const LookupOptions& options) {
  options_.near_cap = options.near_cap;
  for (const std::string& path : options.shipped_books) books_.push_back({path, nullptr});
}

void ShippedBooks::open() {
  for (Book& book : books_) {
    try {
      book.opened = std::make_unique<LookupBook>(book.path, options_);
    } catch (const std::exception&) {
      // Missing, or no book that can be read here: the others may answer.
    }
  }
}

std::vector<ShippedBooks::BookAnswer> ShippedBooks::ask(const Query& query) {
  std::call_once(once_, [this] { open(); });
  std::vector<BookAnswer> answers;
  for (Book& book : books_) {
    if (book.opened == nullptr) continue;
    try {
      const std::shared_ptr<const Answer> answer = book.opened->ask(query).answer;
      if (answer != nullptr && answer->tier != Tier::preset_default)
        answers.push_back({&book, *answer});
    } catch (const std::exception&) {
      // The question fits none of its versions, or the book cannot be read any more.
    }
  }
  std::stable_sort(answers.begin(), answers.end(), [](const BookAnswer& x, const BookAnswer& y) {
    return x.answer.tier < y.answer.tier;
  });
  return answers;
}

std::vector<Answer> ShippedBooks::answers(const Query& query) {
  std::vector<Answer> answers;
  for (BookAnswer& one : ask(query))
    answers.push_back(as_shipped(std::move(one.answer), one.book->path));
  return answers;
}

std::vector<Answer> ShippedBooks::ranked(const Query& query) {
  std::vector<Answer> ranked;
  for (const BookAnswer& one : ask(query)) {
    try {
      for (Answer& candidate : usable_candidates(one.book->opened->candidates(query))) {
        if (candidate.tier != Tier::preset_default)
          ranked.push_back(as_shipped(std::move(candidate), one.book->path));
      }
    } catch (const std::exception&) {
      // It answered a moment ago and cannot be read any more.
    }
  }
  return ranked;
}

std::vector<Answer> usable_candidates(const Explanation& explanation) {
  const auto place = [](Tier tier) {
    return tier == Tier::predicted ? 0 : tier == Tier::preset_default ? 2 : 1;
  };
  std::vector<Answer> candidates;
  for (const Consideration& one : explanation.considered) {
    const bool usable = one.obstacle == Obstacle::none || one.obstacle == Obstacle::not_needed;
    if (one.in_a_tier && usable) candidates.push_back(one.candidate);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Answer& x, const Answer& y) { return place(x.tier) < place(y.tier); });
  if (explanation.answer != nullptr) candidates.insert(candidates.begin(), *explanation.answer);
  return candidates;
}

}  // namespace tunebook
