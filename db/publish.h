#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "db/store.h"

namespace tunebook {

// What a published book holds.
struct Publication {
  std::int64_t kernels = 0, devices = 0, winners = 0, models = 0;
  std::int64_t bytes = 0;
};

struct PublishOptions {
  bool models = true;                // false: the published book has no models of time
  // Learned for this book and not in it (it cannot be written); each stands in the place of the book's own. Rows as of `book`.
  std::vector<ModelRecord> learned;
  std::vector<ModelRecord> outdated;  // left out; their bodies do not count
};

// Writes the published book of a working book: the winners of finished sessions with what lookups need of kernels, devices, problems
// and configurations, each finalist's summary, measured ceilings and models of time; no trials. A damaged model is left out. It is made in a temporary file beside `output`, sealed
// (nobody writes it any more), readable by everybody, and renamed into place: who has the old one open goes on reading it, and at no
// moment is there half a book. The working book may be written meanwhile; what is published is its state at one moment.
// Throws InputError if `book` is no book, or `output` is a working book or no book at all; EnvironmentError if writing fails.
Publication publish_book(const std::filesystem::path& book, const std::filesystem::path& output, const PublishOptions& options = {});

}  // namespace tunebook
