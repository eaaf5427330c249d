#include "session/replay_executor.h"

#include <chrono>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "search/recording_folder.h"

namespace tunebook {

ReplayExecutor::ReplayExecutor(const Recording& recording) : recording_(recording) {
  identity_.device = recording.device();
  identity_.toolchain = "replay " + recording.content_hash();
  identity_.method = "cold/replay";
  identity_.environment = {{"recording", recording.name()}};
}

bool ReplayExecutor::run_until(const std::function<bool()>& finished, double deadline_seconds) {
  const auto start = std::chrono::steady_clock::now();
  while (!finished()) {
    if (!foreseen_.empty()) {
      const std::function<void()> call = std::move(foreseen_.front());
      foreseen_.pop_front();
      call();
      continue;
    }
    if (queue_.empty()) return false;  // nothing can happen any more
    const Proposal proposal = std::move(queue_.front());
    queue_.pop_front();
    done_(answer(proposal));
    if (deadline_seconds >= 0 &&
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >= deadline_seconds) {
      return finished();
    }
  }
  return true;
}

void ReplayExecutor::foresee(const Configuration& configuration, std::function<void(const Foresight&)> done) {
  const std::optional<Recording::Entry> entry = recording_.lookup(configuration);
  const Foresight foresight = entry ? entry->foresight() : Foresight{Outcome::invalid, {}};
  foreseen_.push_back([done = std::move(done), foresight] { done(foresight); });
}

void ReplayExecutor::cancel() {
  queue_.clear();
  foreseen_.clear();
}

TrialRecord ReplayExecutor::answer(const Proposal& proposal) const {
  TrialRecord record;
  record.order = proposal.order;
  record.origin = proposal.origin;
  record.configuration = proposal.configuration;
  const std::optional<Recording::Entry> entry = recording_.lookup(proposal.configuration);
  if (!entry) {
    record.outcome = Outcome::invalid;
    record.message = "not in the recording";
    return record;
  }
  record.outcome = entry->outcome;
  record.compile_seconds = entry->cost_s;
  record.resources = entry->resources;
  if (entry->time_us) {
    record.median_us = record.min_us = record.ci_low_us = record.ci_high_us = entry->time_us;
    record.samples_us = {*entry->time_us};
  } else {
    record.message = "recorded failure";
  }
  return record;
}

std::vector<Finalist> ReplayExecutor::time_finalists(const std::vector<Configuration>& candidates, const FinalistPlan&) {
  std::vector<Finalist> finalists;
  for (const Configuration& candidate : candidates) {
    Finalist finalist{candidate};
    const auto entry = recording_.lookup(candidate);
    if (entry && entry->time_us) finalist.process_medians_us.push_back(*entry->time_us);
    finalists.push_back(std::move(finalist));
  }
  return finalists;
}

namespace {

// `shape` is positional or by name.
bool is_recorded(const Problem& problem, const std::string& shape) {
  std::string positional;
  for (const auto& [name, value] : problem.items()) positional += (positional.empty() ? "" : ",") + to_text(value);
  return shape == positional || shape == problem.display();
}

}  // namespace

Recording load_recording(const std::filesystem::path& path, const std::string& kernel, const std::string& shape) {
  if (!std::filesystem::is_directory(path)) return Recording::load(path);
  std::vector<std::filesystem::path> files;
  std::optional<Recording> chosen;
  std::set<std::string> kernels;
  std::string problems;
  for (const std::filesystem::path& file : find_recordings(path).recordings) {
    Recording recording = Recording::load(file);
    kernels.insert(recording.kernel());
    if (recording.kernel() != kernel) continue;
    problems += fmt::format("{}{}", problems.empty() ? "" : "; ", recording.problem().display());
    if (!shape.empty() && !is_recorded(recording.problem(), shape)) continue;
    files.push_back(file);
    chosen.emplace(std::move(recording));
  }
  if (!kernels.contains(kernel)) {
    throw InputError(fmt::format("{}: no recording of kernel '{}' in this folder; there are: {}", path.string(), kernel, fmt::join(kernels, ", ")));
  }
  if (!chosen) throw InputError(fmt::format("--shape {}: problem not recorded in {}; of {} there are: {}", shape, path.string(), kernel, problems));
  if (files.size() > 1) {
    throw InputError(fmt::format("{}: {} recordings of kernel '{}' in this folder; name one: --device replay:{}", path.string(), files.size(),
                                 kernel, files.front().string()));
  }
  return std::move(*chosen);
}

TuneSubject replay_subject(const Recording& recording, const std::string& shape) {
  const Problem& problem = recording.problem();
  if (!shape.empty() && !is_recorded(problem, shape)) {
    throw InputError(fmt::format("--shape {}: problem not recorded; {} holds {} only", shape, recording.name(), problem.display()));
  }
  TuneSubject subject;
  subject.kernel = recording.kernel();
  subject.kernel_hash = recording.content_hash();
  subject.kernel_spec = {{"recording", recording.name()}};
  for (const Parameter& parameter : recording.rows().parameters()) {  // in the order that the book shows them in
    nlohmann::ordered_json& values = subject.kernel_spec["parameters"][parameter.name]["values"] = nlohmann::ordered_json::array();
    for (const Value& value : parameter.values) values.push_back(nlohmann::ordered_json(to_json_value(value)));
  }
  subject.problem = problem;
  return subject;
}

}  // namespace tunebook
