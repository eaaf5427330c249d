#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "sweep/session_process.h"

namespace tunebook {

// What the end of a session's process means for its sweep.
struct SessionOutcome {
  enum class Kind {
    finished,       // `result` is what it found
    nothing_stands, // it was to time the standing winner anew, and there is none
    bad_input,      // trying again does not help
    no_device,      // it could not open its device
    no_room,        // the disk is full
    lost,           // anything else: it crashed, was killed, or found its surroundings broken
  };
  Kind kind = Kind::lost;
  nlohmann::ordered_json result;  // finished: the object that `tune --json` printed
  std::string message;            // others: what to tell, in one line
};

// `book`: the disk that it is on is looked at when a session failed.
SessionOutcome session_outcome(const SessionExit& exit, const std::filesystem::path& book);

// The part of a result that a sweep keeps.
nlohmann::ordered_json shortened(const nlohmann::ordered_json& result);
// Seconds for which the session's device ran kernels: verification and timing of trials, and the finalists.
double busy_seconds(const nlohmann::ordered_json& result);

}  // namespace tunebook
