#include <chrono>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/ceiling_text.h"
#include "cli/cli.h"
#include "cli/configuration_option.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "db/store.h"
#include "session/device_executor.h"
#include "session/possible_time.h"
#include "session/profiler_report.h"
#include "session/subject.h"

namespace tunebook::cli {
namespace {

struct Options {
  std::string kernel, shape, device, config, preset, cache = "cold";
  std::vector<std::string> templates;
  std::uint64_t seed = 0;
  double run_timeout_s = 10;
  int lock_clocks_mhz = 0;
  bool profile = false, json = false;
  std::string book;
};

// Into the book as a session of one trial, which has no winner.
void store_profile(const Options& options, const KernelTemplate& kernel, const Problem& problem, const ExecutorIdentity& place,
                   const TrialRecord& examined, const ProfileReport& report, double wall_seconds) {
  Store store(default_book_path(options.book));
  const TuneSubject subject = template_subject(kernel, problem, place.device);
  const TrialContext context = {subject.kernel, subject.kernel_hash, subject.kernel_spec, place.device,
                                place.toolchain, place.method,       place.environment};
  SessionRecord proposed;
  proposed.problem = problem;
  proposed.strategy = "run";
  proposed.seed = options.seed;
  proposed.budget = "1";
  proposed.identity = {{"problem", nlohmann::json::parse(problem.canonical())},
                       {"strategy", "run"},
                       {"configuration", nlohmann::json::parse(examined.configuration.canonical())}};
  // Each profile is an event of its own.
  constexpr bool kAnew = true;
  const SessionRecord session = store.open_session(context, proposed, kAnew);
  store.record_trial(session.id, context, problem, examined);
  ProfileRecord profile;
  profile.order = examined.order;
  profile.tool = report.tool;
  profile.metrics = report.metrics;
  store.record_profile(session.id, profile);
  store.finish_session(session.id, wall_seconds);
  fmt::print(stderr, "the trial and its profile are in {}, session {}\n", store.path().string(), session.id);
}

nlohmann::ordered_json to_json(const ProfileReport& report) {
  nlohmann::ordered_json json;
  json["tool"] = report.tool;
  if (!report.ok()) {
    json["skipped"] = report.reason;
    return json;
  }
  json["metrics"] = report.metrics;
  return json;
}

void print_profile(const ProfileReport& report) {
  if (!report.ok()) {
    fmt::print("\nprofile skipped: {}\n", report.reason);
    return;
  }
  TextTable table;
  table.header = {"profile", report.tool};
  for (const auto& [name, text] : describe_profile(report.metrics)) table.rows.push_back({name, text});
  fmt::print("\n{}", terminal_text(table));
}

// Launches of the same kernel and shape in a row are one entry.
struct LaunchRow {
  std::size_t kernel = 0;
  LaunchShape shape;
  int times = 0;
};
std::vector<LaunchRow> launch_rows(const std::vector<PlannedLaunch>& launches) {
  std::vector<LaunchRow> rows;
  for (const PlannedLaunch& launch : launches) {
    const bool same = !rows.empty() && rows.back().kernel == launch.kernel && rows.back().shape == launch.shape;
    if (!same) rows.push_back({launch.kernel, launch.shape, 0});
    ++rows.back().times;
  }
  return rows;
}

nlohmann::ordered_json launch_json(const LaunchRow& row) {
  return {{"grid", row.shape.grid}, {"block", row.shape.block}, {"shared_bytes", row.shape.shared_bytes}, {"times", row.times}};
}

nlohmann::ordered_json to_json(const KernelSpec& spec, const Problem& problem, const Device& device, const Examination& examination,
                               const CeilingText& ceiling) {
  const TrialRecord& trial = examination.trial;
  const auto number = [](const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json json;
  json["kernel"] = spec.name;
  json["problem"] = problem.to_json();
  json["device"] = device.to_json();
  json["configuration"] = trial.configuration.to_json();
  json["outcome"] = outcome_name(trial.outcome);
  json["message"] = trial.message;
  json["launch"] = nlohmann::ordered_json::array();
  for (const LaunchRow& row : launch_rows(examination.launches)) json["launch"].push_back(launch_json(row));
  json["resources"] = trial.resources.to_json();
  json["verified_problems"] = trial.verified_problems;
  json["skipped_problems"] = examination.skipped_problems;
  json["verified_ragged"] = trial.verified_problems > 1;
  json["verify_max_error"] = trial.verify_max_error;
  json["median_us"] = number(trial.median_us);
  json["min_us"] = number(trial.min_us);
  json["ci_us"] = {number(trial.ci_low_us), number(trial.ci_high_us)};
  json["ceiling"] = ceiling.json;
  json["samples_us"] = trial.samples_us;
  json["launches_per_sample"] = trial.launches_per_sample;
  json["compile_s"] = trial.compile_seconds;
  json["verify_s"] = trial.verify_seconds;
  json["time_s"] = trial.time_seconds;
  return json;
}

void print_examination(const KernelTemplate& kernel, const Problem& problem, const Device& device, const Examination& examination,
                       const CeilingText& ceiling) {
  const TrialRecord& trial = examination.trial;
  const Resources& resources = trial.resources;
  TextTable table;
  table.header = {kernel.spec.name, problem.display() + " on " + device.name};
  const auto row = [&](const std::string& name, const std::string& text) { table.rows.push_back({name, text}); };
  row("configuration", trial.configuration.display());
  row("outcome", std::string(outcome_name(trial.outcome)));
  const std::vector<LaunchRow> launches = launch_rows(examination.launches);
  for (const auto& [kernel_index, shape, times] : launches) {
    if (launches.size() > 1) row(fmt::format("kernel {}", kernel_index + 1), fmt::format("launched {} time{}", times, times == 1 ? "" : "s"));
    row("grid", fmt::format("{} x {} x {}", shape.grid[0], shape.grid[1], shape.grid[2]));
    row("block", fmt::format("{} x {} x {}", shape.block[0], shape.block[1], shape.block[2]));
    row("dynamic shared", fmt::format("{} bytes", shape.shared_bytes));
  }
  const auto known = [&](const std::string& name, std::int64_t value, const char* unit) {
    if (value >= 0) row(name, fmt::format("{}{}", value, unit));
  };
  known("registers", resources.registers, " per thread");
  known("static shared", resources.shared_static_bytes, " bytes");
  known("spill loads", resources.spill_load_bytes, " bytes");
  known("spill stores", resources.spill_store_bytes, " bytes");
  known("stack", resources.stack_bytes, " bytes");
  known("blocks per SM", resources.blocks_per_sm, "");
  if (trial.verified_problems > 0) {
    row("verified", trial.outcome == Outcome::ok ? verified_text(trial.verified_problems, examination.skipped_problems)
                                                 : fmt::format("on {} problems before that", trial.verified_problems));
    row("largest error", fmt::format("{:.3f} of the tolerance", trial.verify_max_error));
  }
  if (trial.median_us) {
    row("median", fmt::format("{}  ({} {} to {}; {} samples, fastest {})", format_time_us(*trial.median_us),
                              interval_name(trial.samples_us),
                              format_time_us(trial.ci_low_us.value_or(*trial.median_us)),
                              format_time_us(trial.ci_high_us.value_or(*trial.median_us)), trial.samples_us.size(),
                              format_time_us(trial.min_us.value_or(*trial.median_us))));
    const WorkAmount work = evaluate_work(kernel.spec, problem, device);
    if (work.flops) row("arithmetic", fmt::format("{:.1f} GFLOP/s", *work.flops / *trial.median_us * 1e-3) + ceiling.arithmetic);
    if (work.bytes) row("bandwidth", fmt::format("{:.1f} GB/s", *work.bytes / *trial.median_us * 1e-3) + ceiling.bandwidth);
  }
  fmt::print("{}\ncompile options: {}\n", terminal_text(table), examination.compile_options);
  if (!trial.message.empty()) fmt::print("\n{}\n", trial.message);
}

// By the ceilings that the book holds of this device: what the time is worth, and whether it is possible at all.
CeilingText judge_by_ceilings(const Options& options, const KernelSpec& spec, const Problem& problem, const ExecutorIdentity& place,
                              TrialRecord& trial) {
  const std::vector<Ceiling> ceilings = Store::ceilings_in_file(default_book_path(options.book), place.device);
  hint_at_calibration(ceilings, place.method, place.device.kind);
  const WorkAmount amount = evaluate_work(spec, problem, place.device);
  const Workload work = workload_of(problem, amount.flops, amount.bytes);
  PossibleTime(ceilings, work, place.method, place.device).refuse(trial);
  return trial.median_us ? ceiling_text(ceilings, work, place.method, *trial.median_us) : CeilingText();
}

int run_run(const Options& options, const Invocation& invocation) {
  const KernelTemplate kernel = find_template(options.kernel, template_search_path(options.templates));
  const Problem problem = chosen_problem(kernel.spec, options.shape);
  const std::optional<Configuration> given =
      given_configuration(kernel.spec, options.config, options.preset);
  DeviceExecutorOptions executor_options;
  executor_options.device = DeviceChoice::parse(options.device);
  executor_options.compile_workers = 1;
  executor_options.run_timeout_s = options.run_timeout_s;
  executor_options.cache = options.cache == "warm" ? CacheMode::warm : CacheMode::cold;
  executor_options.seed = options.seed;
  executor_options.lock_clocks_mhz = options.lock_clocks_mhz;
  if (executor_options.device.kind == DeviceChoice::Kind::replay) {
    throw InputError("run needs a device that runs kernels: --device cuda:N or cpu");
  }
  DeviceExecutor executor(kernel, executor_options);
  if (const std::string& reason = executor.fallback_reason(); !reason.empty()) {
    fmt::print(stderr, "note: the cpu device is used; no GPU: {}\n", reason.substr(0, reason.find('\n')));
  }
  executor.set_problem(problem);
  const Configuration configuration =
      given ? *given : kernel.spec.default_preset(problem, executor.identity().device);
  Examination examination = executor.examine(configuration);
  const CeilingText ceiling = judge_by_ceilings(options, kernel.spec, problem, executor.identity(), examination.trial);
  const bool ok = examination.trial.outcome == Outcome::ok;
  std::optional<ProfileReport> report;
  if (options.profile && ok) report = executor.profile(configuration);
  if (options.json) {
    nlohmann::ordered_json json = to_json(kernel.spec, problem, executor.identity().device, examination, ceiling);
    if (report) json["profile"] = to_json(*report);
    print_json(json);
  } else {
    print_examination(kernel, problem, executor.identity().device, examination, ceiling);
    if (report) print_profile(*report);
  }
  if (report && report->ok()) {
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - invocation.start).count();
    store_profile(options, kernel, problem, executor.identity(), examination.trial, *report, wall);
  }
  return examination.trial.outcome == Outcome::ok ? kDone : kNo;
}

}  // namespace

void add_run(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("run", "Verify and time one configuration, with all detail; stored only with --profile");
  verb->add_option("kernel", options->kernel, "Kernel template")->required();
  verb->add_option("--shape", options->shape, "Problem (default: the template's)");
  verb->add_option("--config", options->config, "Configuration: K=V,... with every parameter");
  verb->add_option("--preset", options->preset, "A preset of the template (default: default)");
  add_device_option(*verb, options->device);
  verb->add_option("--cache", options->cache, "cold or warm L2 cache")->check(CLI::IsMember({"cold", "warm"}))->capture_default_str();
  add_seed_option(*verb, options->seed, "Of the inputs");
  add_lock_clocks_option(*verb, options->lock_clocks_mhz);
  add_seconds_option(*verb, "--run-timeout", options->run_timeout_s, "For each step on the device");
  verb->add_flag("--profile", options->profile,
                 "Count bank conflicts, sectors per request, occupancy and stalls with Nsight Compute, and keep the trial in the book");
  add_book_option(*verb, options->book);
  add_templates_option(*verb, options->templates);
  add_json_option(*verb, options->json);
  verb->footer("Example:  tunebook run matmul --shape 512,512,512 --preset naive --device cpu\n"
               "Exit code 3: it ran into something else than ok.");
  verb->callback([options, &invocation] { invocation.exit_code = run_run(*options, invocation); });
}

}  // namespace tunebook::cli
