#include "reports/json.h"

#include <cmath>
#include <utility>

#include "core/baseline.h"

namespace tunebook::reports {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json optional_number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number(value));
  return list;
}

Json estimate_json(const std::optional<TimeEstimate>& time) {
  if (!time) return nullptr;
  return {{"median_us", number(time->median_us)}, {"ci_us", {number(time->low_us), number(time->high_us)}}, {"ci_coverage", optional_number(time->coverage)}};
}

Json labelled_json(const std::vector<Labelled>& list) {
  Json json = Json::array();
  for (const Labelled& each : list) json.push_back({{"label", each.label}, {"value", each.value}});
  return json;
}

Json outcomes_json(const std::vector<std::pair<Outcome, std::int64_t>>& outcomes) {
  Json json = Json::object();
  for (const auto& [outcome, count] : outcomes) json[std::string(outcome_name(outcome))] = count;
  return json;
}

Json cost_json(const Cost& cost) {
  return {{"compile_s", number(cost.compile_seconds)}, {"verify_s", number(cost.verify_seconds)}, {"time_s", number(cost.time_seconds)},
          {"idle_s", number(cost.idle_seconds)},       {"wall_s", number(cost.wall_seconds)},     {"measured", cost.measured},
          {"reused", cost.reused}};
}

Json failures_json(const std::vector<FailureGroup>& groups) {
  Json json = Json::array();
  for (const FailureGroup& group : groups) {
    json.push_back({{"outcome", outcome_name(group.outcome)},
                    {"message", group.message},
                    {"count", group.count},
                    {"first_evaluation", group.first_evaluation > 0 ? Json(group.first_evaluation) : Json(nullptr)},
                    {"configuration", group.configuration}});
  }
  return json;
}

Json session_json(const SessionInfo& session) {
  return {{"id", session.id},
          {"kernel", session.kernel},
          {"kernel_hash", session.kernel_hash},
          {"problem", session.problem.to_json()},
          {"device", session.device},
          {"method", session.method},
          {"objective", session.objective},
          {"strategy", session.strategy},
          {"budget", session.budget},
          {"seed", session.seed},
          {"where", session.where},
          {"toolchain", session.toolchain},
          {"started_utc", session.started_utc},
          {"finished_utc", session.finished_utc.empty() ? Json(nullptr) : Json(session.finished_utc)},
          {"wall_s", number(session.wall_seconds)},
          {"trials", session.trials}};
}

Json side_json(const Side& side) {
  Json sessions = Json::array();
  for (const SessionInfo& session : side.sessions) sessions.push_back(session_json(session));
  return {{"label", side.label},
          {"book", side.book},
          {"book_version", side.book_version},
          {"published", side.published},
          {"filter", labelled_json(side.filter)},
          {"environment", labelled_json(side.environment)},
          {"session_count", side.session_count},
          {"first_utc", side.first_utc},
          {"last_utc", side.last_utc},
          {"sessions", std::move(sessions)}};
}

Json key_json(const ItemKey& key) {
  return {{"kernel", key.kernel},           {"problem", key.problem.to_json()}, {"device", key.device},      {"device_key", key.device_key},
          {"device_kind", key.device_kind}, {"method", key.method},             {"objective", key.objective}};
}

void add_rates(Json& json, const Rates& rates) {
  json["gflops"] = optional_number(rates.gflops);
  json["gbps"] = optional_number(rates.gbps);
  json["percent_of_ceiling"] = optional_number(rates.percent_of_ceiling);
  json["percent_of_baseline"] = optional_number(rates.percent_of_baseline);
}

Json configuration_json(const ConfigurationRow& row) {
  Json json = {{"configuration", row.configuration.to_json()},
               {"winner", row.winner},
               {"finalist", row.finalist},
               {"in_tie_set", row.in_tie_set},
               {"origin", row.origin},
               {"evaluation", row.evaluation > 0 ? Json(row.evaluation) : Json(nullptr)},
               {"time", estimate_json(row.time)},
               {"process_medians_us", numbers(row.process_medians_us)},
               {"first_pass", estimate_json(row.first_pass)}};
  add_rates(json, row.rates);
  json["resources"] = Json(row.resources.to_json());
  json["energy_j"] = optional_number(row.energy_j);
  json["sm_clock_mhz"] = optional_number(row.sm_clock_mhz);
  json["sanitizer"] = row.sanitizer;
  json["verified_problems"] = row.verified_problems;
  return json;
}

Json baseline_json(const std::optional<BaselineResult>& baseline) {
  if (!baseline) return nullptr;
  Json json = {{"operation", baseline->operation},
               {"state", baseline_state_name(baseline->state)},
               {"name", baseline->name},
               {"message", baseline->message},
               {"time", estimate_json(baseline->time)},
               {"process_medians_us", numbers(baseline->process_medians_us)},
               {"ratio", optional_number(baseline->ratio)},
               {"ratio_ci", nullptr}};
  if (baseline->ratio_interval) json["ratio_ci"] = {number(baseline->ratio_interval->first), number(baseline->ratio_interval->second)};
  return json;
}

