#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tunebook {

// Counts what merge_learned() did with one file.
struct LearnedResult {
  std::filesystem::path path;
  std::int64_t refinements = 0, trials = 0;              // that the file holds and the book can keep
  std::int64_t refinements_added = 0, trials_added = 0;  // that the book had not
  std::int64_t passed_over = 0;                          // lines
  std::vector<std::string> notes;                        // why, with FILE:LINE; at most ten
};

// True if applications appended this file line by line, and it is no book: its first character
// that is not blank is `{`.
bool is_learned_file(const std::filesystem::path& path);

// Puts what tunebook::launch refined in applications (LaunchOptions::refine.learned_file; tuner/launch/launching.md has the
// format) into the working book `target`: each refinement as a finished session of strategy "launch" without a winner, its
// lines as trials of origin "launch" that were verified on no problem. Models learn from them; no lookup is answered with them,
// and no session reuses them. Merging the same file again changes nothing, also through books that are merged later.
//
// A kernel's version must be in the book, for its declaration checks problem and configurations: lines of another one are
// passed over, as are damaged ones. Throws InputError if the file is missing, if no line of it can be used, or if there is no book at
// `target`.
LearnedResult merge_learned(const std::filesystem::path& file, const std::filesystem::path& target);

}  // namespace tunebook
