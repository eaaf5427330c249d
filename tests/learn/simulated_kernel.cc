#include "simulated_kernel.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <stdlib.h>

#include <fmt/format.h>

#include "core/spec.h"

namespace tunebook::testing {
namespace {

const char* const kSpec = R"json({
  "tunebook": 1, "kernel": "rows", "summary": "b = a", "source": "kernel.cu", "entry": "rows", "instantiate": ["T", "THREADS", "VEC", "UNROLL"],
  "problem": {
    "m": {"default": 64, "verify": [1, 33]}, "n": {"default": 64, "verify": [1, 65]},
    "dtype": {"values": ["f32", "f16"], "default": "f32"}},
  "parameters": {
    "THREADS": {"values": [32, 64, 128, 256, 512, 1024]}, "VEC": {"values": [1, 2, 4]}, "UNROLL": {"values": [1, 2, 4, 8]}},
  "constraints": ["n % VEC == 0"],
  "presets": {"default": {"THREADS": 128, "VEC": 1, "UNROLL": 1}},
  "launch": {"block": ["THREADS"], "grid": ["m"], "shared_bytes": "0"},
  "arguments": [
    {"name": "b", "type": "T*", "count": "m * n", "access": "out"},
    {"name": "a", "type": "T*", "count": "m * n", "access": "in", "fill": "uniform(-1, 1)"},
    {"name": "m", "type": "i64", "value": "m"}],
  "reference": {"source": "reference.cu", "entry": "rows_reference", "block": ["256"], "grid": ["ceil_div(m * n, 256)"]},
  "tolerance": {"f32": {"rel": "0", "abs": "1"}, "f16": {"rel": "0", "abs": "1"}},
  "work": {"bytes": "2 * m * n * sizeof(T)"}
})json";

std::int64_t number(const NamedValues& values, const char* name) {
  return std::get<std::int64_t>(values.at(name));
}

}  // namespace

KernelSpec SimulatedKernel::spec() {
  static const KernelSpec parsed = KernelSpec::parse(nlohmann::ordered_json::parse(kSpec), "rows");
  return parsed;
}

Device SimulatedKernel::device() {
  Device device;
  device.kind = "cuda";
  device.name = "Simulated GPU";
  device.compute_capability = 90;
  device.sm_count = 100;
  device.memory_gib = 80;
  device.limits.max_threads_per_sm = 2048;
  return device;
}

std::vector<Configuration> SimulatedKernel::configurations() {
  std::vector<Configuration> all;
  for (std::int64_t threads = 32; threads <= 1024; threads *= 2) {
    for (std::int64_t vec = 1; vec <= 4; vec *= 2) {
      for (std::int64_t unroll = 1; unroll <= 8; unroll *= 2) {
        Configuration one;
        one.set("THREADS", threads);
        one.set("VEC", vec);
        one.set("UNROLL", unroll);
        all.push_back(one);
      }
    }
  }
  std::sort(all.begin(), all.end(), [](const Configuration& x, const Configuration& y) {
    return x.canonical() < y.canonical();
  });
  return all;
}

Problem SimulatedKernel::problem(std::int64_t m, std::int64_t n, const std::string& dtype) {
  Problem problem;
  problem.set("m", m);
  problem.set("n", n);
  problem.set("dtype", dtype);
  return problem;
}

Problem SimulatedKernel::random_problem(Random& random) {
  const auto size = [&](double least, double most) {
    return static_cast<std::int64_t>(std::exp2(least + (most - least) * random.uniform()));
  };
  const std::int64_t n = size(6, 15);
  // One draw after the other: compilers evaluate arguments in different orders.
  const bool odd = random.below(3) == 0;
  const std::int64_t m = size(4, 14);
  return problem(m, odd ? n | 1 : (n + 7) / 8 * 8);
}

bool SimulatedKernel::valid(const Problem& problem, const Configuration& configuration) {
  return number(problem, "n") % number(configuration, "VEC") == 0;
}

// Rows in waves over the SMs; a row in turns of THREADS * VEC * UNROLL elements, each turn with a
// latency that more loads in flight hide.
double SimulatedKernel::time_us(const Problem& problem, const Configuration& configuration) {
  const double m = static_cast<double>(number(problem, "m")),
               n = static_cast<double>(number(problem, "n"));
  const double threads = static_cast<double>(number(configuration, "THREADS")),
               vec = static_cast<double>(number(configuration, "VEC"));
  const double unroll = static_cast<double>(number(configuration, "UNROLL"));
  const double blocks_per_sm = std::min(2048 / threads, 32.0);
  const double waves = std::ceil(m / (100 * blocks_per_sm));
  const double turns = std::ceil(n / (threads * vec * unroll));
  const double turn_us =
      0.4 + 0.03 * unroll * vec + threads * blocks_per_sm * vec * unroll * 4 / 20'000;
  return 1 + waves * (0.5 + 0.0008 * threads + turns * turn_us);
}

