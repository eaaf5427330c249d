#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace tunebook {

// The strategy name under which a session is stored that only verified and timed the standing winner (Action::retime): its winner is
// that configuration with new times, so that a lookup and `compare` see them; it does not count as a search. Its budget is "0".
inline constexpr std::string_view kRetimeStrategy = "retime";

// What a sweep does about an item.
enum class Action {
  tune,       // a whole session
  retime,     // verifies and times the standing winner again: a session with no search
  go_on,      // a session that was interrupted is taken up
  fresh,      // nothing: the book's answer is good
};
std::string_view action_name(Action action);  // "tune", "retime", "continue", "fresh"

struct Decision {
  Action action = Action::tune;
  std::string reason;         // for people: "never tuned", "the driver changed (580.1 -> 590.2)", "timed 3 h ago"
  // tune, go_on: the book may hold a finished session of the same identity that is too old to be the answer (TuneOptions::remeasure).
  bool remeasure = false;
  std::string session;        // the book's session that the decision rests on: the one to go on with or to time again; else ""
  // What the session looks up the standing winner of, from the book: canonical text; "" if there is none. For showing only.
  std::string standing_winner;

  nlohmann::ordered_json to_json() const;
  static Decision from_json(const nlohmann::ordered_json& json, const std::string& where);  // throws InputError
  friend bool operator==(const Decision&, const Decision&) = default;
};

// What running an item is expected to cost and to bring. Both are guesses from the book's history; they order and divide work, nothing more.
struct Estimate {
  double seconds = 0;         // wall time on one device; 0 for Action::fresh
  double gain = 0;            // by how much the time of a launch is expected to fall, a share in [0, 1]
  std::string basis;          // where the seconds come from: "12 sessions of this kernel on this device", "no history"

  nlohmann::ordered_json to_json() const;
  static Estimate from_json(const nlohmann::ordered_json& json, const std::string& where);  // throws InputError
  friend bool operator==(const Estimate&, const Estimate&) = default;
};

// How much an item's times moved from night to night before the sweep, though nothing about it had changed: reports::HistoricalNoise. What is
// no more than that is no regression.
struct NightNoise {
  double share = 0;           // 0 if there are too few nights
  std::size_t nights = 0;

  nlohmann::ordered_json to_json() const;
  static NightNoise from_json(const nlohmann::ordered_json& json, const std::string& where);  // throws InputError
  friend bool operator==(const NightNoise&, const NightNoise&) = default;
};

}  // namespace tunebook
