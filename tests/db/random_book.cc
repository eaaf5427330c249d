#include "random_book.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "book_fixture.h"
#include "db/sqlite.h"
#include "db/store.h"
#include "some_model.h"

namespace tunebook::testing {
namespace {

// Few different sizes, so that ties and exact matches are frequent.
const std::vector<std::int64_t> kSizes = {1, 3, 4, 8, 16, 32, 48, 64, 96, 128, 256, 1000, 4096, 65536};

std::vector<DeviceKey> some_devices() {
  std::vector<DeviceKey> devices;
  const auto add = [&](const char* name, int capability, std::int64_t sms, std::int64_t memory, std::int64_t shared) {
    DeviceKey key;
    key.name = name;
    key.compute_capability = capability;
    key.sm_count = sms;
    key.memory_gib = memory;
    key.shared_bytes_per_block_optin = shared;
    key.max_threads_per_block = 1024;
    key.registers_per_block = 65536;
    devices.push_back(key);
  };
  add("NVIDIA A100", 80, 108, 80, 166912);
  add("NVIDIA A100", 80, 108, 40, 166912);
  add("NVIDIA RTX A6000", 86, 84, 48, 101376);
  add("NVIDIA H200", 90, 132, 140, 232448);
  add("NVIDIA H100", 90, 114, 80, 232448);
  add("NVIDIA H200 MIG 1g.18gb", 90, 16, 18, 232448);
  return devices;
}

Device to_device(const DeviceKey& key) {
  Device device;
  device.kind = key.kind;
  device.name = key.name;
  device.compute_capability = key.compute_capability;
  device.sm_count = key.sm_count;
  device.memory_gib = key.memory_gib;
  device.limits.shared_bytes_per_block_optin = key.shared_bytes_per_block_optin;
  return device;
}

}  // namespace

ModelBook random_book(Dice& dice, const std::filesystem::path& path) {
  ModelBook book;
  Store store(path);
  const std::vector<DeviceKey> devices = some_devices();
  const std::int64_t winners = dice.chance(10) ? 0 : 1 + dice.below(60);
  const std::int64_t hashes = 1 + dice.below(3);
  std::vector<ModelWinner> in_order;
  for (std::int64_t i = 0; i < winners; ++i) {
    ModelWinner winner;
    winner.x = dice.one_of(kSizes);
    winner.y = dice.one_of(kSizes);
    winner.mode = dice.chance(80) ? "a" : "b";
    winner.tile = dice.chance(3) ? 24 : dice.one_of<std::int64_t>({8, 16, 32, 64});
    winner.wide = dice.chance(40);
    winner.device = dice.one_of(devices);
    winner.hash = fmt::format("hash-{}", 1 + dice.below(hashes));
    winner.objective = dice.chance(85) ? "time" : "energy";
    winner.method = dice.one_of<std::string>({"cold/1", "cold/2", "cold/2", "cold/2@1500MHz", "warm/2"});
    winner.registers = dice.chance(30) ? -1 : 16 + dice.below(250);
    winner.shared_bytes = dice.chance(30) ? -1 : dice.one_of<std::int64_t>({0, 16384, 65536, 163840, 200000});

    TrialContext context = some_context();
    context.kernel = "model";
    context.kernel_hash = winner.hash;
    context.kernel_spec = nlohmann::ordered_json::parse(kModelSpec);
    context.device = to_device(winner.device);
    context.method = winner.method;
    SessionRecord proposed = some_session(static_cast<std::uint64_t>(i));
    proposed.problem = Problem();
    proposed.problem.set("x", winner.x);
    proposed.problem.set("y", winner.y);
    proposed.problem.set("mode", winner.mode);
    winner.session = store.open_session(context, proposed, true).id;
    const auto record = [&](const ModelWinner& one) {
      Configuration configuration;
      configuration.set("TILE", one.tile);
      configuration.set("WIDE", one.wide);
      WinnerRecord stored = some_winner(one.session, configuration, 10);
      stored.objective = one.objective;
      stored.finalists.front().registers = one.registers;
      stored.finalists.front().shared_bytes = one.shared_bytes;
      store.record_winner(context, proposed.problem, stored);
      in_order.push_back(one);
      in_order.back().order = static_cast<std::int64_t>(in_order.size());
    };
    record(winner);
    if (dice.chance(15)) {
      winner.tile = dice.one_of<std::int64_t>({8, 16, 32, 64});
      if (dice.chance(50)) winner.objective = "energy";
      record(winner);
    }
    if (!dice.chance(10)) store.finish_session(winner.session, 1);
    if (std::find(book.hashes.begin(), book.hashes.end(), winner.hash) == book.hashes.end()) book.hashes.push_back(winner.hash);
    if (std::find(book.devices.begin(), book.devices.end(), winner.device) == book.devices.end()) book.devices.push_back(winner.device);
  }
  book.winners = in_order;
  return book;
}

void set_times(Dice& dice, const std::filesystem::path& path, ModelBook& book) {
  sqlite::Database database(path, sqlite::Database::Mode::read_write);
  sqlite::Statement finished(database, "SELECT finished_utc IS NOT NULL FROM session WHERE uid = ?");
  sqlite::Statement update(database, "UPDATE session SET finished_utc = ? WHERE uid = ?");
  std::string last, time;
  for (ModelWinner& winner : book.winners) {
    const bool is_finished = [&] {
      sqlite::Statement::Run row = finished.run(winner.session);
      return row.next() && row.integer(0) != 0;
    }();
    if (winner.session != last) time = fmt::format("2026-11-{:02}T00:00:00.000000Z", 1 + dice.below(4));
    last = winner.session;
    winner.finished = is_finished ? time : "";
    if (is_finished) update.execute(winner.finished, winner.session);
  }
}

namespace {

// Nodes of one tree behind those that are there; returns its root.
std::uint32_t add_tree(Dice& dice, TimeModel& model) {
  const std::size_t root = model.nodes.size();
  const std::vector<float> thresholds = {-0.5f, 0.5f, 1.0f, 1.5f, 4.0f, 8.0f, 16.0f, 20.0f, 48.0f, 64.0f, 100.0f, 1000.0f, 1e15f};
  model.nodes.emplace_back();
  for (std::size_t at = root; at < model.nodes.size(); ++at) {
    if (model.nodes.size() - root < 25 && dice.chance(60)) {
      const auto feature = static_cast<std::int32_t>(dice.below(static_cast<std::int64_t>(model.features.size())));
      model.nodes[at] = {feature, dice.one_of(thresholds), static_cast<std::int32_t>(model.nodes.size())};
      model.nodes.resize(model.nodes.size() + 2);
    } else {
      // Few different leaves, so that equal scores are frequent.
      model.nodes[at].next = static_cast<std::int32_t>(dice.below(7) * 40'000 - 60'000);
    }
  }
  return static_cast<std::uint32_t>(root);
}

TimeModel random_model(Dice& dice, std::int64_t number) {
  TimeModel model;
  model.method = dice.one_of<std::string>({"cold/1", "cold/2", "cold/2", "warm/2", "cold/2@1500MHz"});
  for (const char* const feature : kModelFeatures) {
    if (dice.chance(60)) model.features.emplace_back(feature);
  }
  if (model.features.empty()) model.features.emplace_back(kModelFeatures.front());
  const std::int64_t trees = dice.below(6);
  for (std::int64_t i = 0; i < trees; ++i) model.roots.push_back(add_tree(dice, model));
  model.base = dice.below(3) * 100'000;
  for (std::uint16_t tile = 0; tile < 4; ++tile) {
    for (std::uint16_t wide = 0; wide < 2; ++wide) {
      if (!model.candidates.empty() && dice.chance(40)) continue;
      model.candidates.push_back({{tile, wide}, dice.chance(40) ? -1 : static_cast<std::int32_t>(16 + dice.below(250)),
                                  dice.chance(40) ? -1 : dice.one_of<std::int64_t>({0, 16384, 163840, 200000}), 1});
    }
  }
  std::reverse(model.candidates.begin(), model.candidates.end());
  const std::int64_t anchors = 1 + dice.below(6);
  for (std::int64_t i = 0; i < anchors; ++i) {
    TimeModel::Anchor anchor;
    anchor.problem = {dice.one_of(kSizes), dice.one_of(kSizes), std::string(dice.chance(70) ? "a" : "b")};
    anchor.best_us = static_cast<double>(1 + dice.below(1000)) / 8;
    const auto same = [&](const TimeModel::Anchor& one) { return one.problem == anchor.problem; };
    if (std::none_of(model.anchors.begin(), model.anchors.end(), same)) model.anchors.push_back(anchor);
  }
  const auto share = [&] { return static_cast<double>(dice.below(20)) / 40; };
  double upto = 0.5;
  for (std::int64_t bins = dice.below(3); bins > 0; --bins, upto *= 3) model.loss.push_back({upto, share(), share(), share(), 5});
  model.loss.push_back({std::numeric_limits<double>::infinity(), share(), share(), share(), 5});
  model.trials = number;
  model.learned_utc = fmt::format("2026-11-30T00:00:{:02}.000000Z", number);
  return model;
}

}  // namespace

void add_random_models(Dice& dice, const std::filesystem::path& path, ModelBook& book) {
  if (book.hashes.empty()) return;
  const std::int64_t models = dice.below(8);
  for (std::int64_t i = 0; i < models; ++i) {
    ModelOfTime added{dice.one_of(book.hashes), dice.one_of(book.devices), random_model(dice, i)};
    // One for the same version, device and method is replaced.
    std::erase_if(book.times, [&](const ModelOfTime& one) {
      return one.hash == added.hash && one.device == added.device && one.time.method == added.time.method;
    });
    const std::string kernel = query_text(path, fmt::format("SELECT id FROM kernel WHERE hash = '{}'", added.hash));
    const std::string device = query_text(path, fmt::format("SELECT id FROM device WHERE name = '{}' AND memory_gib = {}",
                                                            added.device.name, added.device.memory_gib));
    put_model(path.string(), added.time, std::stoll(kernel), std::stoll(device));
    book.times.push_back(std::move(added));
  }
}

Query random_query(Dice& dice, const ModelBook& book) {
  Query query;
  query.kernel = "model";
  query.problem = {{"x", dice.one_of(kSizes)}, {"y", dice.one_of(kSizes)}};
  if (dice.chance(50)) query.problem.emplace_back("mode", std::string(dice.chance(70) ? "a" : "b"));
  const std::vector<DeviceKey> devices = some_devices();
  query.device = dice.one_of(devices);
  if (!book.winners.empty() && dice.chance(40)) {
    const ModelWinner& tuned = dice.one_of(book.winners);
    query.problem = {{"x", tuned.x}, {"y", tuned.y}, {"mode", tuned.mode}};
    query.device = tuned.device;
  }
  if (dice.chance(50)) {
    query.device.shared_bytes_per_block_optin = 0;
    query.device.max_threads_per_block = 0;
    query.device.registers_per_block = 0;
  }
  if (dice.chance(15)) query.device.name = "NVIDIA Unknown";
  if (dice.chance(10)) query.device.compute_capability = 100;
  if (dice.chance(10)) query.device = DeviceKey{.compute_capability = 90};
  if (dice.chance(10)) query.device = DeviceKey{.name = query.device.name};
  if (dice.chance(5)) query.device = DeviceKey{};
  if (dice.chance(15)) query.device.shared_bytes_per_block_optin = dice.one_of<std::int64_t>({512, 16384, 49152, 100000});
  if (dice.chance(10)) query.device.max_threads_per_block = dice.one_of<std::int64_t>({32, 128, 256});
  if (dice.chance(10)) query.device.registers_per_block = dice.one_of<std::int64_t>({1024, 8192, 32768});
  if (dice.chance(60)) query.kernel_hash = fmt::format("hash-{}", 1 + dice.below(4));
  if (dice.chance(10)) query.objective = "energy";
  query.method = dice.chance(80) ? "cold" : dice.one_of<std::string>({"warm", "cold/1", "cold/2", "cold/2@1500MHz", "col"});
  return query;
}

std::string describe(const Query& query) {
  std::string text = "asked:";
  for (const auto& [name, value] : query.problem) text += " " + name + "=" + to_text(value);
  return text + fmt::format(" on {} sm_{} shared {} threads {} registers {}, hash '{}', {}, {}", query.device.name,
                            query.device.compute_capability, query.device.shared_bytes_per_block_optin, query.device.max_threads_per_block,
                            query.device.registers_per_block, query.kernel_hash, query.objective, query.method);
}

std::string describe(const std::optional<ModelAnswer>& answer) {
  return answer ? fmt::format("{} at {} session {} TILE={} WIDE={} stale {}, expected loss {} bound {}, predicted {} us {}", tier_name(answer->tier),
                              answer->distance, answer->session, answer->tile, answer->wide, stale_name(answer->stale),
                              answer->expected_loss.value_or(-1), answer->loss_bound.value_or(-1), answer->predicted_us.value_or(-1),
                              answer->learned)
                : "nothing";
}

std::optional<ModelAnswer> as_model(const std::shared_ptr<const Answer>& answer) {
  if (answer == nullptr) return std::nullopt;
  return ModelAnswer{answer->tier, answer->distance, answer->session, std::get<std::int64_t>(answer->configuration.at(0).second),
                     std::get<bool>(answer->configuration.at(1).second), answer->stale, answer->expected_loss, answer->loss_bound,
                     answer->predicted_us, answer->tier == Tier::predicted ? answer->tuned_at_utc : ""};
}

}  // namespace tunebook::testing
