#include "db/answer_json.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

namespace tunebook {
namespace {

template <class Number>
nlohmann::ordered_json or_null(const std::optional<Number>& number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
}

}  // namespace

nlohmann::ordered_json to_json(const LookupValues& values) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : values) {
    std::visit([&json, &name = name](const auto& held) { json[name] = held; }, value);
  }
  return json;
}

nlohmann::ordered_json to_json(const DeviceKey& key, bool limits) {
  nlohmann::ordered_json json{{"kind", key.kind}};
  const auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) json[name] = value;
  };
  const auto number = [&](const char* name, std::int64_t value) {
    if (value != 0) json[name] = value;
  };
  text("name", key.name);
  number("compute_capability", key.compute_capability);
  text("instruction_set", key.instruction_set);
  number("sm_count", key.sm_count);
  number("memory_gib", key.memory_gib);
  text("host_compiler", key.host_compiler);
  if (limits) {
    number("max_threads_per_block", key.max_threads_per_block);
    number("shared_bytes_per_block_optin", key.shared_bytes_per_block_optin);
    number("registers_per_block", key.registers_per_block);
  }
  return json;
}

nlohmann::ordered_json to_json(const Answer& answer) {
  nlohmann::ordered_json json;
  json["configuration"] = to_json(answer.configuration);
  json["tier"] = tier_name(answer.tier);
  json["distance"] = answer.distance;
  const bool tuned = answer.tier != Tier::preset_default;
  json["problem"] = tuned ? to_json(answer.problem) : nlohmann::ordered_json(nullptr);
  json["device"] = tuned ? to_json(answer.device, true) : nlohmann::ordered_json(nullptr);
  json["stale"] = stale_name(answer.stale);
  json["median_us"] = or_null(answer.median_us);
  json["ci_us"] = answer.ci_low_us && answer.ci_high_us ? nlohmann::ordered_json{*answer.ci_low_us, *answer.ci_high_us}
                                                        : nlohmann::ordered_json(nullptr);
  json["session"] = answer.session;
  json["tuned_at_utc"] = answer.tuned_at_utc;
  json["kernel_hash"] = answer.kernel_hash;
  json["objective"] = answer.objective;
  json["method"] = answer.method;
  json["registers_per_thread"] = or_null(answer.registers_per_thread);
  json["shared_bytes"] = or_null(answer.shared_bytes);
  json["expected_loss"] = or_null(answer.expected_loss);
  json["loss_bound"] = or_null(answer.loss_bound);
  json["predicted_us"] = or_null(answer.predicted_us);
  json["source"] = answer.source;
  json["shipped_tier"] =
      answer.shipped_tier ? nlohmann::ordered_json(tier_name(*answer.shipped_tier)) : nlohmann::ordered_json(nullptr);
  return json;
}

nlohmann::ordered_json to_json(const Explanation& explanation) {
  nlohmann::ordered_json json;
  json["answer"] = explanation.answer != nullptr ? to_json(*explanation.answer) : nlohmann::ordered_json(nullptr);
  nlohmann::ordered_json considered = nlohmann::ordered_json::array();
  for (const Consideration& one : explanation.considered) {
    nlohmann::ordered_json entry;
    entry["tier"] = one.in_a_tier ? nlohmann::ordered_json(tier_name(one.candidate.tier)) : nlohmann::ordered_json(nullptr);
    entry["obstacle"] = obstacle_name(one.obstacle);
    entry["reason"] = one.reason;
    entry["candidate"] = to_json(one.candidate);
    if (!one.in_a_tier) {
      entry["candidate"]["tier"] = nullptr;
    }
    considered.push_back(std::move(entry));
  }
  json["considered"] = std::move(considered);
  json["left_out"] = explanation.left_out;
  return json;
}

std::string to_json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace tunebook
