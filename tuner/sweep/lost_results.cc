#include "sweep/lost_results.h"

#include <set>
#include <string>

namespace tunebook {

std::size_t note_lost_results(SweepState& state, const SessionHistory& book) {
  std::set<std::string> held;
  for (const SessionSummary& session : book.sessions) held.insert(session.id);
  std::size_t lost = 0;
  for (ItemState& item : state.items) {
    const bool measured = item.status == ItemStatus::done || item.status == ItemStatus::cut;
    if (!measured || !item.result.is_object() || held.contains(item.result.value("session", ""))) continue;
    item.status = ItemStatus::failed;
    item.reason = "it was measured, but the book does not have it: the book was removed or replaced meanwhile. The same command measures it again";
    ++lost;
  }
  return lost;
}

}  // namespace tunebook
