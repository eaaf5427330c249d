#pragma once

#include <cstddef>
#include <filesystem>

#include "tunebook/lookup.h"

namespace tunebook::testing {

// A book of the bundled matmul for measuring predicted answers: one winner, and a random model of
// 2,000 candidates (valid ones of several shapes, so that an asked shape excludes many), 200 trees
// of depth 6 over all features of the declaration, 40 tuned problems.
struct ModelBook {
  std::size_t candidates = 2000, trees = 200;
  int depth = 6;
  void write(const std::filesystem::path& path) const;
  // Another shape for each number, none of them tuned: log-uniform from 1 to 8192, a third of them
  // odd.
  static Query question(int number);
};

}  // namespace tunebook::testing
