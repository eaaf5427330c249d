#include "lookup_model.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace tunebook::testing {

const char* const kModelSpec = R"json({
  "tunebook": 1, "kernel": "model", "summary": "for tests", "source": "kernel.cu", "entry": "model", "instantiate": ["TILE", "WIDE"],
  "problem": {
    "x": {"default": 64, "verify": [1, 33]}, "y": {"default": 64, "verify": [1, 65]},
    "mode": {"values": ["a", "b"], "default": "a"}},
  "parameters": {"TILE": {"values": [8, 16, 32, 64]}, "WIDE": {"values": [false, true]}},
  "constraints": ["TILE == 8 or x % TILE == 0", "not WIDE or device.compute_capability >= 90 or y > 4"],
  "arch": "WIDE and TILE == 64 ? 'sm_90a' : native",
  "presets": {"default": {"TILE": 8, "WIDE": false}},
  "launch": {"block": ["TILE", "8"], "grid": ["ceil_div(x, TILE)"], "shared_bytes": "TILE * TILE * 16 * (WIDE ? 2 : 1)"},
  "arguments": [{"name": "c", "type": "f32*", "count": "x * y", "access": "out"}],
  "reference": {"source": "reference.cu", "entry": "reference", "block": ["256"], "grid": ["ceil_div(x * y, 256)"]},
  "tolerance": {"f32": {"rel": "0", "abs": "1"}},
  "work": {"flops": "x * y", "bytes": "4 * x * y"}
})json";

const std::vector<const char*> kModelFeatures = {
    "x", "y", "TILE", "1 if WIDE else 0", "x / TILE", "x % TILE", "mode == 'b'", "ceil_div(x, TILE) * TILE / x",
    "x / (y - 4)", "x * y * 1000000000000"};

