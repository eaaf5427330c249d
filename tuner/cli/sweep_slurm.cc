#include "cli/sweep_slurm.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/shell_word.h"
#include "db/store.h"
#include "sweep/shard_merge.h"
#include "sweep/slurm.h"
#include "sweep/slurm_partition.h"
#include "sweep/snapshot.h"

namespace tunebook::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostShards = 10'000;

// Of this very program, for scripts that run elsewhere.
fs::path own_program() { return fs::read_symlink("/proc/self/exe"); }

fs::path sweep_folder(const SlurmOptions& options, const SweepPlan& plan, const fs::path& book) {
  if (!options.folder.empty()) return fs::absolute(options.folder).lexically_normal();
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fs::absolute(book).parent_path() / "sweeps" / fmt::format("{}-{:%Y%m%dT%H%M%SZ}", plan.name, fmt::gmtime(now));
}

std::vector<SlurmOption> parse_options(const SlurmOptions& options, const SweepPlan& plan) {
  std::vector<std::string> devices;
  for (const SweepItem& item : plan.items) {
    if (std::find(devices.begin(), devices.end(), item.device) == devices.end()) devices.push_back(item.device);
  }
  std::vector<SlurmOption> parsed;
  for (const std::string& text : options.options) parsed.push_back(SlurmOption::parse(text, devices));
  return parsed;
}

SlurmSweep describe(const SlurmOptions& options, const SweepPlan& plan, const fs::path& folder, const fs::path& book,
                    const std::vector<std::string>& task_arguments) {
  SlurmSweep sweep;
  sweep.name = "tunebook-" + plan.name;
  sweep.program = own_program();
  sweep.frozen = folder / "plan.json";
  sweep.snapshot_every_s = options.snapshot_every_s;
  sweep.retries = options.retries;
  sweep.task_arguments = task_arguments;
  if (options.into_book) sweep.merge_arguments = {"--slurm-into-book", "--book", fs::absolute(book).string()};
  return sweep;
}

// All that have work left; of a sweep that was submitted before, those that are not complete or in which something failed.
std::vector<std::size_t> shards_to_submit(const SweepFolder* submitted, const FrozenPlan& plan) {
  std::vector<std::size_t> shards;
  for (std::size_t i = 0; i < plan.shards.size(); ++i) {
    if (submitted != nullptr) {
      const auto found = ShardFolder(submitted->shard(i), {submitted->sweep, i, plan.shards.size()}).newest();
      if (found.snapshot && found.snapshot->complete && found.snapshot->result.value("exit_code", 1) != 1) continue;
    }
    shards.push_back(i);
  }
  return shards;
}

double seconds_of(const FrozenPlan& plan, std::size_t shard) {
  double seconds = 0;
  for (const std::size_t item : plan.shards[shard]) seconds += plan.items[item].estimate.seconds;
  return seconds;
}

nlohmann::ordered_json shards_json(const FrozenPlan& plan, const std::vector<SlurmArray>& arrays) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const SlurmArray& array : arrays) {
    for (const std::size_t shard : array.shards) {
      std::set<std::string> devices;
      for (const std::size_t item : plan.shards[shard]) devices.insert(plan.items[item].item.device);
      json.push_back({{"shard", shard}, {"items", plan.shards[shard].size()}, {"expected_s", seconds_of(plan, shard)}, {"devices", devices}});
    }
  }
  return json;
}

