#include "sweep/status.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

#include <unistd.h>

#include <fmt/format.h>

#include "sweep/atomic_file.h"
#include "sweep/summary.h"

namespace tunebook {

void LaneProgress::take(const nlohmann::json& line) {
  const auto text_of = [&](const char* name, std::string& value) {
    if (const auto found = line.find(name); found != line.end() && found->is_string()) value = found->get<std::string>();
  };
  const auto count_of = [&](const char* name, std::int64_t& value) {
    if (const auto found = line.find(name); found != line.end() && found->is_number_integer()) value = found->get<std::int64_t>();
  };
  text_of("stage", step);
  text_of("step", step);
  count_of("done", done);
  count_of("total", total);
  if (const auto found = line.find("best_us"); found != line.end() && found->is_number()) best_us = found->get<double>();
}

std::string LaneProgress::text() const { return total > 0 ? fmt::format("{} {}/{}", step, done, total) : step; }

nlohmann::ordered_json SweepStatus::to_json(const SweepState& state, double now) const {
  nlohmann::ordered_json json;
  json["sweep"] = state.id;
  json["plan"] = state.plan.name;
  json["pid"] = ::getpid();
  json["state"] = ended.empty() ? "running" : ended;
  json["heartbeat_utc"] = utc_text(now);
  json["started_utc"] = state.start_utc;
  json["deadline_utc"] = state.deadline ? nlohmann::ordered_json(utc_text(*state.deadline)) : nlohmann::ordered_json(nullptr);
  json["remaining_s"] = ended.empty() ? remaining_s : 0;
  json["items"] = {{"all", state.items.size()}};
  for (const auto& [status, count] : count_items(state)) json["items"][std::string(item_status_name(status))] = count;
  json["devices"] = nlohmann::ordered_json::array();
  for (const LaneStatus& lane : lanes) {
    nlohmann::ordered_json entry = {{"device", lane.name}, {"state", lane.state}};
    if (!lane.item.empty()) {
      entry["item"] = lane.item;
      entry["step"] = lane.progress.step;
      entry["done"] = lane.progress.done;
      entry["total"] = lane.progress.total;
      entry["best_us"] = lane.progress.best_us ? nlohmann::ordered_json(*lane.progress.best_us) : nlohmann::ordered_json(nullptr);
      entry["seconds"] = lane.seconds;
    }
    json["devices"].push_back(std::move(entry));
  }
  json["resume_command"] = resume_command;
  return json;
}

void SweepStatus::save(const SweepState& state, const std::filesystem::path& file) const {
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  write_atomically(file, to_json(state, now).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

std::string utc_text(double seconds) {
  const auto whole = static_cast<std::time_t>(std::floor(seconds));
  const auto microseconds = static_cast<int>(std::clamp((seconds - static_cast<double>(whole)) * 1e6, 0.0, 999'999.0));
  std::tm utc{};
  gmtime_r(&whole, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                     utc.tm_sec, microseconds);
}

}  // namespace tunebook
