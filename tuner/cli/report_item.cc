#include "cli/report_item.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "cli/cli.h"
#include "core/error.h"
#include "core/statistics.h"
#include "core/utf8.h"
#include "db/encoding.h"
#include "session/finalists.h"
#include "session/possible_time.h"
#include "session/subject.h"

namespace tunebook::cli {
namespace {

bool is_time(double us) { return std::isfinite(us) && us > 0; }

// Of the median of so many `values`; 0: it is not known how many. Nothing if the book is damaged there: 0, less or infinite. An end of the
// interval that is no time is not known, and then it covers nothing that could be said.
std::optional<reports::TimeEstimate> estimate(double median_us, double low_us, double high_us, std::size_t values) {
  if (!is_time(median_us)) return std::nullopt;
  reports::TimeEstimate time{median_us, is_time(low_us) ? low_us : median_us, is_time(high_us) ? high_us : median_us};
  if (values > 0 && is_time(low_us) && is_time(high_us)) time.coverage = median_interval_coverage(values);
  return time;
}

std::optional<reports::TimeEstimate> estimate(const TrialRecord& trial, std::int64_t samples) {
  if (!has_time(trial.outcome) || !trial.median_us) return std::nullopt;
  return estimate(*trial.median_us, trial.ci_low_us.value_or(*trial.median_us), trial.ci_high_us.value_or(*trial.median_us),
                  static_cast<std::size_t>(samples));
}

// "driver: 580.1 -> 580.2" for each label that differs.
std::vector<std::string> changed_labels(const std::vector<reports::Labelled>& before, const std::vector<reports::Labelled>& after) {
  std::vector<std::string> changes;
  const auto value_in = [](const std::vector<reports::Labelled>& labels, const std::string& label) {
    for (const reports::Labelled& each : labels) {
      if (each.label == label) return each.value;
    }
    return std::string("none");
  };
  for (const reports::Labelled& each : after) {
    const std::string old = value_in(before, each.label);
    if (old != each.value) changes.push_back(fmt::format("{}: {} -> {}", each.label, old, each.value));
  }
  for (const reports::Labelled& each : before) {
    if (value_in(after, each.label) == "none") changes.push_back(fmt::format("{}: {} -> none", each.label, each.value));
  }
  return changes;
}

// What --device takes for this device, as far as the book knows.
std::string device_option(const Device& device, const nlohmann::json& environment) {
  if (device.kind == "cuda") return fmt::format("cuda:{}", environment.value("ordinal", nlohmann::json(0)).dump());
  if (device.kind != "replay") return device.kind;
  const auto recording = environment.find("recording");
  return "replay:" + (recording != environment.end() && recording->is_string() ? recording->get<std::string>() : std::string("FILE"));
}

}  // namespace

const ItemReader::Kernel& ItemReader::kernel(const HistorySession& session) {
  std::unique_ptr<Kernel>& known = kernels_[session.kernel];
  if (known) return *known;
  known = std::make_unique<Kernel>();
  known->json = history_.kernel_spec(session.kernel);
  known->dimensions = declared_order(known->json, "problem");
  known->parameters = declared_order(known->json, "parameters");
  try {
    known->spec = KernelSpec::parse(known->json, "kernel in the book");
  } catch (const InputError&) {
    // A recording has parameters alone; rates then come from the winner.
  }
  return *known;
}

const std::vector<std::string>& ItemReader::parameter_order(const HistorySession& session) { return kernel(session).parameters; }
const nlohmann::ordered_json& ItemReader::spec_json(const HistorySession& session) { return kernel(session).json; }

Problem ItemReader::problem(const HistorySession& session) {
  return read_values(history_.problem(session.problem), kernel(session).dimensions,
                     fmt::format("book {}: problem {}", side_.book.string(), session.problem));
}

std::string ItemReader::objective(const HistorySession& session) {
  if (!session.objective.empty()) return session.objective;
  const History::SessionSettings settings = history_.session_settings(session.row);
  const auto asked = settings.identity.find("objective");
  return asked != settings.identity.end() && asked->is_string() ? asked->get<std::string>() : "time";
}

const std::vector<Ceiling>& ItemReader::ceilings(const HistorySession& session) {
  const auto [found, fresh] = ceilings_.try_emplace(session.device);
  if (fresh) found->second = history_.ceilings(session.device);
  return found->second;
}

reports::SessionInfo ItemReader::session_info(const HistorySession& session, std::int64_t trials) {
  reports::SessionInfo info;
  info.id = session.id;
  info.kernel = selection_.kernel_name(session);
  info.kernel_hash = selection_.kernel_hash(session);
  info.problem = problem(session);
  info.device = valid_utf8(selection_.device(session).name);
  info.method = session.method;
  info.objective = session.objective;
  info.strategy = session.strategy;
  info.budget = session.budget;
  info.seed = session.seed;
  info.where = history_.session_settings(session.row).where;
  info.toolchain = session.toolchain;
  info.started_utc = session.started_utc;
  info.finished_utc = session.finished_utc;
  info.wall_seconds = session.wall_seconds;
  info.trials = trials;
  return info;
}

std::string ItemReader::configuration_place(std::int64_t row) const { return fmt::format("book {}: configuration {}", side_.book.string(), row); }

void ItemReader::add_work(reports::Item& item, const HistorySession& session, const std::optional<History::Winner>& winner) {
  const Device& device = selection_.device(session);
  if (const auto& spec = kernel(session).spec) {
    try {
      const WorkAmount work = evaluate_work(*spec, item.key.problem, device);
      item.flops = work.flops;
      item.bytes = work.bytes;
    } catch (const InputError&) {
      // The spec of another version: as below.
    } catch (const std::out_of_range&) {
      // A problem without a dimension that the spec declares: as below.
    }
  }
  if (winner && !item.flops && !item.bytes) {
    const WinnerRecord& record = winner->record;
    const auto usable = [&](const std::optional<double>& rate) { return rate && std::isfinite(*rate) && *rate >= 0 && is_time(record.median_us); };
    if (usable(record.gflops)) item.flops = *record.gflops * record.median_us * 1e3;
    if (usable(record.gbps)) item.bytes = *record.gbps * record.median_us * 1e3;
  }
  item.ceiling = binding_ceiling(ceilings(session), workload_of(item.key.problem, item.flops, item.bytes), session.method);
  if (item.ceiling) item.ceiling_phrase = ceiling_phrase(item.ceiling->what);
}

reports::Rates ItemReader::rates(const reports::Item& item, double time_us) const {
  reports::Rates rates;
  if (!(time_us > 0)) return rates;
  // A kernel that declares no arithmetic (transpose) has no rate of it, rather than a rate of 0.
  if (item.flops && *item.flops > 0) rates.gflops = *item.flops / time_us * 1e-3;
  if (item.bytes && *item.bytes > 0) rates.gbps = *item.bytes / time_us * 1e-3;
  if (item.ceiling) rates.percent_of_ceiling = item.ceiling->percent(time_us);
  if (item.baseline && item.baseline->time) rates.percent_of_baseline = 100 * item.baseline->time->median_us / time_us;
  return rates;
}

void ItemReader::add_baseline(reports::Item& item, const HistorySession& session, const std::optional<History::Winner>& winner) {
  const std::optional<BaselineRecord> record = history_.baseline(session.row);
  if (!record) return;
  reports::BaselineResult baseline;
  baseline.operation = valid_utf8(record->operation);
  baseline.state = record->state;
  baseline.name = valid_utf8(record->name);
  baseline.message = reports::shown_message(record->message, limits_.message_bytes);
  baseline.process_medians_us = record->process_medians_us;
  if (record->median_us) {
    baseline.time = estimate(*record->median_us, record->ci_low_us.value_or(*record->median_us), record->ci_high_us.value_or(*record->median_us),
                             record->process_medians_us.size());
  }
  if (winner) {
    if (const auto ratio = baseline_ratio(*record, winner->record)) {
      baseline.ratio = ratio->ratio;
      baseline.ratio_interval = ratio->interval;
    }
  }
  item.baseline = std::move(baseline);
}

void ItemReader::add_trial_facts(reports::ConfigurationRow& row, const ScannedTrial& scanned, std::int64_t evaluation, const TrialScan& scan) {
  const TrialRecord trial = history_.trial(scanned.row);
  row.origin = scan.origins[scanned.origin];
  row.evaluation = evaluation;
  row.first_pass = estimate(trial, history_.sample_count(scanned.row));
  row.resources = trial.resources;
  row.sm_clock_mhz = trial.conditions.sm_clock_mhz;
  row.verified_problems = trial.verified_problems;
  if (!row.energy_j) row.energy_j = trial.energy_j;
}

void ItemReader::add_configurations(reports::Item& item, const HistorySession& session, const ScannedSession& scanned, const TrialScan& scan,
                                    const std::optional<History::Winner>& winner) {
  std::unordered_map<std::int64_t, std::size_t> trial_of;  // the last of a configuration
  for (std::size_t i = 0; winner && i < scanned.trials.size(); ++i) trial_of[scanned.trials[i].configuration] = i;
  const auto facts = [&](reports::ConfigurationRow& row, std::int64_t configuration) {
    const auto found = trial_of.find(configuration);
    if (found == trial_of.end()) return;
    add_trial_facts(row, scanned.trials[found->second], static_cast<std::int64_t>(found->second) + 1, scan);
  };
  std::vector<std::int64_t> shown;
  if (winner) {
    const WinnerRecord& record = winner->record;
    for (std::size_t i = 0; i < record.finalists.size(); ++i) {
      const FinalistRecord& finalist = record.finalists[i];
      reports::ConfigurationRow row;
      row.configuration = finalist.configuration;
      row.finalist = true;
      row.in_tie_set = finalist.in_tie_set;
      row.winner = winner->configurations[i] == winner->configuration;
      row.time = estimate(finalist.median_us, finalist.ci_low_us, finalist.ci_high_us, finalist.process_medians_us.size());
      row.process_medians_us = finalist.process_medians_us;
      row.energy_j = finalist.energy_j;
      row.sanitizer = reports::shown_message(finalist.sanitizer, limits_.message_bytes);
      // A published book has no trials: of shared memory it knows static and dynamic together.
      row.resources.registers = finalist.registers;
      row.resources.shared_static_bytes = finalist.shared_bytes;
      facts(row, winner->configurations[i]);
      item.top.push_back(std::move(row));
      shown.push_back(winner->configurations[i]);
    }
    if (std::none_of(item.top.begin(), item.top.end(), [](const reports::ConfigurationRow& row) { return row.winner; })) {
      reports::ConfigurationRow row;
      row.configuration = record.configuration;
      row.winner = true;
      row.time = estimate(record.median_us, record.ci_low_us, record.ci_high_us, 0);
      row.energy_j = record.energy_j;
      facts(row, winner->configuration);
      item.top.insert(item.top.begin(), std::move(row));
      shown.push_back(winner->configuration);
    }
    std::stable_partition(item.top.begin(), item.top.end(), [](const reports::ConfigurationRow& row) { return row.winner; });
    item.tie_set_size = winner->record.tie_set_size();
  }

  // The fastest others of the first pass.
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < scanned.trials.size(); ++i) {
    const ScannedTrial& trial = scanned.trials[i];
    if (trial.outcome == Outcome::ok && trial.timed() && std::find(shown.begin(), shown.end(), trial.configuration) == shown.end()) others.push_back(i);
  }
  const std::size_t room = item.top.size() < limits_.top ? limits_.top - item.top.size() : 0;
  const std::size_t more = std::min(room, others.size());
  std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(more), others.end(), [&](std::size_t x, std::size_t y) {
    const double time_x = scanned.trials[x].time_us, time_y = scanned.trials[y].time_us;
    return time_x != time_y ? time_x < time_y : x < y;
  });
  for (std::size_t i = 0; i < more; ++i) {
    const ScannedTrial& trial = scanned.trials[others[i]];
    reports::ConfigurationRow row;
    row.configuration = read_values(history_.configuration(trial.configuration), parameter_order(session), configuration_place(trial.configuration));
    add_trial_facts(row, trial, static_cast<std::int64_t>(others[i]) + 1, scan);
    row.time = row.first_pass;
    item.top.push_back(std::move(row));
  }
  for (reports::ConfigurationRow& row : item.top) {
    if (row.time) row.rates = rates(item, row.time->median_us);
    if (row.winner) item.winner = row;
  }
  if (item.top.size() > limits_.top) item.top.resize(std::max<std::size_t>(limits_.top, 1));
}

