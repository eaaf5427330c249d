#include "sweep/plan_settings.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "search/strategy.h"
#include "session/device_choice.h"
#include "sweep/item_limits.h"
#include "sweep/plan_keys.h"

namespace tunebook {
namespace {

std::optional<double> read_number(SpecReader& reader, const SpecNode& node, double least, double most, const char* or_else = "") {
  if (node.json.is_number()) {
    const auto number = node.json.get<double>();
    if (number >= least && number <= most) return number;
  }
  reader.wrong(node, fmt::format("a number from {} to {}{}", least, most, or_else));
  return std::nullopt;
}

// One of two words: true for the second.
std::optional<bool> read_second_of(SpecReader& reader, const SpecNode& node, const std::string& first, const std::string& second) {
  const std::string text = node.json.is_string() ? node.json.get<std::string>() : "";
  if (text == first || text == second) return text == second;
  reader.wrong(node, fmt::format("\"{}\" or \"{}\"", first, second), did_you_mean(text, {first, second}));
  return std::nullopt;
}

// "retune_after_days": days or "never".
std::optional<double> read_retune(SpecReader& reader, const SpecNode& node, std::optional<double> otherwise) {
  if (node.json == "never") return std::nullopt;
  const auto days = read_number(reader, node, 0, kMaxDays, " or \"never\"");
  return days ? days : otherwise;
}

// "retime": "always", "never" or days.
std::optional<double> read_retime(SpecReader& reader, const SpecNode& node, std::optional<double> otherwise) {
  if (node.json == "never") return std::nullopt;
  if (node.json == "always") return 0;
  const auto days = read_number(reader, node, 0, kMaxDays, ", \"always\" or \"never\"");
  return days ? days : otherwise;
}

FreshnessRule read_freshness(SpecReader& reader, const SpecNode& node, FreshnessRule rule) {
  if (!reader.object(node, plan_object("freshness"))) return rule;
  if (node.find("retune_after_days")) rule.retune_after_days = read_retune(reader, node.at("retune_after_days"), rule.retune_after_days);
  if (node.find("retime")) rule.retime_after_days = read_retime(reader, node.at("retime"), rule.retime_after_days);
  return rule;
}

// A plan names its devices: what "the best one present" is may change from night to night, and with it every result.
std::optional<std::string> read_device(const std::string& text, const std::string& folder, std::string& fault) {
  if (text == "cuda") return text;
  try {
    DeviceChoice choice = DeviceChoice::parse(text);
    if (choice.kind == DeviceChoice::Kind::replay) choice.argument = plan_path(choice.argument, folder);
    if (choice.kind != DeviceChoice::Kind::automatic) return choice.text();
  } catch (const InputError&) {
    // Said below, with what a plan may have.
  }
  fault = fmt::format("found {}, expected cuda (any GPU), cuda:N, cpu or replay:PATH{}", in_quotes(text), did_you_mean(text, {"cuda", "cuda:0", "cpu"}));
  return std::nullopt;
}

std::vector<std::string> read_devices(SpecReader& reader, const SpecNode& node, const std::string& folder) {
  std::vector<std::string> devices;
  for (const std::string& text : read_text_or_texts(reader, node, "a device (cuda, cuda:N, cpu, replay:PATH) or a list of devices")) {
    std::string fault;
    if (auto device = read_device(text, folder, fault)) {
      if (std::find(devices.begin(), devices.end(), *device) == devices.end()) devices.push_back(std::move(*device));
    } else {
      reader.problem(node.path, fault);
    }
  }
  return devices;
}

// Runs what throws InputError for a bad text.
template <typename Check>
void check_text(SpecReader& reader, const SpecNode& node, std::string& target, const char* expected, const Check& check) {
  const auto text = reader.text(node, expected);
  if (!text) return;
  try {
    check(*text);
    target = *text;
  } catch (const InputError& error) {
    reader.problem(node.path, error.what());
  }
}

void read_integer(SpecReader& reader, const SpecNode& node, std::int64_t least, std::int64_t most, int& target) {
  if (const auto number = reader.integer(node, least, most)) target = static_cast<int>(*number);
}

void read_flag(SpecReader& reader, const SpecNode& node, bool& target) {
  if (const auto flag = reader.boolean(node)) target = *flag;
}

}  // namespace

std::string plan_path(const std::string& text, const std::string& folder) {
  return (std::filesystem::path(folder) / text).lexically_normal().string();
}

std::vector<std::string> read_text_or_texts(SpecReader& reader, const SpecNode& node, const char* expected) {
  if (node.json.is_string() && !node.json.get_ref<const std::string&>().empty()) return {node.json.get<std::string>()};
  if (node.json.is_array() && node.json.empty()) reader.wrong_empty(node);
  return reader.texts(node, expected);
}

PlanSettings read_plan_settings(SpecReader& reader, const SpecNode& node, const PlanSettings& inherited, const std::string& folder) {
  PlanSettings settings = inherited;
  SessionSettings& session = settings.session;
  const auto given = [&](const char* key, const auto& read) {
    if (node.find(key) != nullptr) read(node.at(key));
  };
  given("devices", [&](const SpecNode& value) { settings.devices = read_devices(reader, value, folder); });
  given("objective", [&](const SpecNode& value) {
    if (const auto energy = read_second_of(reader, value, "time", "energy")) session.objective = *energy ? Objective::energy : Objective::time;
  });
  given("cache", [&](const SpecNode& value) {
    if (const auto warm = read_second_of(reader, value, "cold", "warm")) session.cache = *warm ? "warm" : "cold";
  });
  given("strategy", [&](const SpecNode& value) { check_text(reader, value, session.strategy, "the name of a strategy", check_strategy_name); });
  given("seed", [&](const SpecNode& value) {
    if (const auto seed = reader.integer(value, 0, INT64_MAX)) session.seed = static_cast<std::uint64_t>(*seed);
  });
  given("budget", [&](const SpecNode& value) {
    // 200 is as good as "200".
    if (value.json.is_number_integer()) {
      if (const auto trials = reader.integer(value, 1, INT64_MAX)) session.budget = std::to_string(*trials);
      return;
    }
    check_text(reader, value, session.budget, "a number of trials, \"10%\", \"5m\", \"all\" or \"auto\"", [](const std::string& text) { Budget::parse(text); });
  });
  given("where", [&](const SpecNode& value) { session.where = value.json == nlohmann::ordered_json::array() ? std::vector<std::string>() : read_text_or_texts(reader, value, "a constraint or a list of constraints"); });
  given("baseline", [&](const SpecNode& value) { read_flag(reader, value, session.baseline); });
  given("from_book", [&](const SpecNode& value) {
    session.from_book = true;
    session.from_book_first = 0;
    if (value.json.is_boolean())
      session.from_book = value.json.get<bool>();
    else if (value.json.is_number_integer())
      read_integer(reader, value, 1, kMaxFromBook, session.from_book_first);
    else
      reader.wrong(value, "true, false, or how many predicted configurations come first");
  });
  given("sanitize", [&](const SpecNode& value) { read_flag(reader, value, session.sanitize); });
  given("finalists", [&](const SpecNode& value) { read_integer(reader, value, 0, kMaxFinalists, session.finalists); });
  given("finalist_processes", [&](const SpecNode& value) { read_integer(reader, value, 1, kMaxFinalistProcesses, session.finalist_processes); });
  given("lock_clocks_mhz", [&](const SpecNode& value) { read_integer(reader, value, 0, kMaxClockMhz, session.lock_clocks_mhz); });
  given("run_timeout_s", [&](const SpecNode& value) {
    session.run_timeout_s = read_number(reader, value, kMinTimeoutSeconds, kMaxTimeoutSeconds).value_or(session.run_timeout_s);
  });
  given("compile_timeout_s", [&](const SpecNode& value) {
    session.compile_timeout_s = read_number(reader, value, kMinTimeoutSeconds, kMaxTimeoutSeconds).value_or(session.compile_timeout_s);
  });
  given("priority", [&](const SpecNode& value) { session.priority = read_number(reader, value, kMinPriority, kMaxPriority).value_or(session.priority); });
  given("freshness", [&](const SpecNode& value) { session.freshness = read_freshness(reader, value, session.freshness); });
  return settings;
}

}  // namespace tunebook
