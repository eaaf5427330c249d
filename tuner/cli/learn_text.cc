#include "cli/learn_text.h"

#include <fmt/format.h>

#include "cli/terminal.h"

namespace tunebook::cli {
namespace {

using State = learn::LearnedGroup::State;

// A prefix of the hash tells versions of one kernel apart.
std::string version(const std::string& hash) { return hash.substr(0, 8); }

}  // namespace

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string learned_text(const learn::LearnedBook& learned) {
  TextTable table;
  table.header = {"kernel",        "version", "device",     "dtype",         "method",
                  "problems",      "trials",  "candidates", "expected loss", "80 % bound",
                  "nearest loses", "bytes",   "state"};
  table.right = {false, false, false, false, false, true, true,
                 true,  true,  true,  true,  true,  false};
  std::string without;
  for (const learn::LearnedGroup& one : learned.groups) {
    if (one.state == State::none) {
      without += fmt::format("no model: {} {} {} {} {}: {}\n", one.kernel, version(one.kernel_hash),
                             one.device, one.dtype, one.method, one.reason);
      continue;
    }
    table.rows.push_back({one.kernel, version(one.kernel_hash), one.device, one.dtype, one.method,
                          std::to_string(one.problems), std::to_string(one.trials),
                          std::to_string(one.candidates), percent(one.expected_loss),
                          percent(one.loss_bound), percent(one.nearest_loss),
                          std::to_string(one.bytes), state_name(one.state)});
  }
  return (table.rows.empty() ? std::string() : terminal_text(table)) + without;
}

nlohmann::ordered_json learned_json(const learn::LearnedBook& learned) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const learn::LearnedGroup& one : learned.groups) {
    nlohmann::ordered_json row = {{"kernel", one.kernel},        {"kernel_hash", one.kernel_hash},
                                  {"device", one.device},        {"dtype", one.dtype},
                                  {"method", one.method},        {"state", state_name(one.state)},
                                  {"problems", one.problems},    {"trials", one.trials},
                                  {"candidates", one.candidates}};
    const bool has_model = one.state != State::none;
    row["expected_loss"] = has_model ? nlohmann::ordered_json(one.expected_loss) : nullptr;
    row["loss_bound"] = has_model ? nlohmann::ordered_json(one.loss_bound) : nullptr;
    row["nearest_loss"] = has_model ? nlohmann::ordered_json(one.nearest_loss) : nullptr;
    row["bytes"] = one.bytes;
    row["reason"] = one.reason;
    row["wall_s"] = one.seconds;
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace tunebook::cli
