#include "sweep/decision.h"

#include <array>
#include <cstdint>
#include <utility>

#include "core/error.h"
#include "sweep/member_reader.h"

namespace tunebook {
namespace {

constexpr std::array<std::pair<Action, std::string_view>, 4> kActions = {{
    {Action::tune, "tune"}, {Action::retime, "retime"}, {Action::go_on, "continue"}, {Action::fresh, "fresh"}}};
constexpr double kMostSeconds = 1e12;  // anything larger is damage, as with these two
constexpr double kMostNoise = 1e12;
constexpr std::int64_t kMostNights = 1'000'000;

}  // namespace

std::string_view action_name(Action action) {
  for (const auto& [known, name] : kActions) {
    if (known == action) return name;
  }
  return "?";
}

nlohmann::ordered_json Decision::to_json() const {
  return {{"action", action_name(action)}, {"reason", reason}, {"remeasure", remeasure}, {"session", session}, {"standing_winner", standing_winner}};
}

Decision Decision::from_json(const nlohmann::ordered_json& json, const std::string& where) {
  MemberReader reader(json, where);
  Decision decision;
  const std::string name = reader.text("action");
  bool known = false;
  for (const auto& [action, action_text] : kActions) {
    if (name != action_text) continue;
    decision.action = action;
    known = true;
  }
  if (!known) reader.fail("action", "\"tune\", \"retime\", \"continue\" or \"fresh\"");
  decision.reason = reader.text("reason");
  decision.remeasure = reader.boolean("remeasure");
  decision.session = reader.text("session");
  decision.standing_winner = reader.text("standing_winner");
  reader.finish();
  return decision;
}

nlohmann::ordered_json Estimate::to_json() const { return {{"seconds", seconds}, {"gain", gain}, {"basis", basis}}; }

Estimate Estimate::from_json(const nlohmann::ordered_json& json, const std::string& where) {
  MemberReader reader(json, where);
  Estimate estimate;
  estimate.seconds = reader.number("seconds", 0, kMostSeconds);
  estimate.gain = reader.number("gain", 0, 1);
  estimate.basis = reader.text("basis");
  reader.finish();
  return estimate;
}

nlohmann::ordered_json NightNoise::to_json() const { return {{"share", share}, {"nights", nights}}; }

NightNoise NightNoise::from_json(const nlohmann::ordered_json& json, const std::string& where) {
  MemberReader reader(json, where);
  NightNoise noise;
  noise.share = reader.number("share", 0, kMostNoise);
  noise.nights = static_cast<std::size_t>(reader.integer("nights", 0, kMostNights));
  reader.finish();
  return noise;
}

}  // namespace tunebook
