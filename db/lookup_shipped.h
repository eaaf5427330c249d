#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "db/lookup_book.h"
#include "tunebook/lookup.h"

namespace tunebook {

// The books of LookupOptions::shipped_books. They are opened when the first question needs them;
// one that is missing or cannot be read answers nothing. For many threads at once.
class ShippedBooks {
 public:
  explicit ShippedBooks(const LookupOptions& options);
  bool empty() const { return books_.empty(); }

  // What each book answers, but for presets; the best tier first, then the order of the books. Of
  // tier `shipped`.
  std::vector<Answer> answers(const Query& query);
  // Usable candidates of all books, the most promising first, book by book in the order of
  // answers().
  std::vector<Answer> ranked(const Query& query);

 private:
  struct Book {
    std::string path;
    std::unique_ptr<LookupBook> opened;  // null: it could not be
  };
  struct BookAnswer {
    Book* book = nullptr;
    Answer answer;
  };
  void open();
  std::vector<BookAnswer> ask(const Query& query);

  LookupOptions options_;
  std::vector<Book> books_;
  std::once_flag once_;
};

// The usable candidates of an explanation: its answer, what the model puts next, other winners,
// then presets.
std::vector<Answer> usable_candidates(const Explanation& explanation);

}  // namespace tunebook