namespace {

struct Asked {
  std::int64_t x = 0, y = 0;
  std::string mode = "a";
};

Asked read_problem(const Query& query) {
  Asked asked;
  for (const auto& [name, value] : query.problem) {
    if (name == "x") asked.x = std::get<std::int64_t>(value);
    if (name == "y") asked.y = std::get<std::int64_t>(value);
    if (name == "mode") asked.mode = std::get<std::string>(value);
  }
  return asked;
}

bool agrees(const DeviceKey& asked, const DeviceKey& known) {
  return (asked.kind.empty() || asked.kind == known.kind) && (asked.name.empty() || asked.name == known.name) &&
         (asked.compute_capability == 0 || asked.compute_capability == known.compute_capability) &&
         (asked.instruction_set.empty() || asked.instruction_set == known.instruction_set) &&
         (asked.sm_count == 0 || asked.sm_count == known.sm_count) && (asked.memory_gib == 0 || asked.memory_gib == known.memory_gib);
}

// The device to run on: what the caller says; what he leaves open as the book has it of `known`, else by architecture.
DeviceKey running_device(const DeviceKey& asked, const DeviceKey* known) {
  DeviceKey device;
  if (known != nullptr) {
    device = *known;
  } else {
    device = asked;
    device.max_threads_per_block = 1024;
    device.registers_per_block = 65536;
    switch (asked.compute_capability) {
      case 80: device.shared_bytes_per_block_optin = 163 * 1024; break;
      case 86: device.shared_bytes_per_block_optin = 99 * 1024; break;
      case 90: device.shared_bytes_per_block_optin = 227 * 1024; break;
      default: device.shared_bytes_per_block_optin = 48 * 1024; break;
    }
  }
  if (asked.compute_capability != 0) device.compute_capability = asked.compute_capability;
  if (asked.max_threads_per_block != 0) device.max_threads_per_block = asked.max_threads_per_block;
  if (asked.registers_per_block != 0) device.registers_per_block = asked.registers_per_block;
  if (asked.shared_bytes_per_block_optin != 0) device.shared_bytes_per_block_optin = asked.shared_bytes_per_block_optin;
  return device;
}

bool may_run(const ModelWinner& winner, const Asked& asked, const DeviceKey& device) {
  const bool declared = winner.tile == 8 || winner.tile == 16 || winner.tile == 32 || winner.tile == 64;
  if (!declared) return false;
  if (winner.tile != 8 && asked.x % winner.tile != 0) return false;
  if (winner.wide && device.compute_capability < 90 && asked.y <= 4) return false;
  if (device.kind == "cuda" && winner.wide && winner.tile == 64 && device.compute_capability != 90) return false;
  const std::int64_t threads = winner.tile * 8;
  const std::int64_t launch_shared = winner.tile * winner.tile * 16 * (winner.wide ? 2 : 1);
  if (threads > device.max_threads_per_block) return false;
  if (std::max(launch_shared, winner.shared_bytes) > device.shared_bytes_per_block_optin) return false;
  if (winner.registers > 255) return false;
  if (winner.registers >= 0) {
    const std::int64_t warps = (threads + 31) / 32;
    const std::int64_t per_warp = (winner.registers * 32 + 255) / 256 * 256;
    if (warps * per_warp > device.registers_per_block) return false;
  }
  return true;
}

double ratio(std::int64_t p, std::int64_t q) {
  return std::log2(static_cast<double>(std::max(p, q)) / static_cast<double>(std::min(p, q)));
}

double distance(std::int64_t x, std::int64_t y, const Asked& asked) {
  const double dx = std::min(ratio(x, asked.x), ratio(y, asked.y));
  const double dy = std::max(ratio(x, asked.x), ratio(y, asked.y));
  return std::sqrt(dx * dx + dy * dy);
}

bool matches(const std::string& method, const std::string& asked) {
  return method == asked || method.rfind(asked + "/", 0) == 0;
}

float feature(const std::string& text, const Asked& asked, std::int64_t tile, bool wide) {
  const auto quotient = [](double p, double q) { return static_cast<float>(p / q); };
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  if (text == kModelFeatures[0]) return static_cast<float>(asked.x);
  if (text == kModelFeatures[1]) return static_cast<float>(asked.y);
  if (text == kModelFeatures[2]) return static_cast<float>(tile);
  if (text == kModelFeatures[3]) return wide ? 1.0f : 0.0f;
  if (text == kModelFeatures[4]) return quotient(real(asked.x), real(tile));
  if (text == kModelFeatures[5]) return static_cast<float>(asked.x % tile);
  if (text == kModelFeatures[6]) return asked.mode == "b" ? 1.0f : 0.0f;
  if (text == kModelFeatures[7]) return quotient(real((asked.x + tile - 1) / tile * tile), real(asked.x));
  if (text == kModelFeatures[8]) return asked.y == 4 ? -1.0f : quotient(real(asked.x), real(asked.y - 4));
  // The last one overflows for large problems.
  constexpr std::int64_t kScale = 1'000'000'000'000;
  return real(asked.x) * real(asked.y) > 9.2e6 ? -1.0f : static_cast<float>(asked.x * asked.y * kScale);
}

std::int64_t walk(const TimeModel& time, std::size_t node, const Asked& asked, std::int64_t tile, bool wide) {
  const TimeModel::Node& here = time.nodes[node];
  if (here.feature < 0) return here.next;
  const float value = feature(time.features[static_cast<std::size_t>(here.feature)], asked, tile, wide);
  const auto next = static_cast<std::size_t>(here.next);
  return value < here.threshold ? walk(time, next, asked, tile, wide) : walk(time, next + 1, asked, tile, wide);
}

const std::vector<std::int64_t> kTiles = {8, 16, 32, 64};

// What the model that counts says; `loss` is null if there is no model.
struct Predicted {
  const TimeModel::LossBin* loss = nullptr;
  std::optional<ModelAnswer> answer;
};

const ModelOfTime* model_that_counts(const ModelBook& book, const Query& query) {
  const ModelOfTime* best = nullptr;
  auto best_rank = std::tuple(true, std::ptrdiff_t{0}, std::ptrdiff_t{0});
  for (const ModelOfTime& one : book.times) {
    if (query.objective != "time" || !agrees(query.device, one.device) || !matches(one.time.method, query.method)) continue;
    const auto version = std::find(book.hashes.begin(), book.hashes.end(), one.hash) - book.hashes.begin();
    const bool other = query.kernel_hash.empty() || one.hash != query.kernel_hash;
    const auto rank = std::tuple(other, -version, &book.times.front() - &one);
    if (best == nullptr || rank < best_rank) {
      best = &one;
      best_rank = rank;
    }
  }
  return best;
}

Predicted predict(const ModelOfTime& model, const Asked& asked, const DeviceKey& device) {
  const TimeModel& time = model.time;
  // The nearest tuned problem.
  const TimeModel::Anchor* nearest = nullptr;
  auto least = std::tuple(true, 0.0, std::int64_t{0});
  for (const TimeModel::Anchor& anchor : time.anchors) {
    const auto x = std::get<std::int64_t>(anchor.problem[0]), y = std::get<std::int64_t>(anchor.problem[1]);
    const auto now = std::tuple(std::get<std::string>(anchor.problem[2]) != asked.mode, distance(x, y, asked), x * y);
    if (nearest == nullptr || now < least) {
      nearest = &anchor;
      least = now;
    }
  }
  const auto [other_mode, far, volume] = least;
  Predicted predicted;
  for (const TimeModel::LossBin& bin : time.loss) {
    if (predicted.loss == nullptr && !other_mode && far <= bin.distance_upto) predicted.loss = &bin;
  }
  if (predicted.loss == nullptr) predicted.loss = &time.loss.back();

  std::int64_t best = 0;
  for (const TimeModel::Candidate& candidate : time.candidates) {
    ModelWinner winner;
    winner.tile = kTiles[candidate.values[0]];
    winner.wide = candidate.values[1] == 1;
    winner.registers = candidate.registers;
    winner.shared_bytes = candidate.shared_bytes;
    if (!may_run(winner, asked, device)) continue;
    std::int64_t score = time.base;
    for (const std::uint32_t root : time.roots) score += walk(time, root, asked, winner.tile, winner.wide);
    if (predicted.answer && score >= best) continue;
    best = score;
    predicted.answer = ModelAnswer{Tier::predicted, far, "", winner.tile, winner.wide, Stale::unknown, {}, {}, {}, time.learned_utc};
  }
  if (predicted.answer) {
    const double loss = std::min(std::max(static_cast<double>(best) / 1048576, 0.0), 0.999);
    const double work = static_cast<double>(asked.x * asked.y) / static_cast<double>(volume);
    predicted.answer->predicted_us = nearest->best_us * work / (1 - loss);
    predicted.answer->expected_loss = predicted.loss->predicted_mean;
    predicted.answer->loss_bound = predicted.loss->predicted_bound;
  }
  return predicted;
}

struct Candidate {
  const ModelWinner* winner;
  Tier tier;
  bool other_hash;
  bool other_device;   // matters in far
  double distance;
  DeviceKey device;
};

}  // namespace

