// How a Launcher comes to candidates for refining.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "launch/launcher_core.h"
#include "worker/method.h"

namespace tunebook {
namespace {

// More are neither compiled nor timed, whatever was asked for.
constexpr std::size_t kMaxCandidates = 64;
// A memory pool gives in pieces of this size.
constexpr std::int64_t kPoolPiece = 512;

bool is_cold(const std::string& method) { return !method.starts_with("warm"); }

std::int64_t workspace_bytes(const LaunchRecipe& recipe) {
  std::int64_t sum = 0;
  for (const LaunchRecipe::Workspace& workspace : recipe.workspaces) sum += static_cast<std::int64_t>(workspace.bytes) + kPoolPiece;
  return sum;
}

std::string mebibytes(std::int64_t bytes) { return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20)); }

}  // namespace

void LauncherCore::start_refining(Entry& entry, std::uint64_t number) {
  if (options_.refine.candidates <= 1 || !ranked_) return;
  const KernelState& current = *entry.slot->current();
  if (current.about->tier == Tier::exact) return;
  Realised same{*current.about, current.loaded};
  same.about.refining = true;
  install(*entry.slot, std::move(same), number);
  refining_->push({[this, &entry, number] {
                     try {
                       prepare_refining(entry, number);
                     } catch (const std::exception& error) {
                       end_refining(entry.slot, number, error.what());
                     }
                   },
                   [&entry, number] { end_refining(entry.slot, number, "the Launcher is gone"); }});
}

void LauncherCore::prepare_refining(Entry& entry, std::uint64_t number) {
  RefineTask task;
  task.plan = copy_plan(entry.kernel->spec, entry.problem, device_->device(), is_cold(options_.method));
  const std::int64_t bytes = task.plan.bytes();
  if (bytes > options_.refine.bytes) {
    return end_refining(entry.slot, number, fmt::format("copies of the arguments take {}, LaunchOptions::refine.bytes allows {}",
                                                        mebibytes(bytes), mebibytes(options_.refine.bytes)));
  }
  if (*entry.refine_seconds <= 0) return end_refining(entry.slot, number, "LaunchOptions::refine.seconds are used up for this problem");
  const KernelState& current = *entry.slot->current();
  task.candidates.push_back({*current.about, current.loaded, "", ""});
  const std::size_t wanted = std::min(static_cast<std::size_t>(options_.refine.candidates), kMaxCandidates);
  bool any = false;
  for (const Answer& answer : ranked_(entry.query, wanted)) {
    if (refining_->stopping()) return end_refining(entry.slot, number, "the Launcher is gone");
    const auto known = [&](const RefineCandidate& other) { return other.about.configuration == answer.configuration; };
    if (task.candidates.size() == wanted || std::any_of(task.candidates.begin(), task.candidates.end(), known)) continue;
    task.candidates.push_back(refine_candidate(entry, answer, bytes));
    any = any || task.candidates.back().loaded != nullptr;
  }
  if (!any) return end_refining(entry.slot, number, "no other configuration that can be launched is known for this problem");
  task.slot = entry.slot;
  task.number = number;
  task.device = device_;
  task.queue = refining_;
  task.seconds_left = entry.refine_seconds;
  task.samples = options_.refine.samples;
  const CacheMode cache = task.plan.cold ? CacheMode::cold : CacheMode::warm;
  task.learned = {entry.kernel->spec.name, entry.kernel->hash, entry.problem.items(), device_key_, timing_method("cuda", cache)};
  task.learned_file = options_.refine.learned_file;
  await_arguments(std::move(task));
}

RefineCandidate LauncherCore::refine_candidate(const Entry& entry, const Answer& answer, std::int64_t copies_bytes) {
  RefineCandidate candidate;
  candidate.about.configuration = answer.configuration;
  const auto failed = [&](Outcome outcome, const std::string& message) {
    candidate.loaded = nullptr;
    candidate.outcome = outcome_name(outcome);
    candidate.message = printable(message);
    return candidate;
  };
  std::string obstacle;
  try {
    const auto plan = plan_answer(*entry.kernel, entry.problem, device_->device(), device_->native_arch(),
                                  std::make_shared<const Answer>(answer), obstacle);
    if (!plan) return failed(Outcome::invalid, obstacle);
    const StoredCubin cubin =
        cubins_.get(entry.kernel->kernel, plan->instantiation, plan->about.architecture, Lane::background);
    if (cubin.outcome != Outcome::ok) return failed(cubin.outcome, cubin.message);
    const std::int64_t bytes = copies_bytes + workspace_bytes(recipe_of(entry.kernel->spec, entry.problem, *plan, cubin.symbols));
    if (bytes > options_.refine.bytes) {
      return failed(Outcome::out_of_memory, fmt::format("with its workspaces it takes {}, LaunchOptions::refine.bytes allows {}",
                                                        mebibytes(bytes), mebibytes(options_.refine.bytes)));
    }
    auto realised = finish(*entry.kernel, *plan, cubin, Loading::yes, obstacle);
    if (!realised) return failed(Outcome::no_resources, obstacle);
    candidate.about = std::move(realised->about);
    candidate.loaded = std::move(realised->loaded);
    return candidate;
  } catch (const InputError& error) {
    return failed(Outcome::invalid, error.what());
  }
}

}  // namespace tunebook