std::string command_text(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

void print_shards(const FrozenPlan& plan, const std::vector<SlurmArray>& arrays) {
  TextTable table;
  table.header = {"shard", "sessions", "expected", "devices"};
  for (const auto& shard : shards_json(plan, arrays)) {
    table.rows.push_back({std::to_string(shard["shard"].get<std::size_t>()), std::to_string(shard["items"].get<std::size_t>()),
                          format_duration(shard["expected_s"].get<double>()),
                          fmt::format("{}", fmt::join(shard["devices"].get<std::vector<std::string>>(), ", "))});
  }
  fmt::print("{}\n", terminal_text(table));
}

int show_submission(const SlurmSweep& sweep, const FrozenPlan& plan, const std::vector<SlurmArray>& arrays, const std::vector<SlurmOption>& options,
                    bool json) {
  std::vector<std::vector<std::string>> commands;
  std::vector<std::string> jobs;
  for (const SlurmArray& array : arrays) {
    commands.push_back(array_command(sweep, array));
    jobs.push_back(fmt::format("JOB{}", jobs.size() + 1));
  }
  commands.push_back(merge_command(sweep, jobs, merge_options_of(options)));
  if (json) {
    print_json({{"folder", sweep.folder().string()}, {"submitted", false}, {"shards", shards_json(plan, arrays)}, {"commands", commands},
                {"task_script", task_script_text(sweep)}, {"merge_script", merge_script_text(sweep)}});
    return kDone;
  }
  print_shards(plan, arrays);
  for (const auto& command : commands) fmt::print("{}\n", command_text(command));
  fmt::print("\n{}:\n{}\n{}:\n{}", sweep.task_script().string(), task_script_text(sweep), sweep.merge_script().string(), merge_script_text(sweep));
  fmt::print(stderr, "nothing was written or submitted (--dry-run)\n");
  return kDone;
}

// The plan as it was frozen into the folder before, if it was submitted.
bool was_submitted(const fs::path& folder, const SweepPlan& plan, FrozenPlan& frozen) {
  std::error_code error;
  if (!fs::exists(folder / "submission.json", error)) return false;
  frozen = FrozenPlan::load(folder / "plan.json");
  if (frozen.plan_hash != plan.hash()) {
    throw InputError(fmt::format("--slurm-folder {}: another plan was submitted there ({}); give another folder", folder.string(), frozen.name));
  }
  if (const std::vector<std::string> jobs = jobs_in_queue(folder); !jobs.empty()) {
    throw InputError(fmt::format("--slurm-folder {}: jobs of this sweep are still in the queue ({}); wait for them, or scancel them", folder.string(),
                                 fmt::join(jobs, ", ")));
  }
  return true;
}

void write_folder(const SlurmSweep& sweep, const FrozenPlan& frozen, const fs::path& book) {
  std::error_code error;
  fs::create_directories(sweep.folder(), error);
  if (error) {
    throw InputError(fmt::format("--slurm-folder {}: cannot be made: {}; give a folder that all nodes see", sweep.folder().string(), error.message()));
  }
  frozen.save(sweep.frozen);
  if (fs::exists(book, error)) stage_base(SweepFolder::of(sweep.frozen), book);
}

FrozenPlan frozen_plan(const SlurmOptions& options) {
  if (options.frozen.empty()) throw InputError("--shard and --merge read the frozen plan: give it with --frozen FILE");
  return FrozenPlan::load(options.frozen);
}

// Only the shard's items, in its order of work.
FrozenPlan plan_of_shard(const FrozenPlan& plan, std::size_t shard) {
  FrozenPlan part = plan;
  part.items.clear();
  part.shards = {{}};
  for (const std::size_t item : plan.shards[shard]) {
    part.shards[0].push_back(part.items.size());
    part.items.push_back(plan.items[item]);
  }
  return part;
}

// A missing item may be any session of many: the first are named.
constexpr std::size_t kNamedItems = 10;

void print_merge(const SweepMerge& merge, const FrozenPlan& plan) {
  fmt::print("{}\n", merge.book.string());
  fmt::print(stderr, "merged: {} sessions ({} of them new), {} trials ({} new)\n", merge.sessions, merge.added.sessions, merge.trials, merge.added.trials);
  for (const ShardReport& shard : merge.shards) {
    const std::string share = fmt::format("{} of {} sessions finished", shard.finished, shard.items);
    if (!shard.snapshot) {
      fmt::print(stderr, "shard {}: nothing was left by it; {}\n", shard.shard, share);
    } else if (!shard.complete()) {
      fmt::print(stderr, "shard {}: not complete: its last snapshot is of {} on {}; {}\n", shard.shard, shard.snapshot->written_utc, shard.snapshot->host, share);
    } else {
      fmt::print(stderr, "shard {}: complete (exit code {}, attempt {}); {}\n", shard.shard, shard.exit_code(), shard.snapshot->attempt, share);
    }
  }
  for (std::size_t i = 0; i < std::min(kNamedItems, merge.missing.size()); ++i) {
    fmt::print(stderr, "missing: {}\n", plan.items[merge.missing[i]].item.display());
  }
  if (merge.missing.size() > kNamedItems) fmt::print(stderr, "missing: {} more\n", merge.missing.size() - kNamedItems);
  fmt::print(stderr, "{}", verdicts_text(plan, merge.comparisons));
}

}  // namespace

