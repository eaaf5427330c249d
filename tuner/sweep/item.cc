#include "sweep/item.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "search/strategy.h"
#include "sweep/item_limits.h"
#include "sweep/member_reader.h"

namespace tunebook {
namespace {

// What makes an item the item that it is. Only ever extended by members that are left out at their default: ids in plans that were
// frozen and in the states of sweeps outlive a version of Tunebook.
nlohmann::ordered_json identity_json(const SweepItem& item) {
  const SessionSettings& settings = item.settings;
  nlohmann::ordered_json json;
  json["kernel"] = item.kernel;
  json["problem"] = item.problem.to_json();
  json["device"] = item.device;
  json["objective"] = objective_name(settings.objective);
  json["cache"] = settings.cache;
  json["strategy"] = settings.strategy;
  json["seed"] = settings.seed;
  json["budget"] = settings.budget;
  json["where"] = settings.where;
  json["baseline"] = settings.baseline;
  if (settings.from_book && settings.from_book_first > 0)
    json["from_book"] = settings.from_book_first;
  else
    json["from_book"] = settings.from_book;
  json["sanitize"] = settings.sanitize;
  json["finalists"] = settings.finalists;
  json["finalist_processes"] = settings.finalist_processes;
  json["lock_clocks_mhz"] = settings.lock_clocks_mhz;
  json["run_timeout_s"] = settings.run_timeout_s;
  json["compile_timeout_s"] = settings.compile_timeout_s;
  return json;
}

nlohmann::ordered_json days_json(const std::optional<double>& days) {
  return days ? nlohmann::ordered_json(*days) : nlohmann::ordered_json("never");
}

std::optional<double> read_days(MemberReader& reader, const char* name) {
  if (reader.json(name) == "never") return std::nullopt;
  return reader.number(name, 0, kMaxDays);
}

FreshnessRule read_freshness(const nlohmann::ordered_json& json, const std::string& where) {
  MemberReader reader(json, where);
  FreshnessRule rule;
  rule.retune_after_days = read_days(reader, "retune_after_days");
  rule.retime_after_days = read_days(reader, "retime_after_days");
  reader.finish();
  return rule;
}

SessionSettings read_settings(MemberReader& reader) {
  SessionSettings settings;
  const std::string objective = reader.text("objective");
  if (objective != "time" && objective != "energy") reader.fail("objective", "\"time\" or \"energy\"");
  settings.objective = objective == "energy" ? Objective::energy : Objective::time;
  settings.cache = reader.text("cache");
  if (settings.cache != "cold" && settings.cache != "warm") reader.fail("cache", "\"cold\" or \"warm\"");
  settings.strategy = reader.text("strategy");
  settings.seed = reader.unsigned_integer("seed");
  settings.budget = reader.text("budget");
  const auto check = [&](const char* member, const auto& parse) {
    try {
      parse();
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", reader.path(member), error.what()));
    }
  };
  check("strategy", [&] { check_strategy_name(settings.strategy); });
  check("budget", [&] { Budget::parse(settings.budget); });
  settings.where = reader.texts("where");
  settings.baseline = reader.boolean("baseline");
  if (reader.json("from_book").is_number())
    settings.from_book_first = static_cast<int>(reader.integer("from_book", 1, kMaxFromBook));
  else
    settings.from_book = reader.boolean("from_book");
  settings.sanitize = reader.boolean("sanitize");
  settings.finalists = static_cast<int>(reader.integer("finalists", 0, kMaxFinalists));
  settings.finalist_processes = static_cast<int>(reader.integer("finalist_processes", 1, kMaxFinalistProcesses));
  settings.lock_clocks_mhz = static_cast<int>(reader.integer("lock_clocks_mhz", 0, kMaxClockMhz));
  settings.run_timeout_s = reader.number("run_timeout_s", kMinTimeoutSeconds, kMaxTimeoutSeconds);
  settings.compile_timeout_s = reader.number("compile_timeout_s", kMinTimeoutSeconds, kMaxTimeoutSeconds);
  settings.priority = reader.number("priority", kMinPriority, kMaxPriority);
  settings.freshness = read_freshness(reader.json("freshness"), reader.path("freshness"));
  return settings;
}

}  // namespace

std::string SweepItem::id() const {
  nlohmann::ordered_json json = identity_json(*this);
  json["problem"] = problem.canonical();  // whatever the order of its dimensions
  return content_hash(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

std::string SweepItem::display() const { return fmt::format("{} {} on {}", kernel, problem.display(), device); }

nlohmann::ordered_json SweepItem::to_json() const {
  nlohmann::ordered_json json{{"id", id()}};
  json.update(identity_json(*this));
  json["priority"] = settings.priority;
  json["freshness"] = {{"retune_after_days", days_json(settings.freshness.retune_after_days)},
                       {"retime_after_days", days_json(settings.freshness.retime_after_days)}};
  json["templates"] = templates;
  return json;
}

SweepItem SweepItem::from_json(const nlohmann::ordered_json& json, const std::string& where) {
  MemberReader reader(json, where);
  SweepItem item;
  const std::string id = reader.text("id");
  item.kernel = reader.text("kernel");
  if (item.kernel.empty()) reader.fail("kernel", "the name of a kernel");
  item.problem = Problem::from_json(reader.json("problem"), reader.path("problem"));
  item.device = reader.text("device");
  if (item.device.empty()) reader.fail("device", "cuda, cuda:N, cpu or replay:PATH");
  item.settings = read_settings(reader);
  item.templates = reader.texts("templates");
  reader.finish();
  if (id != item.id()) throw InputError(fmt::format("{}: it does not fit the rest of the item ({}); the file was changed by hand or is damaged", reader.path("id"), item.id()));
  return item;
}

}  // namespace tunebook
