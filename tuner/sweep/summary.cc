#include "sweep/summary.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/statistics.h"

namespace tunebook {
namespace {

constexpr ItemStatus kOrder[] = {ItemStatus::done,   ItemStatus::cut,       ItemStatus::fresh,   ItemStatus::no_winner, ItemStatus::failed,
                                 ItemStatus::no_device, ItemStatus::no_room, ItemStatus::no_time, ItemStatus::pending};
constexpr std::size_t kListed = 20;  // of each kind, in the text

const char* description(ItemStatus status) {
  switch (status) {
    case ItemStatus::pending: return "not begun";
    case ItemStatus::fresh: return "fresh";
    case ItemStatus::done: return "done";
    case ItemStatus::cut: return "cut at their time limit";
    case ItemStatus::no_winner: return "without a winner";
    case ItemStatus::failed: return "failed";
    case ItemStatus::no_time: return "without time";
    case ItemStatus::no_device: return "without a device";
    case ItemStatus::no_room: return "without room on the disk";
  }
  return "?";
}

std::vector<double> medians(const nlohmann::ordered_json& result, const char* which) {
  const auto part = result.find(which);
  if (part == result.end() || !part->is_object()) return {};
  std::vector<double> values;
  for (const auto& value : part->value("process_medians_us", nlohmann::ordered_json::array())) {
    if (value.is_number()) values.push_back(value.get<double>());
  }
  return values;
}

// A session whose objective is energy is judged by that.
std::vector<double> objective_values(const nlohmann::ordered_json& result, const char* which, bool energy) {
  if (!energy) return medians(result, which);
  const auto part = result.find(which);
  if (part == result.end() || !part->is_object() || !part->contains("energy_j")) return {};
  return {part->at("energy_j").get<double>()};
}

nlohmann::ordered_json result_json(const SweepState& state, std::size_t index) {
  const FrozenItem& frozen = state.plan.items[index];
  const ItemState& item = state.items[index];
  nlohmann::ordered_json json;
  json["id"] = frozen.item.id();
  json["item"] = frozen.item.display();
  json["action"] = action_name(item.tune_instead ? Action::tune : frozen.decision.action);
  json["why"] = frozen.decision.reason;
  json["status"] = item_status_name(item.status);
  json["attempts"] = item.attempts;
  json["reason"] = item.reason;
  for (const char* key : {"session", "winner", "previous", "measured", "wall_s", "device"}) {
    json[key] = item.result.is_object() && item.result.contains(key) ? item.result[key] : nlohmann::ordered_json(nullptr);
  }
  return json;
}

double share(const DeviceWork& work) { return work.available_s > 0 ? std::min(1.0, work.busy_s / work.available_s) : 0; }

}  // namespace

std::string_view sweep_end_name(SweepEnd end) {
  switch (end) {
    case SweepEnd::complete: return "complete";
    case SweepEnd::deadline: return "deadline";
    case SweepEnd::interrupted: return "interrupted";
    case SweepEnd::no_room: return "no_room";
  }
  return "?";
}

std::vector<Regression> regressions(const SweepState& state) {
  std::vector<Regression> found;
  for (std::size_t i = 0; i < state.items.size(); ++i) {
    const nlohmann::ordered_json& result = state.items[i].result;
    if (!result.is_object()) continue;
    const bool energy = state.plan.items[i].item.settings.objective == Objective::energy;
    const std::vector<double> before = medians(result, "previous"), now = medians(result, "winner");
    const auto slowdown = slower_than_before(objective_values(result, "previous", energy), objective_values(result, "winner", energy));
    if (slowdown && !before.empty() && !now.empty()) found.push_back({i, median(before), median(now), *slowdown});
  }
  return found;
}

std::map<ItemStatus, std::size_t> count_items(const SweepState& state) {
  std::map<ItemStatus, std::size_t> counts;
  for (const ItemState& item : state.items) ++counts[item.status];
  return counts;
}

int sweep_exit_code(const SweepState& state, SweepEnd end) {
  if (end == SweepEnd::interrupted || end == SweepEnd::no_room) return 1;
  const auto counts = count_items(state);
  for (const ItemStatus status : {ItemStatus::no_winner, ItemStatus::failed, ItemStatus::no_device, ItemStatus::no_room}) {
    if (counts.contains(status)) return 1;
  }
  return regressions(state).empty() ? 0 : 3;
}

nlohmann::ordered_json summary_json(const SweepState& state, SweepEnd end, const std::string& book, const std::string& ended_utc) {
  nlohmann::ordered_json json;
  json["sweep"] = state.id;
  json["plan"] = state.plan.name;
  json["book"] = book;
  json["started_utc"] = state.start_utc;
  json["ended_utc"] = ended_utc;
  json["ended"] = sweep_end_name(end);
  json["exit_code"] = sweep_exit_code(state, end);
  json["wall_s"] = state.wall_s;
  json["runs"] = state.runs;
  const auto counts = count_items(state);
  json["items"] = {{"all", state.items.size()}};
  for (const ItemStatus status : kOrder) json["items"][std::string(item_status_name(status))] = counts.contains(status) ? counts.at(status) : 0;
  json["devices"] = nlohmann::ordered_json::array();
  for (const auto& [key, work] : state.devices) {
    json["devices"].push_back({{"device", work.name},
                               {"sessions", work.sessions},
                               {"session_s", work.session_s},
                               {"busy_s", work.busy_s},
                               {"available_s", work.available_s},
                               {"busy_share", share(work)},
                               {"out", work.out_reason}});
  }
  json["regressions"] = nlohmann::ordered_json::array();
  for (const Regression& regression : regressions(state)) {
    json["regressions"].push_back({{"item", state.plan.items[regression.item].item.display()},
                                   {"before_us", regression.before_us},
                                   {"now_us", regression.now_us},
                                   {"ratio", regression.slowdown.ratio},
                                   {"allowed", regression.slowdown.allowed}});
  }
  json["results"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < state.items.size(); ++i) json["results"].push_back(result_json(state, i));
  return json;
}

std::string summary_text(const SweepState& state, SweepEnd end) {
  std::string text = fmt::format("sweep {}: {}", state.plan.name, end == SweepEnd::complete ? "complete" : sweep_end_name(end));
  const auto counts = count_items(state);
  std::string parts;
  for (const ItemStatus status : kOrder) {
    if (counts.contains(status)) parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", counts.at(status), description(status));
  }
  text += fmt::format("; of {} sessions {}\n", state.items.size(), parts.empty() ? "none" : parts);
  for (const auto& [key, work] : state.devices) {
    text += fmt::format("  {}: {} sessions in {:.1f} s, running kernels {:.0f} % of {:.1f} s{}\n", work.name, work.sessions, work.session_s, 100 * share(work),
                        work.available_s, work.out_reason.empty() ? "" : "; not used any more: " + work.out_reason.substr(0, work.out_reason.find('\n')));
  }
  for (const ItemStatus status : {ItemStatus::failed, ItemStatus::no_winner}) {
    std::size_t listed = 0;
    for (std::size_t i = 0; i < state.items.size(); ++i) {
      if (state.items[i].status != status) continue;
      if (++listed > kListed) {
        text += fmt::format("  and {} more {}\n", counts.at(status) - kListed, description(status));
        break;
      }
      text += fmt::format("  {}: {}: {}\n", description(status), state.plan.items[i].item.display(), state.items[i].reason.substr(0, state.items[i].reason.find('\n')));
    }
  }
  for (const Regression& regression : regressions(state)) {
    text += fmt::format("  slower than before: {}: {:.4g} us, before {:.4g} us: {:+.1f} %, beyond {:.1f} %\n",
                        state.plan.items[regression.item].item.display(), regression.now_us, regression.before_us,
                        100 * (regression.slowdown.ratio - 1), 100 * (regression.slowdown.allowed - 1));
  }
  return text;
}

}  // namespace tunebook
