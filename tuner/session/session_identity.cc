#include "session/session_identity.h"

#include "core/objective.h"

namespace tunebook {
namespace {

nlohmann::json problem_json(const Problem& problem) { return nlohmann::json::parse(problem.canonical()); }

nlohmann::json identity_of_search(const TuneSubject& subject, const SearchSpace& space, const TuneOptions& options) {
  return {{"problem", problem_json(subject.problem)},
          {"space", {{"valid", space.size()}, {"where", options.where}}},
          {"strategy", options.strategy},
          {"seed", options.seed},
          {"budget", options.budget.text},
          {"timeouts_s", {options.run_timeout_s, options.compile_timeout_s}},
          {"finalists", {options.finalists, options.finalist_processes, options.energy}},
          {"objective", objective_name(options.objective)},
          {"from_book", options.from_book}};
}

}  // namespace

bool times_baseline(const TuneSubject& subject, const TuneOptions& options) {
  return options.baseline && subject.has_baseline && options.finalists > 0;
}

FinalistPlan finalist_plan(const TuneSubject& subject, const TuneOptions& options) {
  FinalistPlan plan;
  plan.processes = options.finalist_processes;
  plan.baseline = times_baseline(subject, options);
  plan.stop = [&options] { return options.stop_requested(); };
  using Energy = FinalistPlan::Energy;
  plan.energy = options.objective == Objective::energy ? Energy::every_process : options.energy ? Energy::last_process : Energy::none;
  return plan;
}

SessionRecord proposed_session(const TuneSubject& subject, const SearchSpace& space, const TuneOptions& options, const std::string& sanitizer) {
  SessionRecord session;
  session.problem = subject.problem;
  session.strategy = options.retime ? "retime" : options.strategy;
  session.seed = options.seed;
  session.budget = options.retime ? "0" : options.budget.text;
  session.where = options.where;
  session.identity = identity_of_search(subject, space, options);
  if (options.from_book && options.predicted > 0 && !options.retime)
    session.identity["predicted"] = options.predicted;
  if (options.retime) session.identity["strategy"] = session.strategy;
  if (!sanitizer.empty()) session.identity["sanitizer"] = sanitizer;
  if (times_baseline(subject, options)) session.identity["baseline"] = true;
  return session;
}

SessionRecord finalists_session(const SessionRecord& cut, std::int64_t trials) {
  SessionRecord session;
  session.problem = cut.problem;
  session.strategy = "finalists";
  session.seed = cut.seed;
  session.budget = "0";
  session.where = cut.where;
  session.identity = {{"problem", problem_json(cut.problem)}, {"finalists_of", cut.id}, {"trials", trials}};
  return session;
}

}  // namespace tunebook
