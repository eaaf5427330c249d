#include "reports/sample_reports.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/random.h"

namespace tunebook::reports::testing {
namespace {

constexpr std::array<std::string_view, 5> kDevices = {"NVIDIA H200", "NVIDIA H100 PCIe", "NVIDIA A100-PCIE-40GB", "NVIDIA L4", "NVIDIA GeForce RTX 3090"};
constexpr std::array<double, 5> kPeak = {63'800, 48'000, 18'500, 28'000, 33'000};  // GFLOP/s

struct Parameter {
  std::string_view name;
  std::vector<std::int64_t> values;
};
const std::vector<Parameter> kParameters = {{"BM", {32, 64, 128, 256}}, {"BN", {32, 64, 128, 256}}, {"BK", {8, 16, 32}}, {"TM", {1, 2, 4, 8}},
                                            {"TN", {1, 2, 4, 8}}, {"STAGES", {1, 2, 3}}, {"VECTOR", {1, 2, 4}}};

Configuration draw_configuration(Random& random) {
  Configuration configuration;
  for (const Parameter& parameter : kParameters) configuration.set(std::string(parameter.name), parameter.values[random.below(parameter.values.size())]);
  return configuration;
}

Problem problem_of(std::size_t shape) {
  constexpr std::array<std::array<std::int64_t, 3>, 8> kFirst = {{{512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192},
                                                                  {1, 4096, 4096}, {16, 4096, 4096}, {4095, 4097, 4093}}};
  const auto sizes = shape < kFirst.size() ? kFirst[shape] : std::array<std::int64_t, 3>{64 * static_cast<std::int64_t>(shape), 1024, 256 + 32 * static_cast<std::int64_t>(shape)};
  Problem problem;
  problem.set("m", sizes[0]);
  problem.set("n", sizes[1]);
  problem.set("k", sizes[2]);
  problem.set("dtype", std::string("f32"));
  return problem;
}

double flops_of(const Problem& problem) {
  double flops = 2;
  for (const std::string_view name : {"m", "n", "k"}) flops *= static_cast<double>(std::get<std::int64_t>(problem.at(name)));
  return flops;
}

// Larger tiles and more per thread are faster up to a point; the rest is noise.
double slowdown(const Configuration& configuration, Random& random) {
  double factor = 1.05;
  const auto distance = [&](std::string_view name, double best) {
    return std::abs(std::log2(static_cast<double>(std::get<std::int64_t>(configuration.at(name))) / best));
  };
  factor *= std::pow(1.12, distance("BM", 128)) * std::pow(1.1, distance("BN", 128)) * std::pow(1.18, distance("TM", 8)) * std::pow(1.15, distance("TN", 8));
  factor *= std::pow(1.04, distance("STAGES", 2)) * std::pow(1.08, distance("VECTOR", 4));
  return factor * std::exp(0.12 * random.uniform());
}

TimeEstimate estimate(double us, double share = 0.003) { return {us, us * (1 - share), us * (1 + share), 0.98}; }

Rates rates_of(double us, double flops, double peak, std::optional<double> baseline_us) {
  Rates rates;
  rates.gflops = flops / us / 1e3;
  rates.percent_of_ceiling = 100 * *rates.gflops / peak;
  if (baseline_us) rates.percent_of_baseline = 100 * *baseline_us / us;
  return rates;
}

Outcome failure(double draw) {
  if (draw < 0.45) return Outcome::compile_error;
  if (draw < 0.6) return Outcome::no_resources;
  if (draw < 0.72) return Outcome::launch_error;
  if (draw < 0.82) return Outcome::wrong_result;
  if (draw < 0.9) return Outcome::run_timeout;
  if (draw < 0.96) return Outcome::fault;
  return Outcome::worker_lost;
}

std::string message_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::compile_error: return "kernel.cu(73): error: static assertion failed with \"a tile must hold whole vectors\"\n  static_assert(BK % VECTOR == 0);\n1 error detected";
    case Outcome::no_resources: return "needs 98304 bytes of shared memory, a block has at most 49152 on this device";
    case Outcome::launch_error: return "cudaLaunchKernelExC: too many resources requested for launch";
    case Outcome::wrong_result: return "c[4097] is 1.25, the reference 1.5, on m=33,n=65,k=17";
    case Outcome::run_timeout: return "still running after 2 s";
    case Outcome::fault: return "an illegal memory access was encountered";
    default: return "the worker ended with signal 9";
  }
}

// Outcomes, failures and effects of an item from its trials.
void summarise_trials(Item& item) {
  std::map<Outcome, std::int64_t> counts;
  std::map<Outcome, FailureGroup> groups;
  for (const TrialPoint& trial : item.trials) {
    ++counts[trial.outcome];
    if (has_time(trial.outcome)) continue;
    FailureGroup& group = groups[trial.outcome];
    if (group.count++ == 0) group = {trial.outcome, trial.message, 1, trial.evaluation, trial.configuration.display()};
  }
  for (const Outcome outcome : kOutcomes) {
    if (counts[outcome] > 0) item.outcomes.emplace_back(outcome, counts[outcome]);
  }
  for (const auto& [outcome, group] : groups) item.failures.push_back(group);
  std::stable_sort(item.failures.begin(), item.failures.end(), [](const FailureGroup& x, const FailureGroup& y) { return x.count > y.count; });
  item.failure_groups = static_cast<std::int64_t>(item.failures.size());
  for (const Parameter& parameter : kParameters) {
    ParameterEffect effect;
    effect.parameter = parameter.name;
    double low = 1e300, high = 0;
    for (const std::int64_t value : parameter.values) {
      EffectValue row;
      row.value = std::to_string(value);
      std::vector<double> times;
      for (const TrialPoint& trial : item.trials) {
        if (std::get<std::int64_t>(trial.configuration.at(parameter.name)) != value) continue;
        ++row.trials;
        if (trial.time_us) times.push_back(*trial.time_us);
      }
      row.timed = static_cast<std::int64_t>(times.size());
      if (!times.empty()) {
        std::sort(times.begin(), times.end());
        row.best_us = times.front();
        row.median_us = times[times.size() / 2];
        low = std::min(low, times.front());
        high = std::max(high, times.front());
      }
      effect.values.push_back(row);
    }
    if (high > 0) effect.spread_of_best = high / low;
    item.effects.push_back(effect);
  }
  std::stable_sort(item.effects.begin(), item.effects.end(), [](const ParameterEffect& x, const ParameterEffect& y) { return x.spread_of_best > y.spread_of_best; });
}

Item sample_item(std::size_t shape, std::size_t device, const SampleSize& size, std::uint64_t seed) {
  Random random(seed + 1000 * shape + 77 * device);
  Item item;
  item.key = {"matmul", problem_of(shape), std::string(kDevices[device]), fmt::format("{{\"name\":\"{}\"}}", kDevices[device]), "cuda", "cold/2", "time"};
  item.session_id = fmt::format("{:016x}{:016x}", random.next(), random.next());
  item.strategy = "auto";
  item.kernel_hash = fmt::format("{:016x}", seed * 0x9e3779b97f4a7c15);
  item.date = "2026-11-29";
  item.environment = {{"GPU", item.key.device}, {"driver", "580.95"}, {"toolkit", "NVRTC 13.0"}, {"clocks", "not locked"}};
  const double flops = flops_of(item.key.problem), peak = kPeak[device];
  item.flops = flops;
  item.ceiling = AppliedCeiling{"fma_f32", peak, flops / (peak * 1e3), false};
  item.ceiling_phrase = "what the FMA units reach in f32";
  const double fill = std::min(1.0, 0.2 + 0.09 * std::log2(flops / 1e7 + 1));  // small problems do not fill the device
  const double floor_us = item.ceiling->floor_us / std::max(0.05, 0.92 * fill);
  double best = 1e300;
  for (std::size_t t = 0; t < size.trials; ++t) {
    TrialPoint trial;
    trial.evaluation = static_cast<std::int64_t>(t + 1);
    trial.configuration = draw_configuration(random);
    trial.origin = t == 0 ? "preset:default" : "strategy";
    if (t > 1 && random.uniform() < 0.13) {
      trial.outcome = failure(random.uniform());
      trial.message = message_of(trial.outcome);
    } else {
      // The search learns: later trials come nearer to the best.
      const double learnt = 1 + (slowdown(trial.configuration, random) - 1) * (1 - 0.6 * static_cast<double>(t) / static_cast<double>(size.trials));
      trial.time_us = floor_us * learnt;
      trial.outcome = *trial.time_us > 2.5 * best ? Outcome::abandoned : Outcome::ok;
      if (*trial.time_us < best) {
        best = *trial.time_us;
        item.convergence.push_back({trial.evaluation, best, trial.configuration.display()});
      }
    }
    item.trials.push_back(std::move(trial));
  }
  item.trial_count = static_cast<std::int64_t>(size.trials);
  for (double k = 1; k <= static_cast<double>(size.trials); k *= 1.3) {
    item.random_expectation.push_back({static_cast<std::int64_t>(k), best * (1.08 + 2.4 / k)});
  }
  item.random_expectation.push_back({item.trial_count, best * 1.08});
  summarise_trials(item);

  const double baseline_us = best * 1.06;
  item.baseline = BaselineResult{"gemm", BaselineState::ok, "cuBLAS 13.0.2", "algorithm 21", estimate(baseline_us), {}, baseline_us / best, std::pair(1.05, 1.07)};
  std::vector<const TrialPoint*> timed;
  for (const TrialPoint& trial : item.trials) {
    if (trial.outcome == Outcome::ok) timed.push_back(&trial);
  }
  std::sort(timed.begin(), timed.end(), [](const TrialPoint* x, const TrialPoint* y) { return *x->time_us < *y->time_us; });
  for (std::size_t place = 0; place < std::min<std::size_t>(8, timed.size()); ++place) {
    ConfigurationRow row;
    row.configuration = timed[place]->configuration;
    row.origin = timed[place]->origin;
    row.evaluation = timed[place]->evaluation;
    row.winner = place == 0;
    row.finalist = place < 4;
    row.in_tie_set = place < 2;
    row.first_pass = estimate(*timed[place]->time_us * 1.002, 0.005);
    row.time = row.finalist ? estimate(*timed[place]->time_us) : *row.first_pass;
    row.resources.registers = 96 + 8 * static_cast<std::int64_t>(random.below(16));
    row.resources.shared_static_bytes = 0;
    row.resources.shared_dynamic_bytes = 16'384 << random.below(3);
    row.resources.spill_load_bytes = place == 3 ? 48 : 0;
    row.resources.spill_store_bytes = 0;
    row.resources.blocks_per_sm = 1 + static_cast<std::int64_t>(random.below(3));
    row.rates = rates_of(row.time->median_us, flops, peak, baseline_us);
    row.sm_clock_mhz = 1980;
    row.sanitizer = row.finalist ? "clean" : "";
    item.top.push_back(row);
  }
  item.winner = item.top.front();
  item.tie_set_size = 2;
  double last = 0, first = 0;
  for (const auto& [name, factor] : {std::pair<std::string_view, double>{"naive", 9.8}, {"tiled", 6.1}, {"tiled_padded", 7.6}, {"vectorized", 3.4}, {"register_tiled", 1.4}, {"", 1}}) {
    LadderRung rung;
    rung.name = name.empty() ? "winner" : name;
    rung.winner = name.empty();
    rung.configuration = draw_configuration(random);
    rung.time = estimate(best * factor);
    rung.rates = rates_of(best * factor, flops, peak, baseline_us);
    if (last > 0) rung.gain = last / rung.time->median_us;
    if (first > 0) rung.gain_in_all = first / rung.time->median_us;
    last = rung.time->median_us;
    first = first > 0 ? first : last;
    item.ladder.push_back(rung);
  }
  item.ladder[2].time.reset();
  item.ladder[2].outcome = Outcome::launch_error;
  item.ladder[2].message = message_of(Outcome::launch_error);
  item.cost = {141.2, 9.4, 22.8, 3.1, 48.6, item.trial_count, 3};
  for (std::size_t night = 0; night < size.nights; ++night) {
    const bool last_night = night + 1 == size.nights;
    const double us = last_night ? best : best * (night < size.nights / 2 ? 1.06 : 1.0) * (1 + 0.012 * (random.uniform() - 0.5));
    TrendPoint point;
    point.date = fmt::format("2026-11-{:02}", 30 - size.nights + night);
    point.session_id = fmt::format("{:016x}{:016x}", random.next(), random.next());
    point.finished_utc = point.date + "T03:10:00.000000Z";
    point.time = estimate(us, 0.004);
    point.configuration = item.winner->configuration.display();
    point.kernel_hash = item.kernel_hash;
    point.configuration_changed = night > 0 && night == size.nights / 2;
    if (night == size.nights / 2 + 2) point.environment_changed = {"driver: 580.65 -> 580.95"};
    item.trend.push_back(point);
  }
  item.session_count = static_cast<std::int64_t>(size.nights);
  item.reproduction = {fmt::format("tunebook tune matmul --shape {} --budget {} --seed 42 --strategy auto --presets --device cuda:0 --book nightly.db", item.key.shape(), size.trials),
                       "/var/lib/tunebook/nightly.db", item.session_id, item.kernel_hash, "NVRTC 13.0, -arch=sm_90 -std=c++20", 42};
  return item;
}

Report report_of(const SampleSize& size, std::uint64_t seed) {
  Report report;
  report.title = size.devices == 1 ? "matmul on NVIDIA H200" : fmt::format("matmul on {} devices", size.devices);
  report.tunebook_version = "0.1.0";
  report.generated_utc = "2026-11-30T05:00:00Z";
  report.command = "tunebook report --book nightly.db --kernel matmul --html report.html";
  report.side = {"nightly.db", "/var/lib/tunebook/nightly.db", 4, false, {{"kernel", "matmul"}},
                 {{"GPU", "NVIDIA H200"}, {"driver", "580.95"}, {"toolkit", "NVRTC 13.0"}, {"clocks", "not locked"}, {"host", "gpu-17"}}, {}, 0,
                 "2026-11-18T03:00:00Z", "2026-11-29T03:10:00Z"};
  std::int64_t failed = 0;
  for (std::size_t device = 0; device < size.devices; ++device) {
    for (std::size_t shape = 0; shape < size.shapes; ++shape) {
      if (device == 3 && shape == 4) continue;  // never tuned
      Item item = sample_item(shape, device, size, seed);
      report.trial_count += item.trial_count;
      report.cost.compile_seconds += item.cost.compile_seconds;
      report.cost.verify_seconds += item.cost.verify_seconds;
      report.cost.time_seconds += item.cost.time_seconds;
      report.cost.idle_seconds += item.cost.idle_seconds;
      report.cost.wall_seconds += item.cost.wall_seconds;
      report.cost.measured += item.cost.measured;
      std::map<Outcome, std::int64_t> counts(report.outcomes.begin(), report.outcomes.end());
      for (const auto& [outcome, count] : item.outcomes) {
        counts[outcome] += count;
        failed += has_time(outcome) ? 0 : count;
      }
      report.outcomes.assign(counts.begin(), counts.end());
      if (report.failures.empty()) report.failures = item.failures;
      report.side.sessions.push_back({item.session_id, "matmul", item.kernel_hash, item.key.problem, item.key.device, "cold/2", "time", "auto", "240", 42, {},
                                      item.reproduction.toolchain, "2026-11-29T03:00:00Z", "2026-11-29T03:10:00Z", 48.6, item.trial_count});
      report.items.push_back(std::move(item));
    }
  }
  report.failure_groups = static_cast<std::int64_t>(report.failures.size());
  report.side.session_count = static_cast<std::int64_t>(report.side.sessions.size() * size.nights);
  report.summary = fmt::format("{} shapes, 1 kernel, {} devices: {} winners; {} trials, {} failed", size.shapes, size.devices, report.items.size(), report.trial_count, failed);
  return report;
}

}  // namespace

