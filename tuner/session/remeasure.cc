#include "session/remeasure.h"

#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "session/possible_time.h"
#include "session/subject.h"

namespace tunebook {
namespace {

// Whether the template at hand knows them: what a book says is data, and only declared values become code.
std::string refusal(const KernelSpec& spec, const RemeasureQuestion& question) {
  try {
    spec.check_problem(question.problem);
    spec.check_configuration(question.base, "winner of the base");
    spec.check_configuration(question.candidate, "winner of the candidate");
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

// Why the configuration is not to be timed; empty if it is right.
std::string verify(const Configuration& configuration, const PossibleTime& possible, DeviceExecutor& executor) {
  TrialRecord trial = executor.examine(configuration).trial;
  possible.refuse(trial);
  if (trial.outcome == Outcome::ok) return {};
  return fmt::format("{}: {}", outcome_name(trial.outcome), trial.message.substr(0, trial.message.find('\n')));
}

}  // namespace

RemeasureAnswer remeasure(const KernelTemplate& kernel, const RemeasureQuestion& question, DeviceExecutor& executor) {
  RemeasureAnswer answer;
  answer.failure = refusal(kernel.spec, question);
  if (!answer.failure.empty()) return answer;
  const auto stopped = [&] { return question.stop && question.stop(); };
  constexpr const char* kInterrupted = "interrupted";

  executor.set_problem(question.problem);
  const ExecutorIdentity& place = executor.identity();
  const WorkAmount work = evaluate_work(kernel.spec, question.problem, place.device);
  const PossibleTime possible(question.ceilings, workload_of(question.problem, work.flops, work.bytes), place.method, place.device);
  std::vector<std::pair<const char*, const Configuration*>> winners = {{"base", &question.base}};
  if (!(question.candidate == question.base)) winners.emplace_back("candidate", &question.candidate);
  for (const auto& [side, configuration] : winners) {
    const std::string failure = verify(*configuration, possible, executor);
    if (stopped()) return {{}, {}, kInterrupted};
    if (!failure.empty()) return {{}, {}, fmt::format("the winner of the {}, {}, does not pass here: {}", side, configuration->display(), failure)};
  }

  FinalistPlan plan;
  plan.processes = question.processes;
  plan.baseline = false;
  plan.stop = question.stop;
  std::vector<Finalist> timed = executor.time_finalists({question.base, question.candidate}, plan);
  if (stopped()) return {{}, {}, kInterrupted};
  if (timed.size() != 2 || timed[0].process_medians_us.empty() || timed[1].process_medians_us.empty()) {
    return {{}, {}, "one of the winners could not be timed in fresh processes"};
  }
  return {std::move(timed[0].process_medians_us), std::move(timed[1].process_medians_us), {}};
}

}  // namespace tunebook
