#include "cli/ladder.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/terminal.h"
#include "core/error.h"
#include "core/launch_plan.h"
#include "session/possible_time.h"

namespace tunebook::cli {
namespace {

// Of the largest kernel that is launched; what a configuration needs of an SM is told of all together.
std::optional<LaunchShape> shape_of(const LadderSource& source, const Configuration& configuration) {
  if (source.kernel == nullptr) return std::nullopt;
  const KernelSpec& spec = source.kernel->spec;
  KernelSpec::Scope scope = spec.scope(source.subject->problem, source.place->device);
  spec.bind(scope, configuration);
  try {
    const auto threads = [](const PlannedLaunch& launch) {
      return static_cast<double>(launch.shape.threads()) * static_cast<double>(launch.shape.grid[0] * launch.shape.grid[1] * launch.shape.grid[2]);
    };
    const LaunchSequence sequence = plan_launches(spec, source.subject->problem, configuration, scope);
    return std::max_element(sequence.launches.begin(), sequence.launches.end(),
                            [&](const PlannedLaunch& x, const PlannedLaunch& y) { return threads(x) < threads(y); })->shape;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

Resources resources_of(const FinalistRecord& finalist) {
  Resources resources;
  resources.registers = finalist.registers;
  resources.shared_static_bytes = finalist.shared_bytes;
  return resources;
}

// Near its ceiling a kernel needs no counters; else they say what nothing else does, bank conflicts above all.
bool counters_would_tell(const Binding& binding, const Resources& resources) {
  if (binding.kind == Binding::Kind::arithmetic || binding.kind == Binding::Kind::bandwidth) return false;
  return binding.kind == Binding::Kind::unknown || resources.shared_static_bytes > 0 || resources.shared_dynamic_bytes > 0;
}

Binding diagnose_rung(const LadderSource& source, const Rung& rung, Resources resources) {
  const TuneSubject& subject = *source.subject;
  BindingEvidence evidence;
  evidence.time_us = *rung.time_us;
  evidence.work = workload_of(subject.problem, subject.flops, subject.bytes);
  evidence.ceilings = *source.ceilings;
  evidence.method = source.place->method;
  evidence.device = source.place->device;
  evidence.shape = shape_of(source, rung.configuration);
  if (evidence.shape && resources.shared_dynamic_bytes < 0) resources.shared_dynamic_bytes = evidence.shape->shared_bytes;
  if (evidence.shape && resources.blocks_per_sm < 0) {
    resources.blocks_per_sm = achievable_blocks_per_sm(evidence.device.limits, resources, evidence.shape->threads());
  }
  evidence.resources = resources;
  const Binding binding = diagnose(evidence);
  if (!source.counters || !counters_would_tell(binding, resources)) return binding;
  evidence.counters = source.counters(rung.configuration);
  return evidence.counters.is_null() ? binding : diagnose(evidence);
}

}  // namespace

std::vector<Rung> build_ladder(const LadderSource& source, const TuneResult& result) {
  std::vector<Rung> ladder;
  std::optional<double> first_us, last_us;
  const auto add = [&](Rung rung, const Resources& resources) {
    if (rung.time_us) {
      if (last_us) rung.gain = *last_us / *rung.time_us;
      if (first_us) rung.gain_in_all = *first_us / *rung.time_us;
      if (!first_us) first_us = rung.time_us;
      last_us = rung.time_us;
      rung.binding = diagnose_rung(source, rung, resources);
    }
    ladder.push_back(std::move(rung));
  };
  for (const auto& [name, configuration] : source.subject->presets) {
    for (const PresetResult& preset : result.presets) {
      if (preset.name != name) continue;
      add({name, false, configuration, preset.trial.outcome, preset.trial.median_us, {}, {}, {}}, preset.trial.resources);
    }
  }
  if (!result.winner) return ladder;
  Rung winner{"winner", true, result.winner->configuration, Outcome::ok, result.winner->median_us, {}, {}, {}};
  Resources resources;
  if (!result.winner->finalists.empty()) resources = resources_of(result.winner->finalists.front());
  for (const PresetResult& preset : result.presets) {
    if (!(preset.trial.configuration == winner.configuration)) continue;
    winner.name += " = " + preset.name;
    resources = preset.trial.resources;
  }
  add(std::move(winner), resources);
  return ladder;
}

void print_ladder(const LadderSource& source, const std::vector<Rung>& ladder) {
  const TuneSubject& subject = *source.subject;
  TextTable table;
  table.header = {"preset", "time", "rate", "step", "in all", "of ceiling", "binds", "configuration"};
  table.right = {false, true, true, true, true, true, false, false};
  const auto times = [](const std::optional<double>& gain) { return gain ? fmt::format("{:.2f}x", *gain) : std::string(); };
  for (const Rung& rung : ladder) {
    std::string rate, percent;
    if (rung.time_us && (subject.flops || subject.bytes)) {
      rate = fmt::format("{:.1f} {}", (subject.flops ? *subject.flops : *subject.bytes) / *rung.time_us * 1e-3, subject.flops ? "GFLOP/s" : "GB/s");
    }
    if (rung.binding && rung.binding->percent) percent = fmt::format("{:.0f} %", *rung.binding->percent);
    table.rows.push_back({rung.winner ? bold(rung.name, stdout) : rung.name, rung.time_us ? format_time_us(*rung.time_us) : "-", rate, times(rung.gain),
                          times(rung.gain_in_all), percent,
                          rung.binding ? std::string(binding_name(rung.binding->kind)) : std::string(outcome_name(rung.outcome)),
                          rung.configuration.display()});
  }
  fmt::print("{}(presets: measured once; the winner: again, in fresh processes)\n", terminal_text(table));
  for (const Rung& rung : ladder) {
    if (rung.binding) fmt::print("  {}: {}: {}\n", rung.name, binding_name(rung.binding->kind), rung.binding->reason);
  }
}

nlohmann::ordered_json ladder_json(const std::vector<Rung>& ladder) {
  const auto number = [](const std::optional<double>& value) { return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr); };
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Rung& rung : ladder) {
    nlohmann::ordered_json entry;
    entry["name"] = rung.name;
    entry["configuration"] = rung.configuration.to_json();
    entry["outcome"] = outcome_name(rung.outcome);
    entry["median_us"] = number(rung.time_us);
    entry["gain"] = number(rung.gain);
    entry["gain_in_all"] = number(rung.gain_in_all);
    entry["ceiling_percent"] = rung.binding ? number(rung.binding->percent) : nlohmann::ordered_json(nullptr);
    entry["binds"] = rung.binding ? nlohmann::ordered_json(binding_name(rung.binding->kind)) : nlohmann::ordered_json(nullptr);
    entry["reason"] = rung.binding ? nlohmann::ordered_json(rung.binding->reason) : nlohmann::ordered_json(nullptr);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace tunebook::cli