std::optional<ModelAnswer> model_best(const ModelBook& book, const Query& query, double near_cap) {
  const Asked asked = read_problem(query);
  const DeviceKey* known = nullptr;
  for (const DeviceKey& device : book.devices) {
    if (agrees(query.device, device)) known = &device;
  }
  const DeviceKey asked_device = running_device(query.device, known);

  std::vector<Candidate> candidates;
  for (const ModelWinner& winner : book.winners) {
    const bool replaced = std::any_of(book.winners.begin(), book.winners.end(), [&](const ModelWinner& other) {
      return other.session == winner.session && other.objective == winner.objective && other.order > winner.order;
    });
    const bool method = matches(winner.method, query.method);
    if (replaced || winner.finished.empty() || winner.objective != query.objective || !method || winner.mode != asked.mode) continue;
    const bool same = agrees(query.device, winner.device);
    const bool related = asked_device.kind == winner.device.kind && asked_device.compute_capability != 0 &&
                         asked_device.compute_capability == winner.device.compute_capability;
    if (!same && !related) continue;
    Candidate candidate;
    candidate.winner = &winner;
    candidate.other_hash = !query.kernel_hash.empty() && winner.hash != query.kernel_hash;
    candidate.other_device = !same;
    candidate.distance = distance(winner.x, winner.y, asked);
    const bool this_problem = winner.x == asked.x && winner.y == asked.y;
    candidate.tier = candidate.distance > near_cap ? Tier::far
                     : !same                        ? Tier::same_architecture
                     : this_problem                 ? Tier::exact
                                                    : Tier::near;
    candidate.device = same ? running_device(query.device, &winner.device) : asked_device;
    candidates.push_back(candidate);
  }
  const auto text = [](const ModelWinner& w) {
    return "{\"mode\":\"" + w.mode + "\",\"x\":" + std::to_string(w.x) + ",\"y\":" + std::to_string(w.y) + "}";
  };
  std::sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
    const ModelWinner& x = *a.winner;
    const ModelWinner& y = *b.winner;
    const bool far_a = a.tier == Tier::far && a.other_device, far_b = b.tier == Tier::far && b.other_device;
    const std::int64_t size_a = x.x * x.y, size_b = y.x * y.y;
    const std::string text_a = text(x), text_b = text(y);
    return std::tie(a.tier, a.other_hash, far_a, a.distance, size_a, text_a, y.finished, x.session) <
           std::tie(b.tier, b.other_hash, far_b, b.distance, size_b, text_b, x.finished, y.session);
  });
  const auto staleness = [&](const std::string& hash) {
    return query.kernel_hash.empty() ? Stale::unknown : hash == query.kernel_hash ? Stale::no : Stale::yes;
  };
  const ModelOfTime* const model = model_that_counts(book, query);
  Predicted predicted;
  if (model != nullptr) {
    predicted = predict(*model, asked, running_device(query.device, &model->device));
    if (predicted.answer) predicted.answer->stale = staleness(model->hash);
  }
  // The first that may run among the candidates of some tiers.
  const auto first_of = [&](const auto& belongs) -> std::optional<ModelAnswer> {
    for (const Candidate& candidate : candidates) {
      const ModelWinner& winner = *candidate.winner;
      if (!belongs(candidate) || !may_run(winner, asked, candidate.device)) continue;
      ModelAnswer answer{candidate.tier, candidate.distance, winner.session, winner.tile, winner.wide, staleness(winner.hash), {}, {}, {}, ""};
      const bool may_carry = candidate.tier == Tier::near || candidate.tier == Tier::far;
      if (predicted.loss != nullptr && may_carry && !candidate.other_device) {
        answer.expected_loss = predicted.loss->nearest_mean;
      }
      return answer;
    }
    return std::nullopt;
  };
  const auto of_tier = [](Tier tier) { return [tier](const Candidate& one) { return one.tier == tier; }; };
  if (auto answer = first_of(of_tier(Tier::exact))) return answer;
  if (predicted.loss != nullptr && predicted.loss->nearest_mean < predicted.loss->predicted_mean) {
    if (auto answer = first_of(of_tier(Tier::near))) return answer;
    const auto far_here = [](const Candidate& one) { return one.tier == Tier::far && !one.other_device; };
    if (auto answer = first_of(far_here)) return answer;
  }
  if (predicted.answer) return predicted.answer;
  for (const Tier tier : {Tier::near, Tier::same_architecture, Tier::far}) {
    if (auto answer = first_of(of_tier(tier))) return answer;
  }
  if (book.hashes.empty()) return std::nullopt;
  ModelWinner preset;
  preset.tile = 8;
  if (!may_run(preset, asked, asked_device)) return std::nullopt;
  const bool has_asked = std::find(book.hashes.begin(), book.hashes.end(), query.kernel_hash) != book.hashes.end();
  return ModelAnswer{Tier::preset_default, 0, "", 8, false, staleness(has_asked ? query.kernel_hash : book.hashes.back()), {}, {}, {}, ""};
}

}  // namespace tunebook::testing
