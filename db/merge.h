#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tunebook {

// What a merge added to the target.
struct MergeCounts {
  std::int64_t kernels = 0, devices = 0;
  std::int64_t sessions = 0;           // that the target had not
  std::int64_t sessions_extended = 0;  // that it had, and that got rows, an end or a longer wall time
  std::int64_t trials = 0, winners = 0, baselines = 0, profiles = 0, ceilings = 0;
  MergeCounts& operator+=(const MergeCounts& other);
  friend bool operator==(const MergeCounts&, const MergeCounts&) = default;
};

// One of the books that were merged.
struct MergedBook {
  std::filesystem::path path;
  bool is_target = false;   // the target itself: nothing to do
  std::int64_t sessions = 0, unfinished = 0, trials = 0;  // what it holds, at the moment at which it was read
  MergeCounts added;
};

struct MergeOptions {
  // Of a transaction. A large index is written page by page: transactions of a thousand rows write the same pages over and over (see
  // bench_merge). On a slow machine this many hold the write lock for less than the two seconds that others wait for it at once.
  std::int64_t rows_per_transaction = 20'000;
  // Asked several times a second; true: stop after the transaction at hand. What was merged stays.
  std::function<bool()> stop;
  // After each transaction: the book at hand and how many of its trials have been looked at.
  std::function<void(const std::filesystem::path& book, std::int64_t trials)> progress;
};

struct MergeResult {
  std::vector<MergedBook> books;  // in the order given
  MergeCounts added;              // all together
  bool stopped = false;
};

// Adds to the working book `target` (made if missing) what it lacks of the working books `sources`. As content, whatever the row ids, the
// merged book is the union of all of them: merging is idempotent, commutative and associative. The rules:
//  * A session is known by its uid. What it was begun with (kernel, device, problem, identity, seed, ...) is the same in every book; if
//    not, one was tampered with and InputError names it. It is finished if it is finished in any book; the later end and the longer wall
//    time count. A copy of a book made while a session ran is thus extended by a later one, and the other way round nothing is lost.
//  * A trial, winner (with its finalists), baseline, profile or ceiling is one measurement, known by its whole content: session (ceiling:
//    device), every column with the time of recording in microseconds, and the content of what it refers to. The same measurement merged
//    twice stays one; a trial that was measured twice was recorded at two times and stays two. Rows of one book that agree in everything
//    stay as many as they are: the union has as many of a content as the book that has the most.
//  * Which of several measurements counts is decided when they are read: the one that was recorded last, never the one merged last.
//  * A kernel is known by name and hash: specs of one name with another hash are kept apart. Devices are known by their key, problems,
//    configurations and environments by the hash of their text, which is checked. If two books describe a device (its limits) or declare a
//    kernel of the same hash in different texts, the longer text counts, then the greater.
//  * What a preset's block needs: the larger of the known numbers.
// One thing is left to the order of merging: kernels and devices that the target has not are added in the order in which their first
// sessions began, but after those that it has. Only vague questions notice: one without a hash that no winner answers gets the preset of
// the last kernel, one that fits several devices the limits of the last.
//
// Sources are opened read-only and stay as they are; they may be written meanwhile (what is merged is their state at one moment), lie in a
// read-only folder, and be of an older version (read from a migrated copy in $TMPDIR). The target may be used meanwhile, too: it is
// written in transactions of limited length, each of which leaves a valid book. A session becomes finished in the transaction that
// completes it. Killed at any moment, the same merge again completes the work.
//
// All sources are looked at before anything is written. Throws InputError if one of them is missing, no book, a published book or of a
// newer version, or if the target is none that can be written (it stays as it is); for a damaged book when its turn comes: the books before
// it are merged then, and no kernel or device is left in the target that was only in it or in those after it. Throws EnvironmentError if
// the disk is full or the target stays locked.
MergeResult merge_books(const std::vector<std::filesystem::path>& sources, const std::filesystem::path& target, const MergeOptions& options = {});

}  // namespace tunebook
