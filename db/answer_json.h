#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "tunebook/lookup.h"

namespace tunebook {

// Named values as a JSON object, in their order.
nlohmann::ordered_json to_json(const LookupValues& values);
// What is known of the identity; with `limits` also the limits that are known.
nlohmann::ordered_json to_json(const DeviceKey& key, bool limits = false);
// {"configuration", "tier", "distance", "problem", "device", "stale", "median_us", "ci_us", "session", "tuned_at_utc", "kernel_hash", "objective",
// "method", "registers_per_thread", "shared_bytes", "expected_loss", "loss_bound", "predicted_us", "source", "shipped_tier"}; null where
// not known or, for default, not applicable.
nlohmann::ordered_json to_json(const Answer& answer);
// {"answer", "considered": [{"tier", "obstacle", "reason", "candidate"}], "left_out"}; a tier of null: it belongs to none.
nlohmann::ordered_json to_json(const Explanation& explanation);
// On one line; bytes that are no UTF-8 are replaced.
std::string to_json_line(const nlohmann::ordered_json& json);

}  // namespace tunebook