void ItemReader::add_ladder(reports::Item& item, const HistorySession& session, const ScannedSession& scanned, const TrialScan& scan) {
  // The spec's presets in its order; of a kernel without a spec those that the trials name, in theirs.
  struct Preset {
    std::string name;
    const ScannedTrial* trial;
  };
  std::vector<Preset> named;
  std::unordered_map<std::string, const ScannedTrial*> by_text;  // canonical: of equal presets one is tried
  for (const ScannedTrial& trial : scanned.trials) {
    const std::string& origin = scan.origins[trial.origin];
    constexpr std::string_view kPreset = "preset:";
    if (!origin.starts_with(kPreset)) continue;
    by_text[history_.configuration(trial.configuration)] = &trial;
    named.push_back({origin.substr(kPreset.size()), &trial});
  }
  std::vector<Preset> presets;
  if (const auto& spec = kernel(session).spec) {
    for (const auto& [name, configuration] : spec->presets) {
      const auto same_name = std::find_if(named.begin(), named.end(), [&wanted = name](const Preset& preset) { return preset.name == wanted; });
      const auto same_text = by_text.find(configuration.canonical());
      if (same_name != named.end()) presets.push_back(*same_name);
      else if (same_text != by_text.end()) presets.push_back({name, same_text->second});
    }
  } else {
    presets = named;
  }
  if (presets.empty()) return;
  std::optional<double> first, last;
  const auto add = [&](reports::LadderRung rung) {
    if (rung.time) {
      const double time_us = rung.time->median_us;
      rung.rates = rates(item, time_us);
      if (last) rung.gain = *last / time_us;
      if (first) rung.gain_in_all = *first / time_us;
      last = time_us;
      if (!first) first = time_us;
    }
    item.ladder.push_back(std::move(rung));
  };
  for (const auto& [name, scanned_trial] : presets) {
    const TrialRecord trial = history_.trial(scanned_trial->row);
    reports::LadderRung rung;
    rung.name = valid_utf8(name);
    rung.configuration = read_values(history_.configuration(scanned_trial->configuration), parameter_order(session),
                                     configuration_place(scanned_trial->configuration));
    rung.outcome = trial.outcome;
    if (!has_time(trial.outcome)) rung.message = reports::shown_message(trial.message, limits_.message_bytes);
    rung.time = estimate(trial, history_.sample_count(scanned_trial->row));
    add(std::move(rung));
  }
  if (item.winner && item.winner->time) {
    reports::LadderRung rung;
    rung.name = "winner";
    rung.winner = true;
    rung.configuration = item.winner->configuration;
    rung.time = item.winner->time;
    add(std::move(rung));
  }
}

