#include "cli/sweep_preview.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/terminal.h"
#include "sweep/forecast.h"

namespace tunebook::cli {
namespace {

constexpr std::array kActions = {Action::go_on, Action::tune, Action::retime, Action::fresh};

std::map<Action, std::size_t> counts_of(const FrozenPlan& plan) {
  std::map<Action, std::size_t> counts;
  for (const FrozenItem& frozen : plan.items) ++counts[frozen.decision.action];
  return counts;
}

std::optional<double> time_left(const SweepPreview& preview) {
  if (!preview.deadline) return std::nullopt;
  return std::max(0.0, *preview.deadline - preview.now);
}

std::string local_time(double seconds) {
  const auto moment = static_cast<std::time_t>(seconds);
  std::tm local{};
  localtime_r(&moment, &local);
  char text[32];
  std::strftime(text, sizeof text, "%a %H:%M", &local);
  return text;
}

// What is run first stands first, what is fresh last.
std::vector<std::size_t> shown_order(const FrozenPlan& plan) {
  std::vector<std::size_t> all(plan.items.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return work_order(plan.items, std::move(all));
}

std::string device_text(const SweepItem& item) {
  if (!item.is_replay()) return item.device;
  const std::string path = item.replay_path();
  return "replay:" + path.substr(path.rfind('/') + 1);
}

std::string verdict(const Forecast& forecast, const SweepPreview& preview) {
  if (forecast.to_run == 0) return "nothing is to be run";
  if (!preview.deadline) return "there is no limit of time (--time, --until)";
  const double left = *time_left(preview);
  if (forecast.in_time == forecast.to_run) return fmt::format("fits into the {} until {}", format_duration(left), local_time(*preview.deadline));
  return fmt::format("does not fit into the {} until {}: {} of {} sessions are expected to end in time, those with the most gain per second first",
                     format_duration(left), local_time(*preview.deadline), forecast.in_time, forecast.to_run);
}

}  // namespace

nlohmann::ordered_json to_json(const SweepPreview& preview) {
  const FrozenPlan& plan = preview.prepared.plan;
  const Forecast expected = forecast(plan.items, time_left(preview));
  nlohmann::ordered_json json{{"plan", preview.plan.file}, {"name", plan.name}, {"plan_hash", plan.plan_hash}, {"book", preview.book}, {"dry_run", true}};
  const auto counts = counts_of(plan);
  for (const Action action : kActions) json["sessions"][std::string(action_name(action))] = counts.contains(action) ? counts.at(action) : 0;
  json["duplicates"] = preview.plan.duplicates;
  json["expected_s"] = expected.seconds;
  json["device_s"] = expected.device_seconds;
  json["time_s"] = preview.deadline ? nlohmann::ordered_json(*time_left(preview)) : nlohmann::ordered_json(nullptr);
  json["fits"] = expected.in_time == expected.to_run;
  json["in_time"] = expected.in_time;
  json["items"] = nlohmann::ordered_json::array();
  for (const std::size_t index : shown_order(plan)) {
    const FrozenItem& frozen = plan.items[index];
    json["items"].push_back({{"id", frozen.item.id()},
                             {"kernel", frozen.item.kernel},
                             {"problem", frozen.item.problem.to_json()},
                             {"device", frozen.item.device},
                             {"action", action_name(frozen.decision.action)},
                             {"reason", frozen.decision.reason},
                             {"expected_s", frozen.estimate.seconds},
                             {"expected_gain", frozen.estimate.gain},
                             {"basis", frozen.estimate.basis},
                             {"priority", frozen.item.settings.priority}});
  }
  json["notes"] = preview.plan.notes;
  for (const std::string& note : preview.prepared.notes) json["notes"].push_back(note);
  return json;
}

void print(const SweepPreview& preview) {
  const FrozenPlan& plan = preview.prepared.plan;
  TextTable table;
  table.header = {"", "kernel", "problem", "device", "expected", "gain", "why"};
  table.right = {false, false, false, false, true, true, false};
  for (const std::size_t index : shown_order(plan)) {
    const FrozenItem& frozen = plan.items[index];
    const bool fresh = frozen.decision.action == Action::fresh;
    table.rows.push_back({std::string(action_name(frozen.decision.action)), frozen.item.kernel, frozen.item.problem.display(), device_text(frozen.item),
                          fresh ? "" : format_duration(frozen.estimate.seconds), fresh ? "" : fmt::format("{:.1f} %", 100 * frozen.estimate.gain),
                          frozen.decision.reason});
  }
  fmt::print("{}\n", terminal_text(table));
  const auto counts = counts_of(plan);
  std::string summary;
  for (const Action action : kActions) {
    if (counts.contains(action)) summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", counts.at(action), action_name(action));
  }
  const Forecast expected = forecast(plan.items, time_left(preview));
  fmt::print("sessions: {}\n", summary);
  std::string devices;
  for (const auto& [device, seconds] : expected.device_seconds) devices += fmt::format("{}{} {}", devices.empty() ? "" : ", ", device, format_duration(seconds));
  if (expected.to_run > 0) fmt::print("expected: {}\n", devices);
  fmt::print("{}\n", verdict(expected, preview));
  fmt::print("book: {}\n", preview.book);
}

}  // namespace tunebook::cli
