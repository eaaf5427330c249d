#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/hash.h"
#include "core/json_text.h"
#include "sweep/member_reader.h"
#include "sweep/plan.h"

namespace tunebook {
namespace {

constexpr int kFormat = 1;  // raised when an older Tunebook would misread the file
constexpr std::size_t kMostShards = 100'000;
constexpr double kMostSeconds = 1e12;

nlohmann::ordered_json time_json(const TimeLimit& time) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (time.seconds) json["seconds"] = *time.seconds;
  if (time.until_minute) json["until_minute"] = *time.until_minute;
  return json;
}

TimeLimit read_time(const nlohmann::ordered_json& json, const std::string& where) {
  MemberReader reader(json, where);
  TimeLimit time;
  if (reader.has("seconds")) time.seconds = reader.number("seconds", 0, kMostSeconds);
  if (reader.has("until_minute")) time.until_minute = static_cast<int>(reader.integer("until_minute", 0, 24 * 60 - 1));
  reader.finish();
  return time;
}

std::vector<std::vector<std::size_t>> read_shards(MemberReader& reader, const std::vector<FrozenItem>& items) {
  std::vector<std::vector<std::size_t>> shards;
  std::vector<bool> taken(items.size(), false);
  const nlohmann::ordered_json& list = reader.array("shards");
  if (list.size() > kMostShards) reader.fail("shards", fmt::format("at most {} shards", kMostShards));
  for (const auto& part : list) {
    if (!part.is_array()) reader.fail("shards", "a list of lists of item numbers");
    std::vector<std::size_t>& shard = shards.emplace_back();
    for (const auto& index : part) {
      if (!index.is_number_unsigned() || index.get<std::uint64_t>() >= items.size()) {
        reader.fail("shards", fmt::format("numbers of items below {}", items.size()));
      }
      const auto item = index.get<std::size_t>();
      if (taken[item]) throw InputError(fmt::format("{}: item {} is there twice", reader.path("shards"), item));
      taken[item] = true;
      shard.push_back(item);
    }
  }
  for (std::size_t i = 0; i < items.size() && !shards.empty(); ++i) {
    if (!taken[i] && items[i].decision.action != Action::fresh) {
      throw InputError(fmt::format("{}: item {} is to run but is in no shard", reader.path("shards"), i));
    }
  }
  return shards;
}

}  // namespace

nlohmann::ordered_json FrozenPlan::to_json() const {
  nlohmann::ordered_json json;
  json["tunebook_frozen_plan"] = kFormat;
  json["plan_hash"] = plan_hash;
  json["name"] = name;
  json["frozen_at"] = frozen_at;
  json["time"] = time_json(time);
  json["items"] = nlohmann::ordered_json::array();
  for (const FrozenItem& frozen : items) {
    json["items"].push_back({{"item", frozen.item.to_json()}, {"decision", frozen.decision.to_json()}, {"estimate", frozen.estimate.to_json()},
                             {"noise", frozen.noise.to_json()}});
  }
  json["shards"] = shards;
  return json;
}

FrozenPlan FrozenPlan::from_json(const nlohmann::ordered_json& json, const std::string& where) {
  MemberReader reader(json, where + ": ");
  if (reader.integer("tunebook_frozen_plan", 1, 1'000'000) != kFormat) reader.fail("tunebook_frozen_plan", fmt::format("{}; use the Tunebook that wrote it", kFormat));
  FrozenPlan plan;
  plan.plan_hash = reader.text("plan_hash");
  plan.name = reader.text("name");
  plan.frozen_at = reader.number("frozen_at", 0, kMostSeconds);
  plan.time = read_time(reader.json("time"), reader.path("time"));
  std::size_t number = 0;
  for (const auto& entry : reader.array("items")) {
    MemberReader members(entry, fmt::format("{}/{}", reader.path("items"), number++));
    FrozenItem frozen;
    frozen.item = SweepItem::from_json(members.json("item"), members.path("item"));
    frozen.decision = Decision::from_json(members.json("decision"), members.path("decision"));
    frozen.estimate = Estimate::from_json(members.json("estimate"), members.path("estimate"));
    if (members.has("noise")) frozen.noise = NightNoise::from_json(members.json("noise"), members.path("noise"));  // older ones have none
    members.finish();
    plan.items.push_back(std::move(frozen));
  }
  plan.shards = read_shards(reader, plan.items);
  reader.finish();
  return plan;
}

FrozenPlan FrozenPlan::load(const std::filesystem::path& file) {
  return from_json(parse_json_text(read_text_file(file), file.string()), file.string());
}

void FrozenPlan::save(const std::filesystem::path& file) const {
  const std::filesystem::path temporary = fmt::format("{}.{}.tmp", file.string(), getpid());
  const auto fail = [&](const std::string& what) {
    const std::string message = fmt::format("{}: the frozen plan cannot be written: {}: {}", file.string(), what, std::strerror(errno));
    std::remove(temporary.c_str());
    throw EnvironmentError(message);
  };
  {
    std::ofstream stream(temporary, std::ios::binary);
    stream << to_json().dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
    stream.flush();
    if (!stream) fail("writing");
  }
  if (std::rename(temporary.c_str(), file.c_str()) != 0) fail("renaming");
}

std::string SweepPlan::hash() const {
  HashBuilder hash;
  for (const SweepItem& item : items) hash.add(item.id());
  for (const CoverRegion& region : regions) hash.add(region.identity());
  return hash.hex();
}

}  // namespace tunebook
