#pragma once

#include <map>
#include <string>
#include <vector>

#include "db/session_history.h"
#include "sweep/item.h"

namespace tunebook {

// What makes a trial of an item the same trial tonight: as TrialContext has it.
struct ItemContext {
  std::string kernel_hash;
  std::string device_key;   // Device::key(); "": nobody knows what the device is
  std::string toolchain;    // ExecutorIdentity::toolchain
  std::string method;       // ExecutorIdentity::method
};

// A book's sessions, found by what they were about. The history must outlive the index and not move.
class SessionIndex {
 public:
  using List = std::vector<const SessionSummary*>;  // oldest first

  explicit SessionIndex(const SessionHistory& history);
  // Of a kernel (whatever its hash), problem and device, whatever else.
  const List& of(const std::string& kernel, const Problem& problem, const std::string& device_key) const;
  const List& of_kernel(const std::string& kernel) const;

 private:
  std::map<std::string, List> by_problem_, by_kernel_;
};

// Whether it was a search, and not only a timing of the winner (kRetimeStrategy).
bool is_search(const SessionSummary& session);
// Whether it measured by this method and for this objective.
bool measures(const SessionSummary& session, const std::string& method, Objective objective);

}  // namespace tunebook