void ItemReader::add_trend(reports::Item& item, const std::vector<const HistorySession*>& history) {
  // The last session of each date.
  std::vector<const HistorySession*> nights;
  for (const HistorySession* session : history) {
    if (!nights.empty() && session_date(*nights.back()) == session_date(*session)) nights.pop_back();
    nights.push_back(session);
  }
  if (nights.size() > limits_.nights) nights.erase(nights.begin(), nights.end() - static_cast<std::ptrdiff_t>(limits_.nights));
  std::vector<reports::Labelled> before;
  for (const HistorySession* session : nights) {
    const WinnerRecord winner = history_.winner(session->winner, parameter_order(*session)).record;
    const std::size_t processes = winner.finalists.empty() ? 0 : winner.finalists.front().process_medians_us.size();
    const auto time = estimate(winner.median_us, winner.ci_low_us, winner.ci_high_us, processes);
    if (!time) continue;
    reports::TrendPoint point;
    point.date = session_date(*session);
    point.session_id = session->id;
    point.finished_utc = session->finished_utc;
    point.time = *time;
    if (!winner.finalists.empty()) point.process_medians_us = winner.finalists.front().process_medians_us;
    point.configuration = winner.configuration.display();
    point.kernel_hash = selection_.kernel_hash(*session);
    point.kind = reports::session_kind(session->strategy);
    std::vector<reports::Labelled> labels = selection_.environment(*session);
    if (!item.trend.empty()) {
      point.configuration_changed = point.configuration != item.trend.back().configuration;
      point.kernel_changed = point.kernel_hash != item.trend.back().kernel_hash;
      point.environment_changed = changed_labels(before, labels);
    }
    before = std::move(labels);
    item.trend.push_back(std::move(point));
  }
}