Report sample_report(const SampleSize& size) { return report_of(size, 1); }

Comparison sample_comparison(const SampleSize& size) {
  Comparison comparison;
  comparison.base = report_of(size, 1);
  comparison.candidate = report_of(size, 1);
  comparison.base.side.label = "nightly.db#date=2026-11-28";
  comparison.candidate.side.label = "nightly.db#date=2026-11-29";
  comparison.candidate.side.environment[1].value = "580.105";
  comparison.differences = {{"driver", "580.95", "580.105", true, true}, {"host", "gpu-17", "gpu-18", false, false}};
  comparison.settings.allow_different = {"driver"};
  Random random(7);
  for (std::size_t i = 0; i < comparison.candidate.items.size(); ++i) {
    Item& candidate = comparison.candidate.items[i];
    const Item& base = comparison.base.items[i];
    ComparedItem item;
    item.key = candidate.key;
    item.base = item.candidate = i;
    double change = 0.016 * (random.uniform() - 0.5), half = 0.002 + 0.006 * random.uniform();
    item.verdict = Verdict::unchanged;
    item.reason = "the whole interval lies inside the gate";
    if (i == 0) {
      change = 0.083;
      half = 0.012;
      item.verdict = Verdict::regression;
      item.reason = "p after Holm is below 0.05 and the change exceeds the gate";
      item.same_configuration = false;
      item.configuration_differences = {{"BM", "128", "64"}, {"STAGES", "2", "3"}};
      candidate.winner->configuration.set("BM", std::int64_t{64});
    } else if (i == 1) {
      change = -0.064;
      half = 0.012;
      item.verdict = Verdict::improvement;
      item.reason = "p after Holm is below 0.05 and the change exceeds the gate";
    } else if (i == 2) {
      change = 0.03;
      half = 0.063;
      item.verdict = Verdict::inconclusive;
      item.reason = "the interval reaches outside the gate on both sides";
    }
    candidate.winner->time = estimate(base.time()->median_us * (1 + change));
    item.base_time = *base.time();
    item.candidate_time = *candidate.time();
    item.base_processes = item.candidate_processes = 10;
    item.change = change;
    item.change_low = change - half;
    item.change_high = change + half;
    item.p = item.holm_p = i < 2 ? 1e-6 : 0.4;
    item.threshold = item.gate = 0.02;
    item.noise = 0.011;
    item.noise_nights = size.nights;
    ++comparison.counts[item.verdict];
    comparison.items.push_back(item);
  }
  comparison.worst = 0;
  comparison.exit_code = 3;
  comparison.title = "matmul \u00b7 2026-11-29 vs 2026-11-28";
  comparison.verdict_line = fmt::format("1 regression, {} improvement, {} unchanged, {} inconclusive (threshold \u00b12 %, 95 % intervals, Holm-adjusted)",
                                        comparison.counts[Verdict::improvement], comparison.counts[Verdict::unchanged], comparison.counts[Verdict::inconclusive]);
  comparison.command = "tunebook compare nightly.db#date=2026-11-28 nightly.db#date=2026-11-29 --allow-different driver --html compare.html";
  comparison.generated_utc = "2026-11-30T05:00:00Z";
  return comparison;
}