double SimulatedKernel::best_us(const Problem& problem) {
  double best = std::numeric_limits<double>::infinity();
  for (const Configuration& one : configurations()) {
    if (valid(problem, one)) best = std::min(best, time_us(problem, one));
  }
  return best;
}

TrainingTrial simulated_trial(std::uint32_t problem, std::uint32_t configuration,
                              double median_us) {
  TrainingTrial trial;
  trial.problem = problem;
  trial.configuration = configuration;
  trial.median_us = median_us;
  trial.registers = 32;
  trial.shared_bytes = 0;
  trial.verified = true;
  trial.recorded_utc = "2026-12-01T00:00:00.000000Z";
  return trial;
}

TrainingGroup simulated_group(const std::vector<Problem>& problems, std::size_t trials,
                              Random& random, double noise) {
  TrainingGroup group;
  group.kernel = group.device_row = 1;
  group.name = "rows";
  group.kernel_hash = "hash-1";
  group.spec = SimulatedKernel::spec();
  group.device = SimulatedKernel::device();
  group.dtype = "f32";
  group.method = "cold/2";
  std::map<std::string, Problem> sorted;
  for (const Problem& one : problems) sorted.emplace(one.canonical(), one);
  for (const auto& [text, one] : sorted) group.problems.push_back(one);
  group.configurations = SimulatedKernel::configurations();
  group.proved_bad.assign(group.configurations.size(), false);
  for (std::uint32_t problem = 0; problem < group.problems.size(); ++problem) {
    std::set<std::uint32_t> drawn;
    for (std::size_t i = 0; i < trials; ++i)
      drawn.insert(static_cast<std::uint32_t>(random.below(group.configurations.size())));
    for (const std::uint32_t configuration : drawn) {
      if (!SimulatedKernel::valid(group.problems[problem], group.configurations[configuration]))
        continue;
      const double time =
          SimulatedKernel::time_us(group.problems[problem], group.configurations[configuration]);
      group.trials.push_back(
          simulated_trial(problem, configuration, time * std::exp(noise * random.normal())));
    }
  }
  return group;
}

TrialContext simulated_context() {
  TrialContext context;
  context.kernel = "rows";
  context.kernel_hash = "hash-1";
  context.kernel_spec = SimulatedKernel::spec().to_json();
  context.device = SimulatedKernel::device();
  context.toolchain = "nvrtc 13.0, driver 580.1";
  context.method = "cold/2";
  context.environment = {{"driver", "580.1"}};
  return context;
}

void write_book(const TrainingGroup& group, const std::filesystem::path& path) {
  Store store(path);
  const TrialContext context = simulated_context();
  std::string session;
  std::size_t trial = 0;
  for (std::uint32_t problem = 0; problem < group.problems.size(); ++problem) {
    SessionRecord proposed;
    proposed.problem = group.problems[problem];
    proposed.strategy = "random";
    proposed.budget = "100";
    proposed.identity = {{"of", group.problems[problem].canonical()}};
    session = store.open_session(context, proposed, false).id;
    const TrainingTrial* best = nullptr;
    for (; trial < group.trials.size() && group.trials[trial].problem == problem; ++trial) {
      const TrainingTrial& from = group.trials[trial];
      TrialRecord record;
      record.order = static_cast<std::int64_t>(trial);
      record.origin = "strategy";
      record.configuration = group.configurations[from.configuration];
      record.outcome = from.outcome;
      if (has_time(from.outcome)) record.median_us = from.median_us;
      record.resources.registers = from.registers;
      record.resources.shared_static_bytes = from.shared_bytes;
      record.resources.shared_dynamic_bytes = 0;
      record.verified_problems = from.verified ? 2 : 0;
      store.record_trial(session, context, group.problems[problem], record);
      if (from.outcome == Outcome::ok && (best == nullptr || from.median_us < best->median_us))
        best = &from;
    }
    if (best != nullptr) {
      WinnerRecord winner;
      winner.session_id = session;
      winner.configuration = group.configurations[best->configuration];
      winner.median_us = winner.ci_low_us = winner.ci_high_us = best->median_us;
      store.record_winner(context, group.problems[problem], winner);
    }
    store.finish_session(session, 1);
  }
}

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "tunebook-learn-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tunebook::testing
