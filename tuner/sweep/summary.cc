#include "sweep/summary.h"

#include <algorithm>

#include <fmt/format.h>

#include "sweep/cover_planner.h"

namespace tunebook {
namespace {

constexpr ItemStatus kOrder[] = {ItemStatus::done,   ItemStatus::cut,       ItemStatus::fresh,   ItemStatus::no_winner, ItemStatus::failed,
                                 ItemStatus::no_device, ItemStatus::no_room, ItemStatus::interrupted, ItemStatus::no_time, ItemStatus::pending};
constexpr std::size_t kListed = 20;  // of each kind, in the text

const char* description(ItemStatus status) {
  switch (status) {
    case ItemStatus::pending: return "not begun";
    case ItemStatus::fresh: return "fresh";
    case ItemStatus::done: return "done";
    case ItemStatus::cut: return "cut at their time limit";
    case ItemStatus::interrupted: return "begun and interrupted";
    case ItemStatus::no_winner: return "without a winner";
    case ItemStatus::failed: return "failed";
    case ItemStatus::no_time: return "not begun for want of time";
    case ItemStatus::no_device: return "without a device";
    case ItemStatus::no_room: return "without room on the disk";
  }
  return "?";
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

std::vector<NightComparison> compare_nights(const SweepState& state) {
  std::vector<const nlohmann::ordered_json*> results;
  for (const ItemState& item : state.items) results.push_back(&item.result);
  return compare_nights(state.plan, results);
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
  return with_verdict(compare_nights(state), reports::Verdict::regression).empty() ? 0 : 3;
}

nlohmann::ordered_json summary_json(const SweepState& state, SweepEnd end, const std::string& book, const std::string& ended_utc) {
  nlohmann::ordered_json json;
  json["tunebook_sweep_summary"] = kSummaryVersion;
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
  if (!state.regions.is_null()) json["regions"] = state.regions;
  const std::vector<NightComparison> comparisons = compare_nights(state);
  add_verdicts(json, state.plan, comparisons);
  json["results"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < state.items.size(); ++i) {
    nlohmann::ordered_json result = result_json(state, i);
    result["comparison"] = nullptr;
    json["results"].push_back(std::move(result));
  }
  for (const NightComparison& comparison : comparisons) json["results"][comparison.item]["comparison"] = comparison.to_json(state.plan);
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
  for (const ItemStatus status : {ItemStatus::failed, ItemStatus::no_winner, ItemStatus::interrupted}) {
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
  return text + regions_text(state.regions) + verdicts_text(state.plan, compare_nights(state));
}

}  // namespace tunebook