Json rung_json(const LadderRung& rung) {
  Json json = {{"name", rung.name},
               {"winner", rung.winner},
               {"configuration", rung.configuration.to_json()},
               {"outcome", outcome_name(rung.outcome)},
               {"message", rung.message},
               {"time", estimate_json(rung.time)}};
  add_rates(json, rung.rates);
  json["gain"] = optional_number(rung.gain);
  json["gain_in_all"] = optional_number(rung.gain_in_all);
  return json;
}

Json effect_json(const ParameterEffect& effect) {
  Json values = Json::array();
  for (const EffectValue& value : effect.values) {
    values.push_back({{"value", value.value},
                      {"trials", value.trials},
                      {"timed", value.timed},
                      {"best_us", optional_number(value.best_us)},
                      {"median_us", optional_number(value.median_us)}});
  }
  return {{"parameter", effect.parameter}, {"spread_of_best", optional_number(effect.spread_of_best)}, {"values", std::move(values)}};
}

Json trend_json(const TrendPoint& point) {
  return {{"date", point.date},
          {"session", point.session_id},
          {"session_kind", session_kind_name(point.kind)},
          {"finished_utc", point.finished_utc},
          {"time", estimate_json(point.time)},
          {"process_medians_us", numbers(point.process_medians_us)},
          {"configuration", point.configuration},
          {"kernel_hash", point.kernel_hash},
          {"configuration_changed", point.configuration_changed},
          {"kernel_changed", point.kernel_changed},
          {"environment_changed", point.environment_changed}};
}

Json trial_json(const TrialPoint& point) {
  return {{"evaluation", point.evaluation},
          {"count", point.count},
          {"outcome", outcome_name(point.outcome)},
          {"time_us", optional_number(point.time_us)},
          {"origin", point.origin},
          {"configuration", point.configuration.to_json()},
          {"message", point.message}};
}

Json best_json(const BestSoFar& best) {
  return {{"evaluation", best.evaluation}, {"time_us", number(best.time_us)}, {"configuration", best.configuration}};
}

Json expectation_json(const RandomExpectation& best) { return {{"evaluation", best.evaluation}, {"time_us", number(best.time_us)}}; }

template <class Element, class Writer>
Json list_json(const std::vector<Element>& elements, Writer&& writer) {
  Json json = Json::array();
  for (const Element& element : elements) json.push_back(writer(element));
  return json;
}

Json ceiling_json(const Item& item) {
  if (!item.ceiling) return nullptr;
  return {{"what", item.ceiling->what},
          {"phrase", item.ceiling_phrase},
          {"rate", number(item.ceiling->rate)},
          {"unit", item.ceiling->bandwidth ? "GB/s" : "GFLOP/s"},
          {"floor_us", number(item.ceiling->floor_us)}};
}

// The search that a re-timed winner comes from.
Json search_json(const Item& item) {
  if (item.search.empty()) return nullptr;
  const Item& search = item.search.front();
  return {{"session", search.session_id},
          {"strategy", search.strategy},
          {"date", search.date},
          {"finished", search.finished},
          {"top", list_json(search.top, configuration_json)},
          {"ladder", list_json(search.ladder, rung_json)},
          {"trial_count", search.trial_count},
          {"outcomes", outcomes_json(search.outcomes)},
          {"trials", list_json(search.trials, trial_json)},
          {"convergence", list_json(search.convergence, best_json)},
          {"random_expectation", list_json(search.random_expectation, expectation_json)},
          {"effects", list_json(search.effects, effect_json)},
          {"failures", failures_json(search.failures)},
          {"failure_groups", search.failure_groups}};
}

Json item_json(const Item& item) {
  Json json = key_json(item.key);
  json["session"] = item.session_id;
  json["session_kind"] = session_kind_name(item.kind());
  json["strategy"] = item.strategy;
  json["session_count"] = item.session_count;
  json["kernel_hash"] = item.kernel_hash;
  json["date"] = item.date;
  json["finished"] = item.finished;
  json["newer_unfinished"] = item.newer_unfinished;
  json["environment"] = labelled_json(item.environment);
  json["flops"] = optional_number(item.flops);
  json["bytes"] = optional_number(item.bytes);
  json["ceiling"] = ceiling_json(item);
  json["winner"] = item.winner ? configuration_json(*item.winner) : Json(nullptr);
  json["tie_set"] = item.tie_set_size;
  json["baseline"] = baseline_json(item.baseline);
  json["top"] = list_json(item.top, configuration_json);
  json["ladder"] = list_json(item.ladder, rung_json);
  json["trial_count"] = item.trial_count;
  json["outcomes"] = outcomes_json(item.outcomes);
  json["trials"] = list_json(item.trials, trial_json);
  json["convergence"] = list_json(item.convergence, best_json);
  json["random_expectation"] = list_json(item.random_expectation, expectation_json);
  json["effects"] = list_json(item.effects, effect_json);
  json["failures"] = failures_json(item.failures);
  json["failure_groups"] = item.failure_groups;
  json["cost"] = cost_json(item.cost);
  json["trend"] = list_json(item.trend, trend_json);
  json["reproduction"] = {{"command", item.reproduction.command},         {"book", item.reproduction.book},
                          {"session", item.reproduction.session_id},      {"kernel_hash", item.reproduction.kernel_hash},
                          {"toolchain", item.reproduction.toolchain},     {"seed", item.reproduction.seed}};
  json["search"] = search_json(item);
  return json;
}

