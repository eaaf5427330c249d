#include "sweep/state.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "sweep/atomic_file.h"
#include "sweep/status.h"

namespace tunebook {
namespace {

constexpr int kVersion = 1;

constexpr std::array<std::pair<ItemStatus, std::string_view>, 10> kStatuses = {{{ItemStatus::pending, "pending"},
                                                                              {ItemStatus::fresh, "fresh"},
                                                                              {ItemStatus::done, "done"},
                                                                              {ItemStatus::cut, "cut"},
                                                                              {ItemStatus::interrupted, "interrupted"},
                                                                              {ItemStatus::no_winner, "no_winner"},
                                                                              {ItemStatus::failed, "failed"},
                                                                              {ItemStatus::no_time, "no_time"},
                                                                              {ItemStatus::no_device, "no_device"},
                                                                              {ItemStatus::no_room, "no_room"}}};

std::string random_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

ItemStatus parse_status(const std::string& name) {
  for (const auto& [status, known] : kStatuses) {
    if (name == known) return status;
  }
  throw InputError(fmt::format("unknown status \"{}\"", name));
}

nlohmann::ordered_json item_json(const ItemState& item) {
  return {{"status", item_status_name(item.status)}, {"attempts", item.attempts}, {"tune_instead", item.tune_instead},
          {"reason", item.reason},                   {"result", item.result}};
}

ItemState item_from_json(const nlohmann::ordered_json& json) {
  ItemState item;
  item.status = parse_status(json.at("status").get<std::string>());
  item.attempts = json.at("attempts").get<int>();
  item.tune_instead = json.at("tune_instead").get<bool>();
  item.reason = json.at("reason").get<std::string>();
  item.result = json.at("result");
  if (!item.result.is_null() && !item.result.is_object()) throw InputError("a result is no object");
  return item;
}

DeviceWork work_from_json(const nlohmann::ordered_json& json) {
  DeviceWork work;
  work.name = json.at("name").get<std::string>();
  work.sessions = json.at("sessions").get<std::int64_t>();
  work.session_s = json.at("session_s").get<double>();
  work.busy_s = json.at("busy_s").get<double>();
  work.available_s = json.at("available_s").get<double>();
  work.out_reason = json.at("out_reason").get<std::string>();
  return work;
}

SweepState read_state(const nlohmann::ordered_json& json, const std::string& where) {
  if (json.at("tunebook_sweep_state").get<int>() != kVersion) throw InputError("it is of another version");
  SweepState state;
  state.id = json.at("id").get<std::string>();
  state.start_utc = json.at("start_utc").get<std::string>();
  state.start = json.at("start").get<double>();
  if (!json.at("deadline").is_null()) state.deadline = json.at("deadline").get<double>();
  state.plan = FrozenPlan::from_json(json.at("plan"), where + ": /plan");
  state.order = json.at("order").get<std::vector<std::size_t>>();
  for (const auto& item : json.at("items")) state.items.push_back(item_from_json(item));
  if (json.contains("regions")) state.regions = json.at("regions");
  for (const auto& [key, work] : json.at("devices").items()) state.devices[key] = work_from_json(work);
  state.wall_s = json.at("wall_s").get<double>();
  state.runs = json.at("runs").get<int>();
  state.ended = json.at("ended").get<bool>();
  const bool in_range = std::all_of(state.order.begin(), state.order.end(), [&](std::size_t i) { return i < state.plan.items.size(); });
  const bool once = std::set<std::size_t>(state.order.begin(), state.order.end()).size() == state.order.size();
  if (state.items.size() != state.plan.items.size() || !in_range || !once) throw InputError("its parts do not fit each other");
  return state;
}

}  // namespace

std::string_view item_status_name(ItemStatus status) {
  for (const auto& [known, name] : kStatuses) {
    if (status == known) return name;
  }
  return "?";
}

SweepState SweepState::begin(FrozenPlan plan, std::vector<std::size_t> order, double now) {
  SweepState state;
  state.id = random_id();
  state.start = now;
  state.start_utc = utc_text(now);
  state.deadline = plan.time.deadline(now);
  state.items.resize(plan.items.size());
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    if (plan.items[i].decision.action == Action::fresh) state.items[i].status = ItemStatus::fresh;
  }
  std::erase_if(order, [&](std::size_t i) { return state.items[i].status == ItemStatus::fresh; });
  state.plan = std::move(plan);
  state.order = std::move(order);
  return state;
}

