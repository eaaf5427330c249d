#include <charconv>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/ceiling_text.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/ladder.h"
#include "cli/learned_model.h"
#include "cli/progress_pipe.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "search/recording.h"
#include "session/device_executor.h"
#include "session/finalists.h"
#include "session/possible_time.h"
#include "session/replay_executor.h"
#include "session/subject.h"
#include "session/tune.h"

namespace tunebook::cli {
namespace {

struct Options {
  std::string kernel, shape, device, book, strategy = "auto", budget = "200";
  std::vector<std::string> templates, where;
  std::string from_book = "true";  // "false", or how many predicted configurations come first
  std::uint64_t seed = 0;
  bool shape_given = false, presets = false, remeasure = false, sanitize = false, json = false;
  int compile_workers = 0, finalists = 8, finalist_processes = 5;
  double run_timeout_s = 10, compile_timeout_s = 60;
  int lock_clocks_mhz = 0;
  std::string cache = "cold", objective = "time";
  bool energy = false;
  bool no_baseline = false;
  bool foresight = false;
  double time_limit_s = 0;
  bool retime = false;
  std::string sweep_start_utc;
  int progress_fd = -1;
};

// Everything a session needs, from a template on a device or from a recording.
struct Stage {
  std::unique_ptr<KernelTemplate> kernel;
  std::unique_ptr<Recording> recording;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<SearchSpace> space;
  TuneSubject subject;
  int compile_workers = 0;
  std::vector<Ceiling> ceilings;  // of the device, all methods; none of a recording
};

Stage open_replay(const Options& options, const DeviceChoice& device) {
  if (options.sanitize) throw InputError("a recording runs no kernels; leave out --sanitize");
  if (options.energy || options.objective == "energy") {
    throw InputError("a recording holds no energy; leave out --energy and --objective energy");
  }
  Stage stage;
  if (options.lock_clocks_mhz != 0) throw InputError("--lock-clocks is for GPUs; a recording has no clocks");
  stage.recording = std::make_unique<Recording>(load_recording(device.argument, options.kernel, options.shape));
  const Recording& recording = *stage.recording;
  if (recording.kernel() != options.kernel) {
    throw InputError(fmt::format("{}: a recording of kernel '{}', not of '{}'; run: tunebook tune {} --device replay:{}",
                                 device.argument, recording.kernel(), options.kernel, recording.kernel(), device.argument));
  }
  stage.subject = replay_subject(recording, options.shape);
  stage.space = std::make_unique<SearchSpace>(recording.space(options.where));
  stage.executor = std::make_unique<ReplayExecutor>(recording);
  return stage;
}

Stage open_device(const Options& options, const DeviceChoice& device, ProgressPipe& pipe) {
  Stage stage;
  stage.kernel = std::make_unique<KernelTemplate>(find_template(options.kernel, template_search_path(options.templates)));
  const KernelSpec& spec = stage.kernel->spec;
  const Problem problem = options.shape_given ? spec.parse_shape(options.shape) : spec.default_problem();
  if (!options.shape_given) fmt::print(stderr, "note: no --shape given; tuning the template's default, {}\n", problem.display());
  DeviceExecutorOptions executor_options;
  executor_options.device = device;
  executor_options.compile_workers = options.compile_workers;
  executor_options.run_timeout_s = options.run_timeout_s;
  executor_options.compile_timeout_s = options.compile_timeout_s;
  executor_options.cache = options.cache == "warm" ? CacheMode::warm : CacheMode::cold;
  executor_options.seed = options.seed;
  executor_options.lock_clocks_mhz = options.lock_clocks_mhz;
  executor_options.energy = options.objective == "energy";
  pipe.stage("device");
  auto executor = std::make_unique<DeviceExecutor>(*stage.kernel, executor_options);
  pipe.stage("space");
  const Device& found = executor->identity().device;
  if ((options.energy || options.objective == "energy") && !executor->counts_energy()) {
    throw InputError(fmt::format("{}: this device does not count energy; leave out --energy and --objective energy", found.name));
  }
  if (const std::string& reason = executor->fallback_reason(); !reason.empty()) {
    fmt::print(stderr, "note: the cpu device is used; no GPU: {}\n", reason.substr(0, reason.find('\n')));
  }
  stage.space = std::make_unique<SearchSpace>(SearchSpace::build(template_space(spec, problem, found, options.where)));
  executor->set_problem(problem);
  stage.compile_workers = executor->compile_workers();
  stage.subject = template_subject(*stage.kernel, problem, found);
  stage.executor = std::move(executor);
  return stage;
}

std::string progress_text(const TuneObserver::Progress& progress) {
  std::string text = fmt::format("{}: {}/{} trials", progress.step, progress.done, progress.total);
  if (progress.failed > 0) text += fmt::format(", {} failed", progress.failed);
  if (progress.best_us) text += fmt::format(", best {}", format_time_us(*progress.best_us));
  if (progress.remaining_seconds) text += fmt::format(", about {} left", format_duration(*progress.remaining_seconds));
  return text;
}

// What --sanitize found; of a session that the book answers, what it found then.
nlohmann::ordered_json sanitizer_json(const TuneResult& result) {
  nlohmann::ordered_json json;
  json["tool"] = result.sanitizer.name;
  if (!result.sanitizer.reason.empty()) json["skipped"] = result.sanitizer.reason;
  json["findings"] = nlohmann::ordered_json::array();
  json["unfinished"] = nlohmann::ordered_json::array();
  std::int64_t clean = 0;
  const auto add = [&](const Configuration& configuration, const std::string& text, const std::string& note) {
    if (text == "clean") ++clean;
    else if (!text.empty()) json["findings"].push_back({{"configuration", configuration.to_json()}, {"finding", text}});
    else json["unfinished"].push_back({{"configuration", configuration.to_json()}, {"reason", note}});
  };
  for (const SanitizerVerdict& verdict : result.sanitized) {
    add(verdict.configuration, verdict.clean ? "clean" : verdict.finding, verdict.note);
  }
  if (result.from_book && result.winner) {
    for (const FinalistRecord& finalist : result.winner->finalists) add(finalist.configuration, finalist.sanitizer, "not finished then");
  }
  json["clean"] = clean;
  return json;
}

void print_sanitizer(const TuneResult& result) {
  if (!result.sanitizer.reason.empty()) {
    fmt::print(stderr, "note: --sanitize: {}; the finalists were not sanitized\n", result.sanitizer.reason);
  }
  if (result.sanitizer.name.empty()) return;
  const nlohmann::ordered_json json = sanitizer_json(result);
  fmt::print("{}: {} clean, {} with findings, {} not finished\n", result.sanitizer.name, json["clean"].get<std::int64_t>(),
             json["findings"].size(), json["unfinished"].size());
  const auto list = [](const nlohmann::ordered_json& entries, const char* key) {
    for (const auto& entry : entries) {
      fmt::print("  {}: {}\n", Configuration::from_json(entry["configuration"], "sanitizer").display(), entry[key].get<std::string>());
    }
  };
  list(json["findings"], "finding");
  list(json["unfinished"], "reason");
}

CeilingText winner_ceiling(const Stage& stage, const TuneResult& result) {
  const TuneSubject& subject = stage.subject;
  return ceiling_text(stage.ceilings, workload_of(subject.problem, subject.flops, subject.bytes), stage.executor->identity().method,
                      result.winner->median_us);
}

// What the winner is compared with; the ratio is its time over the winner's.
nlohmann::ordered_json baseline_json(const TuneResult& result) {
  const BaselineRecord& baseline = *result.baseline;
  nlohmann::ordered_json json = {{"name", baseline.name}, {"median_us", nullptr}, {"ratio", nullptr}, {"ratio_ci", nullptr}};
  if (baseline.median_us) json["median_us"] = *baseline.median_us;
  const auto ratio = result.winner ? baseline_ratio(baseline, *result.winner) : std::nullopt;
  if (ratio) json["ratio"] = ratio->ratio;
  if (ratio && ratio->interval) json["ratio_ci"] = {ratio->interval->first, ratio->interval->second};
  json["operation"] = baseline.operation;
  json["state"] = baseline_state_name(baseline.state);
  json["message"] = baseline.message;
  return json;
}

// "cuBLAS 13.0.2 (cublasLtMatmul, choice 2 of 12): 63.5 us, 1.19 times the winner's (1.18 to 1.20)".
std::string baseline_text(const TuneResult& result) {
  const BaselineRecord& baseline = *result.baseline;
  std::string text = fmt::format("{} ({}): {}", baseline.name, baseline.message, format_time_us(*baseline.median_us));
  if (const auto ratio = baseline_ratio(baseline, *result.winner)) {
    text += fmt::format(", {:.3f} times the winner's", ratio->ratio);
    if (ratio->interval) text += fmt::format(" ({:.3f} to {:.3f})", ratio->interval->first, ratio->interval->second);
  }
  return text;
}

void print_missing_baseline(const TuneResult& result) {
  if (!result.baseline) return;
  const BaselineRecord& baseline = *result.baseline;
  const std::string name = baseline.name.empty() ? baseline.operation : baseline.name;
  const char* again = result.from_book ? " (that was then; --remeasure tries again)" : "";
  switch (baseline.state) {
    case BaselineState::ok: break;
    case BaselineState::unavailable: fmt::print(stderr, "note: no baseline: {}{}\n", baseline.message, again); break;
    case BaselineState::wrong_result: fmt::print(stderr, "note: the baseline {} is not compared with, its result is wrong: {}{}\n", name, baseline.message, again); break;
    case BaselineState::failed: fmt::print(stderr, "note: the baseline {} failed: {}{}\n", name, baseline.message, again); break;
  }
}

// The times of the winner in each fresh process; its one time if there were none.
std::vector<double> process_medians(const WinnerRecord& winner) {
  if (winner.finalists.empty() || winner.finalists.front().process_medians_us.empty()) return {winner.median_us};
  return winner.finalists.front().process_medians_us;
}

// Books of earlier versions have a rate of 0 where a kernel declares no arithmetic.
bool has_rate(const std::optional<double>& rate) { return rate && *rate > 0; }
nlohmann::ordered_json rate_json(const std::optional<double>& rate) {
  return has_rate(rate) ? nlohmann::ordered_json(*rate) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json clock_json(const TuneClock& clock) {
  return {{"start_s", clock.start},     {"first_pass_s", clock.first_pass}, {"finalists_s", clock.finalists}, {"compile_s", clock.compile},
          {"verify_s", clock.verify}, {"time_s", clock.time},             {"device_idle_s", clock.idle}};
}

nlohmann::ordered_json to_json(const Stage& stage, const TuneResult& result, double wall_seconds) {
  nlohmann::ordered_json json;
  json["kernel"] = stage.subject.kernel;
  json["problem"] = stage.subject.problem.to_json();
  json["device"] = stage.executor->identity().device.to_json();
  json["session"] = result.session_id;
  nlohmann::ordered_json trials = nlohmann::ordered_json::object();
  for (const Outcome outcome : kOutcomes) {
    const auto found = result.outcomes.find(outcome);
    if (found != result.outcomes.end()) trials[std::string(outcome_name(outcome))] = found->second;
  }
  json["trials"] = trials;
  json["winner"] = nullptr;
  if (result.winner) {
    const WinnerRecord& winner = *result.winner;
    nlohmann::ordered_json object;
    object["configuration"] = winner.configuration.to_json();
    object["median_us"] = winner.median_us;
    object["ci_us"] = {winner.ci_low_us, winner.ci_high_us};
    object["gflops"] = rate_json(winner.gflops);
    object["gbps"] = rate_json(winner.gbps);
    object["tie_set"] = winner.tie_set_size();
    if (result.winner_verified_problems > 0) {
      object["verified_problems"] = result.winner_verified_problems;
      object["skipped_problems"] = result.winner_skipped_problems;
      object["verified_ragged"] = result.winner_verified_problems > 1;
    }
    object["objective"] = winner.objective;
    if (winner.energy_j) object["energy_j"] = *winner.energy_j;
    object["session"] = winner.session_id;
    object["process_medians_us"] = process_medians(winner);
    json["winner"] = object;
  }
  nlohmann::ordered_json presets = nlohmann::ordered_json::object();
  for (const PresetResult& preset : result.presets) {
    presets[preset.name] = {{"median_us", preset.trial.median_us ? nlohmann::ordered_json(*preset.trial.median_us)
                                                                 : nlohmann::ordered_json(nullptr)},
                            {"outcome", outcome_name(preset.trial.outcome)}};
  }
  json["presets"] = presets;
  if (!result.sanitizer.name.empty() || !result.sanitizer.reason.empty()) json["sanitizer"] = sanitizer_json(result);
  json["wall_s"] = wall_seconds;
  json["configurations_per_s"] =
      result.clock.first_pass > 0 ? static_cast<double>(result.measured) / result.clock.first_pass : 0.0;
  json["from_book_trials"] = result.from_book_trials;
  json["predicted_trials"] = result.predicted_trials;
  if (result.ended_at_improvement) json["ended_at_expected_improvement"] = *result.ended_at_improvement;
  json["ceiling"] = result.winner ? winner_ceiling(stage, result).json : nlohmann::ordered_json(nullptr);
  json["baseline"] = result.baseline ? baseline_json(result) : nlohmann::ordered_json(nullptr);
  json["measured"] = result.measured;
  json["from_book"] = result.from_book;
  json["cut"] = result.cut;
  json["previous"] = nullptr;
  if (result.previous) {
    json["previous"] = {{"session", result.previous->session_id},
                        {"configuration", result.previous->configuration.to_json()},
                        {"median_us", result.previous->median_us},
                        {"process_medians_us", process_medians(*result.previous)}};
    if (result.previous->energy_j) json["previous"]["energy_j"] = *result.previous->energy_j;
  }
  json["clock"] = clock_json(result.clock);
  return json;
}

// What the ladder is made of. Counters are read by a profiler, of the rungs that need them, where there is one that may.
LadderSource ladder_source(const Stage& stage, ProgressLine& line) {
  LadderSource source{stage.kernel.get(), &stage.subject, &stage.executor->identity(), &stage.ceilings, {}};
  auto* const executor = dynamic_cast<DeviceExecutor*>(stage.executor.get());
  if (executor == nullptr || source.place->device.kind != "cuda") return source;
  source.counters = [executor, &line, refused = false](const Configuration& configuration) mutable -> nlohmann::json {
    if (refused || Interrupt::requested()) return nullptr;
    line.show(fmt::format("counting what {} does", configuration.display()));
    const ProfileReport report = executor->profile(configuration);
    line.clear();
    if (report.ok()) return report.metrics;
    refused = true;  // what keeps one from being counted keeps all
    fmt::print(stderr, "note: no counters for the ladder: {}\n", report.reason);
    return nullptr;
  };
  return source;
}

void print_summary(const Stage& stage, const TuneResult& result, const Store& store) {
  const Device& device = stage.executor->identity().device;
  fmt::print("{} {} on {}{}\n", stage.subject.kernel, stage.subject.problem.display(), device.name,
             device.kind == "cpu"      ? " (cpu device: real CPU times, no prediction for a GPU)"
             : device.kind == "replay" ? " (recorded times)"
                                       : "");
  std::string outcomes;
  for (const Outcome outcome : kOutcomes) {
    const auto found = result.outcomes.find(outcome);
    if (found != result.outcomes.end()) outcomes += fmt::format("{}{} {}", outcomes.empty() ? "" : ", ", found->second, outcome_name(outcome));
  }
  fmt::print("trials: {}{}\n", outcomes.empty() ? "none" : outcomes,
             result.from_book ? " (all from the book: this session is already finished; --remeasure runs it again)"
                              : fmt::format("; {} measured now", result.measured));
  if (result.from_book_trials > 0) {
    fmt::print(
        "{} of them from the book, tried first: {} predicted, {} winners of other problems or "
        "devices (--no-from-book leaves them out)\n",
        result.from_book_trials, result.predicted_trials,
        result.from_book_trials - result.predicted_trials);
  }
  if (result.ended_at_improvement) {
    fmt::print("ended: the expected improvement of a further trial is {:.2g} %, below {:g} % (--budget auto)\n",
               100 * *result.ended_at_improvement, 100 * Budget::kAutoImprovement);
  }
  int shown = 0;
  constexpr int kShownMessages = 5;
  for (const auto& [message, count] : result.failure_messages) {
    if (++shown > kShownMessages) break;
    fmt::print("  {} x {}\n", count, message.substr(0, message.find('\n')).substr(0, 200));
  }
  print_sanitizer(result);
  fmt::print("\n");
  if (!result.winner) {
    fmt::print("{}\n", red("No configuration passed: there is no winner.", stdout));
    return;
  }
  const WinnerRecord& winner = *result.winner;
  TextTable table;
  table.header = {"", "winner"};
  table.rows.push_back({"configuration", winner.configuration.display()});
  const std::vector<double> processes = winner.finalists.empty() ? std::vector<double>{winner.median_us}
                                                                 : winner.finalists.front().process_medians_us;
  const std::string interval = processes.size() < 2 ? "one measurement, no interval"
                                                    : fmt::format("{} {} to {}, over {} processes", interval_name(processes),
                                                                  format_time_us(winner.ci_low_us), format_time_us(winner.ci_high_us), processes.size());
  table.rows.push_back({"median", fmt::format("{}  ({})", format_time_us(winner.median_us), interval)});
  const CeilingText ceiling = winner_ceiling(stage, result);
  if (has_rate(winner.gflops)) table.rows.push_back({"arithmetic", fmt::format("{:.1f} GFLOP/s", *winner.gflops) + ceiling.arithmetic});
  if (has_rate(winner.gbps)) table.rows.push_back({"bandwidth", fmt::format("{:.1f} GB/s", *winner.gbps) + ceiling.bandwidth});
  if (winner.energy_j) table.rows.push_back({"energy", fmt::format("{:.4g} mJ a launch", *winner.energy_j * 1e3)});
  if (result.winner_verified_problems > 0) {
    table.rows.push_back({"verified", verified_text(result.winner_verified_problems, result.winner_skipped_problems)});
  }
  if (result.baseline && result.baseline->median_us) table.rows.push_back({"baseline", baseline_text(result)});
  table.rows.push_back({"tie set", winner.tie_set_size() == 1 ? "none: the winner stands alone"
                                                               : fmt::format("{} configurations that cannot be told apart",
                                                                             winner.tie_set_size())});
  fmt::print("{}\n", terminal_text(table));
  fmt::print("book: {}\n", store.path().string());
}

// Where the time went, for those who tune the tuner; on stderr, so that stdout stays the result.
void print_clock(const Stage& stage, const TuneResult& result, double wall_seconds) {
  if (result.from_book || stage.recording) return;
  const TuneClock& clock = result.clock;
  fmt::print(stderr,
             "clock: {:.3f} s in all = start {:.3f} + first pass {:.3f} + finalists {:.3f}; first pass: compile {:.3f} s in sum over "
             "{} processes, verify {:.3f} s, time {:.3f} s, device idle {:.3f} s\n",
             wall_seconds, clock.start, clock.first_pass, clock.finalists, clock.compile, stage.compile_workers, clock.verify, clock.time, clock.idle);
}

int run_tune(const Options& options, const Invocation& invocation) {
  const Interrupt interrupt;
  ProgressPipe pipe(options.progress_fd);
  pipe.stage("template");
  check_strategy_name(options.strategy);
  TuneOptions tune_options;
  tune_options.strategy = options.strategy;
  tune_options.budget = Budget::parse(options.budget);
  tune_options.seed = options.seed;
  tune_options.where = options.where;
  tune_options.from_book = options.from_book != "false";
  if (tune_options.from_book && options.from_book != "true")
    tune_options.predicted = std::stoull(options.from_book);
  tune_options.foresight = options.foresight;
  tune_options.remeasure = options.remeasure;
  tune_options.sanitize = options.sanitize;
  tune_options.finalists = options.finalists;
  tune_options.finalist_processes = options.finalist_processes;
  tune_options.objective = options.objective == "energy" ? Objective::energy : Objective::time;
  tune_options.energy = options.energy;
  tune_options.baseline = !options.no_baseline;
  tune_options.run_timeout_s = options.run_timeout_s;
  tune_options.compile_timeout_s = options.compile_timeout_s;
  tune_options.time_limit_s = options.time_limit_s;
  tune_options.retime = options.retime;
  tune_options.sweep_start_utc = options.sweep_start_utc;
  tune_options.stop = [] { return Interrupt::requested(); };
  const DeviceChoice device = DeviceChoice::parse(options.device);

  Stage stage = device.kind == DeviceChoice::Kind::replay ? open_replay(options, device) : open_device(options, device, pipe);
  if (stage.space->size() == 0) {
    throw InputError(fmt::format("the search space of {} {} is empty: no configuration satisfies the constraints{}; see: tunebook space",
                                 stage.subject.kernel, stage.subject.problem.display(),
                                 options.where.empty() ? "" : " and --where"));
  }
  // After all that can be wrong with the question, which must leave no empty book; before the long work, so that a book that
  // cannot be written is known at once.
  Store store(default_book_path(options.book));
  if (!stage.recording) {
    const ExecutorIdentity& place = stage.executor->identity();
    stage.ceilings = store.ceilings(place.device);
    tune_options.ceilings = stage.ceilings;
  }

  if (tune_options.objective == Objective::time) {
    tune_options.adviser = book_adviser(store.path(), stage.subject, stage.executor->identity());
  }

  ProgressLine line;
  TuneObserver observer;
  observer.progress = [&](const TuneObserver::Progress& progress) {
    line.show(progress_text(progress));
    pipe.progress(progress);
  };
  observer.opened = [&](const std::string& session) { pipe.opened(session); };
  observer.waiting = [&](int process) {
    line.clear();
    fmt::print(stderr, "note: {} runs this very session in the same book; waiting for its result\n",
               process > 0 ? fmt::format("process {}", process) : "another machine");
  };
  const TuneResult result =
      tune(stage.subject, *stage.space, tune_options, *stage.executor, store, observer, invocation.start);
  line.clear();
  if (const auto* device_executor = dynamic_cast<const DeviceExecutor*>(stage.executor.get())) {
    for (const std::string& note : device_executor->notes()) fmt::print(stderr, "note: {}\n", note);
  }
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - invocation.start).count();
  if (result.interrupted) {
    fmt::print(stderr, "interrupted; every finished trial is in {}\nresume with: {}\n", store.path().string(),
               invocation.command_line());
    return kFailed;
  }
  if (result.no_standing_winner) {
    fmt::print(stderr, "no winner stands in {} for {} {} on {} (this version of the kernel, {}): there is nothing to time anew; tune it without --retime\n",
               store.path().string(), stage.subject.kernel, stage.subject.problem.display(), stage.executor->identity().device.name,
               stage.executor->identity().method);
    return kNo;
  }
  if (result.cut) {
    fmt::print(stderr, "note: the search was cut at the time limit of {}; the same command goes on with it\n", format_duration(options.time_limit_s));
  }
  print_clock(stage, result, wall);
  if (!stage.recording && result.winner) {
    const ExecutorIdentity& place = stage.executor->identity();
    hint_at_calibration(stage.ceilings, place.method, place.device.kind);
  }
  print_missing_baseline(result);
  std::vector<Rung> ladder;
  const LadderSource source = ladder_source(stage, line);
  if (options.presets) ladder = build_ladder(source, result);
  if (options.json) {
    if (!result.sanitizer.reason.empty()) fmt::print(stderr, "note: --sanitize: {}\n", result.sanitizer.reason);
    nlohmann::ordered_json json = to_json(stage, result, wall);
    if (options.presets) json["ladder"] = ladder_json(ladder);
    print_json(json);
  } else {
    print_summary(stage, result, store);
    if (options.presets) {
      fmt::print("\n");
      print_ladder(source, ladder);
    }
  }
  return result.winner ? kDone : kFailed;
}

// "" for what --from-book may be: a flag, or a number of trials.
std::string from_book_fault(const std::string& text) {
  constexpr std::uint64_t kMost = 100'000;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text == "true" || text == "false") return "";
  const bool fits =
      error == std::errc{} && end == text.data() + text.size() && number >= 1 && number <= kMost;
  return fits ? std::string()
              : fmt::format("'{}' is no number of trials from 1 to {}, as in --from-book=3", text,
                            kMost);
}

// "" for a moment like 2026-11-30T22:00:00.000000Z, as the book has them, or a beginning of one that names the day.
std::string utc_fault(const std::string& text) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:dd.ddddddZ";
  bool fits = text.size() >= 10 && text.size() <= kPattern.size();
  for (std::size_t i = 0; fits && i < text.size(); ++i) {
    fits = kPattern[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == kPattern[i];
  }
  return fits ? std::string() : fmt::format("'{}' is no time such as 2026-11-30T22:00:00.000000Z", text);
}

}  // namespace

void add_tune(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("tune", "Find the best configuration of a kernel for one problem on one device");
  verb->add_option("kernel", options->kernel, "Kernel template")->required();
  CLI::Option* shape = verb->add_option("--shape", options->shape, "Problem: m=512,n=512,k=512 or 512,512,512; dtype=f16 if not the default (default: the template's)");
  add_device_option(*verb, options->device);
  verb->add_option("--strategy", options->strategy, fmt::format("{}", fmt::join(strategy_names(), ", ")))->capture_default_str();
  verb->add_option("--budget", options->budget, "Trials (200), share of the space (10%), time (30s, 5m, 2h), all, or auto: until less than 1 % of improvement is expected")
      ->capture_default_str();
  add_seed_option(*verb, options->seed, "Of the strategy and the inputs");
  verb->add_flag("--presets", options->presets, "Print the ladder of presets: the gain of each step, and what binds (on a GPU counted, where ncu may)");
  verb->add_option("--where", options->where, "Narrow the space by a constraint, e.g. 'BM >= 64'; repeatable")
      ->allow_extra_args(false)->type_name("EXPR");
  verb->add_flag("--sanitize", options->sanitize,
                 "Finalists must pass compute-sanitizer (memcheck, racecheck, initcheck, synccheck), on the cpu AddressSanitizer");
  verb->add_flag("--from-book,!--no-from-book", options->from_book,
                 "Try first what the book predicts and the winners of other problems and devices "
                 "(default: yes; 0.3 of the budget, at most 24); --from-book=N: the N best "
                 "predicted, and where the budget is N, no preset but 'default'")
      ->check(CLI::Validator(from_book_fault, "N"));
  verb->add_flag("--foresight,!--no-foresight", options->foresight,
                 "Compile configurations ahead, to begin with those that need no local memory (on a GPU with 8 compiles at once; default: no)");
  verb->add_flag("--remeasure", options->remeasure, "Run everything again, whatever the book holds");
  verb->add_option("--cache", options->cache, "cold: the L2 cache is flushed before each sample; warm: it is not")
      ->check(CLI::IsMember({"cold", "warm"}))->capture_default_str();
  verb->add_option("--compile-workers", options->compile_workers, "Compile processes (default: as many as cores, bounded by memory)")
      ->check(CLI::Range(1, 1024));
  verb->add_option("--objective", options->objective, "What the winner has least of: time or energy (a second more for each trial)")
      ->check(CLI::IsMember({"time", "energy"}))->capture_default_str();
  verb->add_flag("--energy", options->energy, "Measure the finalists' energy too: a second more for each");
  verb->add_option("--finalists", options->finalists,
                   "The fastest K, and all within 1 % of the best, are measured again, interleaved; 0: none")
      ->check(CLI::Range(0, 32))->capture_default_str();
  verb->add_option("--finalist-processes", options->finalist_processes, "in this many fresh processes")
      ->check(CLI::Range(1, 100))->capture_default_str();
  verb->add_flag("--no-baseline", options->no_baseline, "Do not time the library that the kernel names as its baseline beside the finalists");
  add_seconds_option(*verb, "--time-limit", options->time_limit_s,
                     "End within this time, finalists included; a search that is cut goes on with the same command");
  verb->add_flag("--retime", options->retime, "Verify and time anew only the winner that stands in the book, and the preset 'default'");
  verb->add_option("--sweep-start", options->sweep_start_utc,
                   "When the sweep began that this is part of: what ended since then is the answer, also with --remeasure and --retime")
      ->check(CLI::Validator(utc_fault, "UTC"))->type_name("UTC");
  verb->add_option("--progress-fd", options->progress_fd, "Write progress as lines of JSON to this descriptor, and end with the parent process")
      ->check(CLI::Range(0, 1 << 20))->type_name("FD");
  add_lock_clocks_option(*verb, options->lock_clocks_mhz);
  add_seconds_option(*verb, "--run-timeout", options->run_timeout_s, "For each step of a trial on the device");
  add_seconds_option(*verb, "--compile-timeout", options->compile_timeout_s, "For one compile");
  add_book_option(*verb, options->book);
  add_templates_option(*verb, options->templates);
  add_json_option(*verb, options->json);
  verb->footer("Example:  tunebook tune matmul --shape 512,512,512 --device cpu --budget 60 --seed 1 --presets\n"
               "Ctrl-C keeps every finished trial; the same command goes on from there.");
  verb->callback([options, shape, &invocation] {
    options->shape_given = shape->count() > 0;
    invocation.exit_code = run_tune(*options, invocation);
  });
}

}  // namespace tunebook::cli