// What a report says, with or without the head that stands before it in a file of its own.
void add_report(Json& json, const Report& report) {
  json["title"] = report.title;
  json["summary"] = report.summary;
  json["notes"] = report.notes;
  json["side"] = side_json(report.side);
  json["trial_count"] = report.trial_count;
  json["outcomes"] = outcomes_json(report.outcomes);
  json["cost"] = cost_json(report.cost);
  json["failures"] = failures_json(report.failures);
  json["failure_groups"] = report.failure_groups;
  json["items"] = list_json(report.items, item_json);
}

Json head_json(const char* kind, const std::string& version, const std::string& generated_utc, const std::string& command) {
  return {{"tunebook_report", kReportJsonVersion}, {"kind", kind}, {"tunebook_version", version}, {"generated_utc", generated_utc}, {"command", command}};
}

Json compared_json(const ComparedItem& item) {
  Json json = key_json(item.key);
  json["base"] = or_null(item.base);
  json["candidate"] = or_null(item.candidate);
  json["base_time"] = estimate_json(item.base_time);
  json["candidate_time"] = estimate_json(item.candidate_time);
  json["base_processes"] = item.base_processes;
  json["candidate_processes"] = item.candidate_processes;
  json["change"] = optional_number(item.change);
  json["change_ci"] = item.change_low && item.change_high ? Json({number(*item.change_low), number(*item.change_high)}) : Json(nullptr);
  json["base_energy_j"] = optional_number(item.base_energy_j);
  json["candidate_energy_j"] = optional_number(item.candidate_energy_j);
  json["energy_change"] = optional_number(item.energy_change);
  json["p"] = optional_number(item.p);
  json["holm_p"] = optional_number(item.holm_p);
  json["threshold"] = number(item.threshold);
  json["noise"] = number(item.noise);
  json["noise_nights"] = item.noise_nights;
  json["gate"] = number(item.gate);
  json["verdict"] = verdict_name(item.verdict);
  json["reason"] = item.reason;
  json["same_session"] = item.same_session;
  json["same_configuration"] = item.same_configuration;
  json["kernel_changed"] = item.kernel_changed;
  json["remeasured"] = item.remeasured;
  json["configuration_differences"] = list_json(item.configuration_differences, [](const ConfigurationDifference& difference) {
    return Json{{"parameter", difference.parameter}, {"base", difference.base}, {"candidate", difference.candidate}};
  });
  return json;
}

Json settings_json(const ComparisonSettings& settings) {
  Json thresholds = Json::object();
  for (const auto& [kernel, threshold] : settings.kernel_thresholds) thresholds[kernel] = number(threshold);
  return {{"threshold", number(settings.threshold)},
          {"kernel_thresholds", std::move(thresholds)},
          {"fail_on", fail_on_name(settings.fail_on)},
          {"allow_different", settings.allow_different}};
}

}  // namespace

Json to_json(const Report& report) {
  Json json = head_json("report", report.tunebook_version, report.generated_utc, report.command);
  add_report(json, report);
  return json;
}

Json to_json(const Comparison& comparison) {
  Json json = head_json("comparison", comparison.candidate.tunebook_version, comparison.generated_utc, comparison.command);
  json["title"] = comparison.title;
  json["verdict_line"] = comparison.verdict_line;
  json["exit_code"] = comparison.exit_code;
  json["gate_refused"] = comparison.gate_refused;
  json["worst"] = or_null(comparison.worst);
  Json counts = Json::object();
  for (const auto& [verdict, count] : comparison.counts) counts[std::string(verdict_name(verdict))] = count;
  json["counts"] = std::move(counts);
  json["settings"] = settings_json(comparison.settings);
  json["notes"] = comparison.notes;
  json["differences"] = list_json(comparison.differences, [](const EnvironmentDifference& difference) {
    return Json{{"label", difference.label}, {"base", difference.base}, {"candidate", difference.candidate}, {"matters", difference.matters}, {"allowed", difference.allowed}};
  });
  json["items"] = list_json(comparison.items, compared_json);
  for (const auto& [name, report] : {std::pair("base", &comparison.base), std::pair("candidate", &comparison.candidate)}) {
    Json side = Json::object();
    add_report(side, *report);
    json[name] = std::move(side);
  }
  return json;
}

std::string json_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n'; }

}  // namespace tunebook::reports
