#include "sweep/session_index.h"

#include <utility>

#include "sweep/decision.h"

namespace tunebook {
namespace {

std::string problem_key(const std::string& kernel, const std::string& problem, const std::string& device_key) {
  return kernel + '\n' + problem + '\n' + device_key;
}

const SessionIndex::List& find(const std::map<std::string, SessionIndex::List>& lists, const std::string& key) {
  static const SessionIndex::List none;
  const auto found = lists.find(key);
  return found == lists.end() ? none : found->second;
}

}  // namespace

SessionIndex::SessionIndex(const SessionHistory& history) {
  for (const SessionSummary& session : history.sessions) {
    by_problem_[problem_key(session.kernel, session.problem.canonical(), session.device_key)].push_back(&session);
    by_kernel_[session.kernel].push_back(&session);
  }
}

const SessionIndex::List& SessionIndex::of(const std::string& kernel, const Problem& problem, const std::string& device_key) const {
  return find(by_problem_, problem_key(kernel, problem.canonical(), device_key));
}

const SessionIndex::List& SessionIndex::of_kernel(const std::string& kernel) const { return find(by_kernel_, kernel); }

bool is_search(const SessionSummary& session) { return session.strategy != kRetimeStrategy; }

bool measures(const SessionSummary& session, const std::string& method, Objective objective) {
  return session.method == method && session.objective == objective_name(objective);
}

}  // namespace tunebook
