#include <chrono>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/sweep_cover.h"
#include "cli/sweep_preview.h"
#include "cli/sweep_run.h"
#include "cli/sweep_slurm.h"
#include "core/error.h"
#include "db/store.h"
#include "sweep/plan.h"
#include "sweep/prepare.h"

namespace tunebook::cli {
namespace {

struct Options {
  std::string plan, time, until;
  std::vector<std::string> templates;
  bool dry_run = false;
  bool time_given = false, until_given = false;  // if as "", from a variable that is not set
  SweepRunOptions run;
  SlurmOptions slurm;
};

double seconds_since_1970() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// The command line replaces the plan's own limits, both of them.
TimeLimit time_limit(const Options& options, const TimeLimit& of_plan) {
  TimeLimit limit;
  if (options.time_given) limit.seconds = TimeLimit::parse_time(options.time, "--time").seconds;
  if (options.until_given) limit.until_minute = TimeLimit::parse_until(options.until, "--until").until_minute;
  return limit.empty() ? of_plan : limit;
}

PrepareOptions prepare_options(const Options& options) {
  PrepareOptions result;
  result.book = default_book_path(options.run.book);
  result.now = result.sweep_start = seconds_since_1970();
  result.ask_devices = options.run.ask_devices;
  return result;
}

bool has_command(const Options& options, const Invocation& invocation) {
  return !options.run.on_finish.empty() || !split_on_finish(invocation.argc, invocation.argv).command.empty();
}

int submit(const Options& options, const SweepPlan& plan, const Invocation& invocation) {
  if (has_command(options, invocation) || !options.run.status.empty() || !options.run.summary.empty() || options.run.restart) {
    throw InputError("--slurm: --on-finish, --status, --summary and --restart are for a sweep on this machine; the merge job has the summary (--merge --json)");
  }
  refuse_regions(plan);
  return submit_sweep(options.slurm, plan, prepare_options(options), {}, options.dry_run, options.run.json);
}

// Everything else is in the frozen plan, or is the task's own; an option that has no effect is no less a mistake than an unknown one.
void refuse_with_frozen(const Options& options, const Invocation& invocation) {
  const bool book_is_used = options.slurm.merge && options.slurm.into_book;
  const std::initializer_list<std::pair<bool, const char*>> given = {
      {options.dry_run, "--dry-run"}, {options.time_given, "--time"}, {options.until_given, "--until"}, {!options.templates.empty(), "--templates"},
      {!options.run.status.empty(), "--status"}, {!options.run.summary.empty(), "--summary"}, {options.run.restart, "--restart"},
      {has_command(options, invocation), "--on-finish"}, {!options.run.book.empty() && !book_is_used, "--book"}};
  for (const auto& [wrong, option] : given) {
    if (wrong) throw InputError(fmt::format("{}: it has no effect on a frozen plan; leave it out", option));
  }
}

int show_plan(const Options& options, SweepPlan plan) {
  const PrepareOptions options_of_plan = prepare_options(options);
  const PreparedPlan prepared = prepare(plan, options_of_plan);
  for (const std::string& note : plan.notes) fmt::print(stderr, "note: {}\n", note);
  for (const std::string& note : prepared.notes) fmt::print(stderr, "note: {}\n", note);
  const SweepPreview preview{plan, prepared, options_of_plan.book.string(), options_of_plan.now, plan.time.deadline(options_of_plan.now)};
  nlohmann::ordered_json regions;
  if (!plan.regions.empty()) {
    const auto note = [](const std::string& text) { fmt::print(stderr, "note: {}\n", text); };
    CoverPlanner planner(plan.regions,
                         cover_source(plan, options_of_plan.book, LearnPurpose::loss, note));
    regions = preview_regions(planner);
  }
  if (options.run.json) {
    nlohmann::ordered_json json = to_json(preview);
    if (!regions.is_null()) json["regions"] = regions;
    print_json(json);
    return kDone;
  }
  if (!plan.items.empty() || regions.is_null()) print(preview);
  if (!regions.is_null()) print_regions(regions);
  return kDone;
}

int run_sweep(const Options& options, const Invocation& invocation) {
  const bool frozen = !options.slurm.frozen.empty() || options.slurm.shard >= 0 || options.slurm.merge;
  if (options.plan.empty() != frozen) {
    throw InputError(frozen ? "a frozen plan is worked on, by --shard or --merge; leave out PLAN" : "give the plan, PLAN.json (or a frozen one, with --frozen)");
  }
  if (frozen && !options.slurm.frozen.empty()) refuse_with_frozen(options, invocation);
  if (options.slurm.merge) return run_sweep_merge(options.slurm, options.run.book, options.run.json);
  if (frozen) return run_sweep_shard(options.slurm, options.run.json, run_part);
  // A mistyped time is known before the plan is read.
  time_limit(options, {});
  SweepPlan plan = read_plan(options.plan, {options.templates});
  plan.time = time_limit(options, plan.time);
  if (options.slurm.slurm) return submit(options, plan, invocation);
  if (options.dry_run) return show_plan(options, std::move(plan));
  SweepRunOptions run = options.run;
  if (run.on_finish.empty()) run.on_finish = split_on_finish(invocation.argc, invocation.argv).command;
  return run_plan(std::move(plan), run, invocation);
}

}  // namespace

void add_sweep(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("sweep", "Many sessions, as a plan says: kernels x shapes x types x devices");
  verb->add_option("plan", options->plan, "The plan, PLAN.json (share/tunebook/plan_schema.json)")->type_name("FILE");
  verb->add_flag("--dry-run", options->dry_run, "Show what would be run, what is fresh and why, and the expected time; run nothing");
  verb->add_flag("--ask-devices,!--no-ask-devices", options->run.ask_devices,
                 "Start workers to learn what the devices, toolkit and driver are (default: yes); else as the book saw them last");
  verb->add_option("--time", options->time, "The time that there is: 8h, 90m, 7m30s (default: the plan's)")->type_name("TIME");
  verb->add_option("--until", options->until, "The time of the day when it must have ended: 06:00 (default: the plan's)")->type_name("HH:MM");
  add_slurm_options(*verb, options->slurm);
  add_book_option(*verb, options->run.book);
  add_templates_option(*verb, options->templates);
  add_json_option(*verb, options->run.json);
  verb->add_option("--status", options->run.status, "Where to write what the sweep is doing, every few seconds (default: beside the book)")
      ->type_name("FILE");
  verb->add_option("--summary", options->run.summary, "Where to write the summary, a JSON object (default: beside the book)")->type_name("FILE");
  verb->add_flag("--restart", options->run.restart, "Begin a new sweep where one of this plan was interrupted");
  verb->add_option("--on-finish", options->run.on_finish,
                   "The last option: a command that is run at the end, with the summary's path as its last argument and in $TUNEBOOK_SUMMARY, "
                   "the exit code in $TUNEBOOK_EXIT_CODE")
      ->expected(1, -1)->type_name("COMMAND ARGUMENT...");
  verb->footer("Example:  tunebook sweep nightly.json --until 06:00 --dry-run\n"
               "The same command goes on with a sweep that was interrupted. Exit codes: 0 done (also if the time did not suffice for all), 1 a session "
               "failed or could not be run, 3 a winner is slower than the one before it");
  verb->callback([options, verb, &invocation] {
    options->time_given = verb->count("--time") > 0;
    options->until_given = verb->count("--until") > 0;
    invocation.exit_code = run_sweep(*options, invocation);
  });
}

}  // namespace tunebook::cli