const HistorySession& ItemReader::searched(const HistorySession& session) {
  if (reports::session_kind(session.strategy) != reports::SessionKind::finalists) return session;
  const History::SessionSettings settings = history_.session_settings(session.row);
  const auto of = settings.identity.find("finalists_of");
  if (of == settings.identity.end() || !of->is_string()) return session;
  const auto search = std::find_if(selection_.all().begin(), selection_.all().end(),
                                   [&](const HistorySession& other) { return other.id == of->get_ref<const std::string&>(); });
  return search == selection_.all().end() ? session : *search;
}

reports::Reproduction ItemReader::reproduction(const HistorySession& shown) {
  const HistorySession& session = searched(shown);
  const History::SessionSettings settings = history_.session_settings(session.row);
  const nlohmann::json& identity = settings.identity;
  const auto differs = [&](const char* key, const nlohmann::json& usual) { return identity.contains(key) && identity[key] != usual; };
  std::vector<std::string> words = {"tunebook", "tune", selection_.kernel_name(session), "--shape", problem(session).display(), "--device",
                                    device_option(selection_.device(session), selection_.environment_json(session))};
  const reports::SessionKind kind = reports::session_kind(session.strategy);
  if (kind == reports::SessionKind::search) words.insert(words.end(), {"--strategy", session.strategy, "--budget", session.budget});
  words.insert(words.end(), {"--seed", std::to_string(session.seed)});
  for (const std::string& where : settings.where) words.insert(words.end(), {"--where", where});
  if (session.method.starts_with("warm")) words.insert(words.end(), {"--cache", "warm"});
  if (const std::size_t at = session.method.find('@'); at != std::string::npos) {
    std::string mhz = session.method.substr(at + 1);
    if (mhz.ends_with("MHz")) mhz.resize(mhz.size() - 3);
    words.insert(words.end(), {"--lock-clocks", mhz});
  }
  if (objective(session) == "energy") words.insert(words.end(), {"--objective", "energy"});
  if (const auto finalists = identity.find("finalists"); finalists != identity.end() && finalists->is_array() && finalists->size() == 3) {
    if ((*finalists)[0] != 8) words.insert(words.end(), {"--finalists", (*finalists)[0].dump()});
    if ((*finalists)[1] != 5) words.insert(words.end(), {"--finalist-processes", (*finalists)[1].dump()});
    if ((*finalists)[2] == true) words.emplace_back("--energy");
  }
  if (const auto timeouts = identity.find("timeouts_s"); timeouts != identity.end() && timeouts->is_array() && timeouts->size() == 2) {
    if ((*timeouts)[0] != 10) words.insert(words.end(), {"--run-timeout", (*timeouts)[0].dump()});
    if ((*timeouts)[1] != 60) words.insert(words.end(), {"--compile-timeout", (*timeouts)[1].dump()});
  }
  if (differs("from_book", true)) words.emplace_back("--no-from-book");
  if (identity.contains("sanitizer")) words.emplace_back("--sanitize");
  const auto& spec = kernel(session).spec;
  if (spec && !spec->baseline.empty() && !identity.empty() && !identity.contains("baseline")) words.emplace_back("--no-baseline");
  words.insert(words.end(), {kind == reports::SessionKind::retime ? "--retime" : "--remeasure", "--book", side_.book.string()});
  std::string command;
  for (const std::string& word : words) command += (command.empty() ? "" : " ") + shell_word(word);

  reports::Reproduction reproduction;
  reproduction.command = valid_utf8(command);
  reproduction.book = valid_utf8(side_.book.string());
  reproduction.session_id = shown.id;
  reproduction.kernel_hash = selection_.kernel_hash(shown);
  reproduction.toolchain = shown.toolchain;
  reproduction.seed = shown.seed;
  return reproduction;
}

