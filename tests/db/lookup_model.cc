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

struct Candidate {
  const ModelWinner* winner;
  int tier;            // as in Tier
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
    const bool method = winner.method == query.method || winner.method.rfind(query.method + "/", 0) == 0;
    if (replaced || winner.finished.empty() || winner.objective != query.objective || !method || winner.mode != asked.mode) continue;
    const bool same = agrees(query.device, winner.device);
    const bool related = asked_device.kind == winner.device.kind && asked_device.compute_capability != 0 &&
                         asked_device.compute_capability == winner.device.compute_capability;
    if (!same && !related) continue;
    Candidate candidate;
    candidate.winner = &winner;
    candidate.other_hash = !query.kernel_hash.empty() && winner.hash != query.kernel_hash;
    candidate.other_device = !same;
    const double dx = std::min(ratio(winner.x, asked.x), ratio(winner.y, asked.y));
    const double dy = std::max(ratio(winner.x, asked.x), ratio(winner.y, asked.y));
    candidate.distance = std::sqrt(dx * dx + dy * dy);
    const bool this_problem = winner.x == asked.x && winner.y == asked.y;
    candidate.tier = candidate.distance > near_cap ? 3 : !same ? 2 : this_problem ? 0 : 1;
    candidate.device = same ? running_device(query.device, &winner.device) : asked_device;
    candidates.push_back(candidate);
  }
  const auto text = [](const ModelWinner& w) {
    return "{\"mode\":\"" + w.mode + "\",\"x\":" + std::to_string(w.x) + ",\"y\":" + std::to_string(w.y) + "}";
  };
  std::sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
    const ModelWinner& x = *a.winner;
    const ModelWinner& y = *b.winner;
    const bool far_a = a.tier == 3 && a.other_device, far_b = b.tier == 3 && b.other_device;
    const std::int64_t size_a = x.x * x.y, size_b = y.x * y.y;
    const std::string text_a = text(x), text_b = text(y);
    return std::tie(a.tier, a.other_hash, far_a, a.distance, size_a, text_a, y.finished, x.session) <
           std::tie(b.tier, b.other_hash, far_b, b.distance, size_b, text_b, x.finished, y.session);
  });
  const auto staleness = [&](const std::string& hash) {
    return query.kernel_hash.empty() ? Stale::unknown : hash == query.kernel_hash ? Stale::no : Stale::yes;
  };
  for (const Candidate& candidate : candidates) {
    const ModelWinner& winner = *candidate.winner;
    if (may_run(winner, asked, candidate.device)) {
      return ModelAnswer{static_cast<Tier>(candidate.tier), candidate.distance, winner.session, winner.tile, winner.wide,
                         staleness(winner.hash)};
    }
  }
  if (book.hashes.empty()) return std::nullopt;
  ModelWinner preset;
  preset.tile = 8;
  if (!may_run(preset, asked, asked_device)) return std::nullopt;
  const bool has_asked = std::find(book.hashes.begin(), book.hashes.end(), query.kernel_hash) != book.hashes.end();
  return ModelAnswer{Tier::preset_default, 0, "", 8, false, staleness(has_asked ? query.kernel_hash : book.hashes.back())};
}

}  // namespace tunebook::testing
