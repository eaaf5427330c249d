#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/outcome.h"
#include "reports/report.h"

namespace tunebook::reports {

// The first line of a message with each number (decimal or hexadecimal, with digits after a point) replaced by "#", cut to a few hundred
// bytes: what messages of the same cause have in common.
std::string failure_key(std::string_view message);

// Numbers the groups of failures of a whole book: millions of messages, of which one of each group is kept. Beyond kMostGroups what is
// new falls into one group for each outcome.
class FailureGroups {
 public:
  static constexpr std::size_t kMostGroups = 20'000;
  explicit FailureGroups(std::size_t message_bytes) : message_bytes_(message_bytes) {}

  // The group of a failure.
  std::uint32_t group(Outcome outcome, std::string_view message);
  std::size_t size() const { return groups_.size(); }
  Outcome outcome(std::uint32_t group) const { return groups_[group].outcome; }
  // The first message of a group, valid UTF-8, cut.
  const std::string& message(std::uint32_t group) const { return groups_[group].message; }

 private:
  struct Group {
    Outcome outcome;
    std::string message;
  };
  std::size_t message_bytes_;
  std::vector<Group> groups_;
  std::unordered_map<std::string, std::uint32_t> by_key_;
  std::map<Outcome, std::uint32_t> others_;
};

// A message as a report shows it: valid UTF-8, cut to `bytes` with "..." where it was longer.
std::string shown_message(std::string_view message, std::size_t bytes);

// The `most` largest groups, the most frequent first, of equal counts the earlier one.
void keep_most_frequent(std::vector<FailureGroup>& groups, std::size_t most);

}  // namespace tunebook::reports
