#include "launch/launch_refiner.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/problem.h"
#include "launch/kernel_choice.h"
#include "launch/refinement.h"

namespace tunebook {
namespace {

std::string display(const LookupValues& values) {
  NamedValues named;
  for (const auto& [name, value] : values) named.set(name, value);
  return named.display();
}

RefinedCandidate result_of(const RefineCandidate& candidate, const RefinedTime& time) {
  RefinedCandidate result;
  result.configuration = candidate.about.configuration;
  if (candidate.loaded == nullptr) {
    result.outcome = candidate.outcome;
    result.message = candidate.message;
  } else {
    result.outcome = time.tried ? std::string(outcome_name(time.outcome)) : "not_tried";
    result.message = printable(time.message);
    result.median_us = time.median_us();
    result.samples_us = time.samples_us;
  }
  return result;
}

void learn(const RefineTask& task, const std::vector<RefinedCandidate>& results, std::string& note) {
  if (task.learned_file.empty()) return;
  std::vector<RefinedCandidate> tried;
  std::vector<std::int64_t> registers;
  for (std::size_t i = 0; i < results.size(); ++i) {
    // A configuration whose constraints exclude the problem teaches nothing.
    if (results[i].outcome == "not_tried" || results[i].outcome == outcome_name(Outcome::invalid)) continue;
    tried.push_back(results[i]);
    registers.push_back(task.candidates[i].loaded == nullptr ? -1 : task.candidates[i].about.registers);
  }
  const std::string fault = append_learned(task.learned_file, learned_lines(task.learned, tried, registers));
  if (!fault.empty()) add_note(note, "what was refined is not kept: " + fault);
}

// What was timed becomes the slot's state.
void finish(const RefineTask& task, const Refinement& refinement) {
  const std::shared_ptr<KernelSlot> slot = task.slot.lock();
  if (slot == nullptr) return;
  std::vector<RefinedCandidate> results;
  for (std::size_t i = 0; i < task.candidates.size(); ++i) results.push_back(result_of(task.candidates[i], refinement.times[i]));
  const RefineCandidate& chosen = task.candidates[refinement.chosen];
  KernelState state{nullptr, chosen.loaded};
  CompiledKernel about = chosen.about;
  about.refining = false;
  if (!refinement.obstacle.empty()) {
    add_note(about.note, "not refined: " + refinement.obstacle);
  } else if (refinement.chosen != 0) {
    const auto timed = std::count_if(results.begin(), results.end(), [](const RefinedCandidate& one) { return !one.samples_us.empty(); });
    add_note(about.note, fmt::format("refined here: {:.4g} us, {:.4g} us with {} ({} configurations timed)",
                                     results[refinement.chosen].median_us, results[0].median_us, display(results[0].configuration), timed));
  }
  learn(task, results, about.note);
  about.refined = std::move(results);
  state.about = std::make_shared<const CompiledKernel>(std::move(about));
  slot->install(std::move(state), task.number);
}

void time_candidates(const RefineTask& task, std::unique_ptr<LaunchCopies> copies) {
  std::vector<std::shared_ptr<const LoadedLaunch>> loaded;
  for (const RefineCandidate& candidate : task.candidates) loaded.push_back(candidate.loaded);
  const RefineBudget budget{*task.seconds_left, task.samples, [&] { return task.queue->stopping(); }};
  const Refinement refinement = refine(*copies, loaded, budget);
  *task.seconds_left = std::max(0.0, *task.seconds_left - refinement.gpu_seconds);
  copies.reset();
  finish(task, refinement);
}

class ArgumentTaker : public LaunchObserver {
 public:
  explicit ArgumentTaker(RefineTask task) : task_(std::make_shared<const RefineTask>(std::move(task))) {}

  bool before_launch(void** addresses, CUstream_st* stream) noexcept override {
    std::shared_ptr<const RefineTask> task = task_;
    try {
      std::unique_ptr<LaunchCopies> made = task->device->copy_arguments(task->plan, addresses, stream);
      if (made == nullptr) return false;
      task_.reset();
      // Jobs are copied, copies of arguments are not.
      auto copies = std::make_shared<std::unique_ptr<LaunchCopies>>(std::move(made));
      task->queue->push({[task, copies] {
                           try {
                             time_candidates(*task, std::move(*copies));
                           } catch (const std::exception& error) {
                             end_refining(task->slot, task->number, error.what());
                           }
                         },
                         [task] { end_refining(task->slot, task->number, "the Launcher is gone"); }});
    } catch (const std::exception& error) {
      task_.reset();
      try {
        end_refining(task->slot, task->number, error.what());
      } catch (const std::exception&) {
        // Out of memory: the application's launch goes on.
      }
    }
    return true;
  }

 private:
  std::shared_ptr<const RefineTask> task_;
};

}  // namespace

void await_arguments(RefineTask task) {
  const std::shared_ptr<KernelSlot> slot = task.slot.lock();
  if (slot != nullptr) slot->watch(std::make_shared<ArgumentTaker>(std::move(task)));
}

void end_refining(const std::weak_ptr<KernelSlot>& slot, std::uint64_t number, const std::string& reason) {
  const std::shared_ptr<KernelSlot> alive = slot.lock();
  if (alive == nullptr || alive->current() == nullptr) return;
  const KernelState& current = *alive->current();
  CompiledKernel about = *current.about;
  about.refining = false;
  if (!reason.empty()) add_note(about.note, "not refined: " + reason);
  alive->install({std::make_shared<const CompiledKernel>(std::move(about)), current.loaded}, number);
}

}  // namespace tunebook