void add_slurm_options(CLI::App& verb, SlurmOptions& options) {
  const char* const group = "On a cluster";
  CLI::Option* const slurm = verb.add_flag("--slurm", options.slurm, "Freeze the plan, submit it to Slurm as an array job and a merge that depends on it")->group(group);
  verb.add_option("--slurm-folder", options.folder, "A folder that all nodes see (default: sweeps/NAME-TIME beside the book); given again: what is not complete is submitted again")
      ->group(group)->needs(slurm)->type_name("DIR");
  verb.add_option("--slurm-shards", options.shards, "Tasks of the array job")->group(group)->needs(slurm)->check(CLI::Range(std::size_t{1}, kMostShards))->capture_default_str();
  verb.add_option("--slurm-option", options.options,
                  "Option for sbatch, NAME=VALUE or NAME; DEVICE@... only for tasks on that device of the plan, merge@... only for the merge; repeatable")
      ->group(group)->needs(slurm)->allow_extra_args(false)->type_name("[DEVICE@]NAME=VALUE");
  verb.add_option("--slurm-retries", options.retries, "How often a task that was killed or ran out of time is put back into the queue")
      ->group(group)->needs(slurm)->check(CLI::Range(0, 100))->capture_default_str();
  verb.add_flag("--slurm-into-book", options.into_book, "The merge adds its book to --book, too: only if nobody uses that on another machine meanwhile")->group(group);
  CLI::Option* const frozen =
      verb.add_option("--frozen", options.frozen, "Work on a frozen plan, by --shard or --merge")->group(group)->excludes(slurm)->type_name("FILE");
  CLI::Option* const shard =
      verb.add_option("--shard", options.shard, "Run this part of the frozen plan on local disk ($TMPDIR), leaving snapshots beside the plan. Exit code 75: told to stop; the same again goes on")
      ->group(group)->needs(frozen)->check(CLI::Range(0, static_cast<int>(kMostShards)))->type_name("N");
  verb.add_flag("--merge", options.merge, "Put together what the shards of the frozen plan have left, and say what is missing")
      ->group(group)->needs(frozen)->excludes(shard);
  add_seconds_option(verb, "--snapshot-every", options.snapshot_every_s, "Between two snapshots of a shard's book");
  verb.get_option("--snapshot-every")->group(group);
}