reports::Item ItemReader::item(const HistorySession& session, const ScannedSession& scanned, const TrialScan& scan,
                               const std::vector<const HistorySession*>& history) {
  const Device& device = selection_.device(session);
  reports::Item item;
  item.key.kernel = selection_.kernel_name(session);
  item.key.problem = problem(session);
  item.key.device = valid_utf8(device.name);
  item.key.device_key = device.key();
  item.key.device_kind = valid_utf8(device.kind);
  item.key.method = session.method;
  item.key.objective = objective(session);
  item.session_id = session.id;
  item.strategy = valid_utf8(session.strategy);
  item.kernel_hash = selection_.kernel_hash(session);
  item.date = session_date(session);
  item.finished = !session.finished_utc.empty();
  item.environment = selection_.environment(session);

  std::optional<History::Winner> winner;
  if (session.winner != 0 && item.finished) winner = history_.winner(session.winner, parameter_order(session));
  add_work(item, session, winner);
  add_baseline(item, session, winner);
  add_configurations(item, session, scanned, scan, winner);
  add_ladder(item, session, scanned, scan);
  item.outcomes = count_outcomes({&scanned});
  item.trial_count = static_cast<std::int64_t>(scanned.trials.size());
  item.cost = scanned.cost;
  item.cost.wall_seconds = session.wall_seconds;
  item.cost.idle_seconds =
      std::clamp(item.cost.idle_seconds, 0.0, std::max(0.0, session.wall_seconds - item.cost.verify_seconds - item.cost.time_seconds));
  add_trend(item, history);
  item.reproduction = reproduction(session);
  return item;
}

}  // namespace tunebook::cli