nlohmann::ordered_json SweepState::to_json() const {
  nlohmann::ordered_json json;
  json["tunebook_sweep_state"] = kVersion;
  json["id"] = id;
  json["start_utc"] = start_utc;
  json["start"] = start;
  json["deadline"] = deadline ? nlohmann::ordered_json(*deadline) : nlohmann::ordered_json(nullptr);
  json["ended"] = ended;
  json["runs"] = runs;
  json["wall_s"] = wall_s;
  json["devices"] = nlohmann::ordered_json::object();
  for (const auto& [key, work] : devices) {
    json["devices"][key] = {{"name", work.name},     {"sessions", work.sessions},       {"session_s", work.session_s},
                            {"busy_s", work.busy_s}, {"available_s", work.available_s}, {"out_reason", work.out_reason}};
  }
  json["order"] = order;
  json["items"] = nlohmann::ordered_json::array();
  for (const ItemState& item : items) json["items"].push_back(item_json(item));
  if (!regions.is_null()) json["regions"] = regions;
  json["plan"] = plan.to_json();
  return json;
}

SweepState SweepState::from_json(const nlohmann::ordered_json& json, const std::string& where) {
  try {
    return read_state(json, where);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("{}: this is no state of a sweep: {}", where, error.what()));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: this is no state of a sweep: {}", where, error.what()));
  }
}

SweepState SweepState::load(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) throw InputError(fmt::format("{}: it cannot be read", file.string()));
  const auto json = nlohmann::ordered_json::parse(text.str(), nullptr, false);
  if (!json.is_object()) throw InputError(fmt::format("{}: this is no state of a sweep: it is no JSON object", file.string()));
  return from_json(json, file.string());
}

void SweepState::save(const std::filesystem::path& file) const {
  write_atomically(file, to_json().dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

SweepFiles sweep_files(const std::filesystem::path& book, const std::filesystem::path& plan_file) {
  // The name for people, the hash because plans in different folders may have the same.
  const std::string path = std::filesystem::absolute(plan_file).lexically_normal().string();
  const std::string stem = fmt::format("{}-sweep-{}-{}", book.string(), plan_file.stem().string(), content_hash(path).substr(0, 8));
  return {stem + ".state.json", stem + ".lock", stem + ".status.json", stem + ".summary.json", stem + ".slots"};
}

Resumption resumption(const SweepState& state, const std::string& plan_hash, double now) {
  if (state.ended || state.plan.plan_hash != plan_hash) return Resumption::none;
  if (!state.deadline || now < *state.deadline) return Resumption::go_on;
  return state.plan.time.until_minute && now < state.start + kSameNightSeconds ? Resumption::too_late : Resumption::none;
}

std::optional<double> time_left(const SweepState& state, double now) {
  if (!state.deadline) return std::nullopt;
  return std::min(*state.deadline - now, *state.deadline - state.start);
}

SweepLock::SweepLock(const std::filesystem::path& file) : fd_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (fd_ < 0) {
    throw EnvironmentError(fmt::format("{} cannot be made: {}; it keeps two commands from running one sweep at once", file.string(), std::strerror(errno)));
  }
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool taken = ::fcntl(fd_, F_SETLK, &lock) == 0;
  if (taken || (errno != EAGAIN && errno != EACCES)) return;  // on a file system without locks it is always ours
  lock.l_type = F_WRLCK;
  const bool known = ::fcntl(fd_, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0;
  ::close(fd_);
  throw InputError(fmt::format("this plan is being run in this book by {}; wait for it, or stop it",
                               known ? fmt::format("process {}", lock.l_pid) : std::string("another machine")));
}

SweepLock::~SweepLock() { ::close(fd_); }

}  // namespace tunebook