int submit_sweep(const SlurmOptions& options, const SweepPlan& plan, const PrepareOptions& prepare_options,
                 const std::vector<std::string>& task_arguments, bool dry_run, bool json) {
  const std::vector<SlurmOption> slurm_options = parse_options(options, plan);
  if (!dry_run) check_slurm();
  const fs::path folder = sweep_folder(options, plan, prepare_options.book);
  const SlurmSweep sweep = describe(options, plan, folder, prepare_options.book, task_arguments);
  for (const std::string& note : plan.notes) fmt::print(stderr, "note: {}\n", note);
  FrozenPlan frozen;
  std::vector<std::size_t> shards;
  const bool again = was_submitted(folder, plan, frozen);
  if (again) {
    const SweepFolder submitted = SweepFolder::of(sweep.frozen);
    shards = shards_to_submit(&submitted, frozen);
  } else {
    PreparedPlan prepared = prepare(plan, prepare_options);
    for (const std::string& note : prepared.notes) fmt::print(stderr, "note: {}\n", note);
    frozen = std::move(prepared.plan);
    divide_for_slurm(frozen, slurm_options, options.shards);
    shards = shards_to_submit(nullptr, frozen);
  }
  if (shards.empty()) {
    if (json) print_json({{"folder", again ? folder.string() : ""}, {"submitted", false}, {"shards", nlohmann::ordered_json::array()}});
    fmt::print(stderr, "{}\n", again ? "every shard of this sweep is complete: nothing to submit" : "everything in the plan is fresh: nothing to submit");
    return kDone;
  }
  const std::vector<SlurmArray> arrays = arrays_for(frozen, slurm_options, shards);
  if (dry_run) return show_submission(sweep, frozen, arrays, slurm_options, json);
  if (!again) write_folder(sweep, frozen, prepare_options.book);
  write_slurm_scripts(sweep);
  const SlurmSubmission submission = submit_to_slurm(sweep, arrays, merge_options_of(slurm_options));
  if (json) {
    nlohmann::ordered_json object = {{"folder", folder.string()}, {"submitted", true}, {"shards", shards_json(frozen, arrays)}};
    object.update(submission.to_json());
    print_json(object);
    return kDone;
  }
  print_shards(frozen, arrays);
  fmt::print("{}\n", folder.string());
  fmt::print(stderr, "submitted: {}, and the merge {}, which leaves {}\nwatch: squeue --jobs={},{}; logs: {}\n", fmt::join(submission.arrays, ", "),
             submission.merge, (folder / "merged.db").string(), fmt::join(submission.arrays, ","), submission.merge, sweep.logs().string());
  if (!options.into_book) {
    fmt::print(stderr, "then: tunebook merge {} --book {}\n", shell_word((folder / "merged.db").string()),
               shell_word(fs::absolute(prepare_options.book).string()));
  }
  return kDone;
}

int run_sweep_shard(const SlurmOptions& options, bool json, const RunShard& run) {
  const FrozenPlan plan = frozen_plan(options);
  if (options.shard < 0) throw InputError("--frozen: say which part of it to run, --shard N, or --merge");
  const auto shard = static_cast<std::size_t>(options.shard);
  if (shard >= plan.shards.size()) {
    throw InputError(fmt::format("--shard {}: the frozen plan has {} shards, from 0 on", options.shard, plan.shards.size()));
  }
  const Interrupt interrupt(Interrupt::Again::ignored);
  std::mutex mutex;
  ShardTask task;
  task.folder = SweepFolder::of(options.frozen);
  task.shard = shard;
  task.shards = plan.shards.size();
  task.snapshot_every_s = options.snapshot_every_s;
  task.stop = [] { return Interrupt::requested(); };
  task.message = [&](const std::string& message) {
    const std::scoped_lock lock(mutex);
    fmt::print(stderr, "{}\n", message);
  };
  nlohmann::ordered_json summary;
  const int exit_code = run_shard_task(task, [&](const fs::path& book, const std::function<bool()>& stop) {
    ShardEnd end = run(plan_of_shard(plan, shard), book, stop);
    summary = end.result;
    return end;
  });
  if (json) print_json({{"shard", shard}, {"shards", plan.shards.size()}, {"exit_code", exit_code}, {"summary", summary}});
  return exit_code;
}

int run_sweep_merge(const SlurmOptions& options, const std::string& book_option, bool json) {
  const FrozenPlan plan = frozen_plan(options);
  const SweepMerge merge = merge_sweep(SweepFolder::of(options.frozen), plan, [](const std::string& message) { fmt::print(stderr, "{}\n", message); });
  if (json) print_json(merge.to_json(plan));
  else print_merge(merge, plan);
  if (options.into_book) {
    const fs::path book = default_book_path(book_option);
    merge_books({merge.book}, book);
    fmt::print(stderr, "added to {}\n", book.string());
  } else {
    fmt::print(stderr, "to have it in a book: tunebook merge {} --book BOOK\n", shell_word(merge.book.string()));
  }
  if (merge.exit_code == kFailed) {
    fmt::print(stderr, "not everything is there; the command that submitted the sweep, with --slurm-folder {}, submits what is missing\n",
               shell_word(merge.book.parent_path().string()));
  }
  return merge.exit_code;
}

}  // namespace tunebook::cli