namespace {

const std::string kMarkup = "<script>document.title='owned'</script><img src=x onerror=alert(1)> \"double\" 'single' & &amp; </td></table></details></style>";
const std::string kRightToLeft = "\u202e\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 <b>\u2066\u2067 abc";
const std::string kControl = std::string("bell\x07 escape\x1b[31m nul") + '\0' + " \u0085 del\x7f broken\xff\xc3\x28 end\u2028line";
const std::string kLongLine = "begin-" + std::string(10'240, 'x') + "-end";

void make_hostile(Report& report) {
  report.title = kMarkup;
  report.command = "tunebook report --book '" + kMarkup + "' " + kLongLine;
  report.summary = kMarkup + kRightToLeft;
  report.notes = {kMarkup, kLongLine, kControl, kRightToLeft};
  report.side.label = kRightToLeft + kMarkup;
  report.side.book = kLongLine;
  report.side.filter = {{"kernel", kMarkup}};
  for (Labelled& entry : report.side.environment) entry.value = kMarkup + kControl;
  for (SessionInfo& session : report.side.sessions) {
    session.kernel = kMarkup;
    session.toolchain = kLongLine;
    session.where = {kMarkup, kRightToLeft};
    session.strategy = kRightToLeft;
  }
  const std::array<std::string, 4> texts = {kMarkup, kRightToLeft, kControl, kLongLine};
  std::size_t next = 0;
  const auto text = [&]() -> const std::string& { return texts[next++ % texts.size()]; };
  for (Item& item : report.items) {
    item.key.kernel = text();
    item.key.device = text();
    item.key.device_key += text();
    item.key.problem.set(kMarkup, text());
    item.winner->configuration.set(text(), text());
    item.baseline->name = text();
    item.ceiling_phrase = text();
    for (ConfigurationRow& row : item.top) {
      row.configuration.set(text(), text());
      row.origin = text();
      row.sanitizer = text();
    }
    for (TrialPoint& trial : item.trials) {
      trial.configuration.set("NAME", text());
      if (!trial.time_us) trial.message = text() + "\n" + text();
    }
    for (FailureGroup& group : item.failures) {
      group.message = text() + "\n" + text();
      group.configuration = text();
    }
    for (BestSoFar& point : item.convergence) point.configuration = text();
    for (ParameterEffect& effect : item.effects) {
      effect.parameter = text();
      for (EffectValue& value : effect.values) value.value = text();
    }
    for (LadderRung& rung : item.ladder) {
      rung.name = text();
      if (!rung.time) rung.message = text();
    }
    for (TrendPoint& point : item.trend) {
      point.configuration = text();
      point.environment_changed = {text(), text()};
    }
    item.reproduction.command = text() + kLongLine;
    item.reproduction.toolchain = text();
  }
  report.failures = report.items.front().failures;
}

}  // namespace

Report hostile_report(std::size_t trials) {
  Report report = report_of({.shapes = 2, .devices = 2, .nights = 3, .trials = trials}, 3);
  make_hostile(report);
  return report;
}

Comparison hostile_comparison(std::size_t trials) {
  Comparison comparison = sample_comparison({.shapes = 2, .devices = 2, .nights = 3, .trials = trials});
  make_hostile(comparison.base);
  make_hostile(comparison.candidate);
  comparison.title = kMarkup;
  comparison.verdict_line = kMarkup + kRightToLeft;
  comparison.command = kLongLine;
  comparison.notes = {kMarkup, kLongLine, kControl};
  for (EnvironmentDifference& difference : comparison.differences) difference = {kMarkup, kLongLine, kRightToLeft, true, false};
  for (std::size_t i = 0; i < comparison.items.size(); ++i) {
    ComparedItem& item = comparison.items[i];
    item.key = comparison.candidate.items[i].key;
    item.reason = kLongLine;
    item.configuration_differences.push_back({kMarkup, kRightToLeft, kLongLine});
  }
  return comparison;
}

}  // namespace tunebook::reports::testing
