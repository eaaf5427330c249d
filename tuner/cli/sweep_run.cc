#include "cli/sweep_run.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/sweep_cover.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/spec_reader.h"
#include "db/session_history.h"
#include "db/store.h"
#include "session/device_listing.h"
#include "session/host_resources.h"
#include "sweep/atomic_file.h"
#include "sweep/coordinator.h"
#include "sweep/cover_run.h"
#include "sweep/kernel_catalog.h"
#include "sweep/lost_results.h"
#include "sweep/prepare.h"
#include "sweep/status.h"

extern char** environ;

namespace tunebook::cli {
namespace {

double now_s() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

void note(const std::string& text) { fmt::print(stderr, "note: {}\n", text); }

// The sweep in the file, if it is of this plan, another time limit of the command line replacing its own. Nothing if there is none that
// can be taken up.
std::optional<SweepState> earlier_sweep(const std::filesystem::path& file, const SweepPlan& plan, double now) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  try {
    SweepState state = SweepState::load(file);
    if (!(state.plan.time == plan.time)) {
      state.plan.time = plan.time;
      state.deadline = plan.time.deadline(now);
    }
    return state;
  } catch (const InputError& damaged) {
    note(fmt::format("{}; a new sweep begins, what the book holds is not measured again", damaged.what()));
    return std::nullopt;
  }
}

// `start`: when it first began; what the book has got since then is its own.
SweepState new_sweep(const SweepPlan& plan, const std::filesystem::path& book, bool ask_devices, double start, double now) {
  PrepareOptions options;
  options.book = book;
  options.now = now;
  options.sweep_start = start;
  options.ask_devices = ask_devices;
  PreparedPlan prepared = prepare(plan, options);
  for (const std::string& text : prepared.notes) note(text);
  prepared.plan.time = plan.time;
  std::vector<std::size_t> all(prepared.plan.items.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<std::size_t> order = work_order(prepared.plan.items, std::move(all));
  return SweepState::begin(std::move(prepared.plan), std::move(order), start);
}

// The GPUs of this machine, if an item may run on any of them. If there are none, `missing` says why.
std::vector<std::string> gpus_for(const SweepState& state, std::string& missing) {
  bool wanted = false;
  for (const std::size_t index : state.order) wanted = wanted || state.plan.items[index].item.device == "cuda";
  std::vector<std::string> gpus;
  if (!wanted) return gpus;
  for (const DeviceListing& device : list_devices()) {
    if (!device.id.starts_with("cuda")) continue;
    if (device.error.empty()) gpus.push_back(device.id);
    else missing = fmt::format("device {} cannot be used: {}", device.id, device.error);
  }
  if (!gpus.empty()) missing.clear();
  else if (missing.empty()) missing = "this machine has no GPU that can be used; `tunebook doctor` says more";
  return gpus;
}

std::vector<LanePlan> lanes_of(const SweepState& state) {
  KernelCatalog catalog({});
  std::string missing;
  const std::vector<std::string> gpus = gpus_for(state, missing);
  std::vector<LanePlan> lanes = plan_lanes(state.plan, state.order, gpus, [&](const std::string& recording) {
    const Device& device = catalog.recordings(recording).front().device;
    return RecordedOn{device.key(), device.name};
  });
  for (LanePlan& lane : lanes) {
    if (lane.shares) lane.missing = missing;
  }
  return lanes;
}

// What a batch system gives a job may be less than what it lets it see: not every cluster binds tasks to their cores.
int assigned_cores() {
  const int cores = read_host_resources().cores;
  const char* const text = std::getenv("SLURM_CPUS_ON_NODE");
  const int assigned = text != nullptr ? std::atoi(text) : 0;
  return assigned > 0 ? std::min(cores, assigned) : cores;
}

bool same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  std::error_code error;
  return std::filesystem::weakly_canonical(one, error) == std::filesystem::weakly_canonical(other, error) || std::filesystem::equivalent(one, other, error);
}

// The file itself where a link is given; "" for "". It is replaced again and again: what the sweep reads must not be, and that it can be
// written is known before the long work.
std::string output_path(const std::string& text, const char* option, const std::vector<std::filesystem::path>& taken) {
  if (text.empty()) return "";
  std::string file;
  try {
    file = OutputFile(text).path().string();
  } catch (const InputError& error) {
    throw InputError(fmt::format("{} {}", option, error.what()));
  }
  for (const std::filesystem::path& other : taken) {
    if (same_file(file, other)) throw InputError(fmt::format("{} {}: this sweep uses the file for something else; name another one", option, text));
  }
  return file;
}

// What posix_spawnp() would find. A mistyped name is known before the night and not after it.
void check_command(const std::vector<std::string>& command) {
  if (command.empty()) return;
  const std::string& name = command.front();
  const auto runnable = [](const std::filesystem::path& file) {
    std::error_code error;
    return std::filesystem::is_regular_file(file, error) && ::access(file.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    if (runnable(name)) return;
  } else if (!name.empty()) {
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "/bin:/usr/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (runnable(std::filesystem::path(folder.empty() ? "." : folder) / name)) return;
    }
  }
  throw InputError(fmt::format("--on-finish: found no command {} that can be run; give its path", in_quotes(name)));
}

// True if the command ended with exit code 0. `summary`: "" if there is none, and then the command gets no path.
bool run_on_finish(const std::vector<std::string>& command, const std::string& summary, int exit_code) {
  std::vector<std::string> words = command;
  if (!summary.empty()) words.push_back(summary);
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) variables.emplace_back(*entry);
  variables.push_back("TUNEBOOK_SUMMARY=" + summary);
  variables.push_back("TUNEBOOK_EXIT_CODE=" + std::to_string(exit_code));
  std::vector<char*> argv, env;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& variable : variables) env.push_back(variable.data());
  argv.push_back(nullptr);
  env.push_back(nullptr);
  // stdout holds the result alone.
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv.front(), &actions, nullptr, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    fmt::print(stderr, "tunebook: --on-finish: {} cannot be started: {}\n", command.front(), std::strerror(error));
    return false;
  }
  int status = 0;
  // Asked again and again: a signal between the question and the waiting would not be noticed.
  for (pid_t ended = 0; ended == 0 || (ended < 0 && errno == EINTR);) {
    ended = ::waitpid(pid, &status, WNOHANG);
    if (ended != 0) continue;
    if (Interrupt::requested()) ::kill(pid, SIGTERM);  // one that hangs must not keep the sweep from being stopped
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  fmt::print(stderr, "tunebook: --on-finish: {} ended with {}\n", command.front(),
             WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status)) : fmt::format("signal {}", WTERMSIG(status)));
  return false;
}

// A summary that is there from now on is this sweep's: whoever waits for one must not read last night's.
void remove_old_summary(const std::filesystem::path& file) {
  std::error_code error;
  std::filesystem::remove(file, error);
  if (error) {
    throw EnvironmentError(fmt::format("the old summary {} cannot be removed: {}; give write permission, or name another file with --summary", file.string(),
                                       error.message()));
  }
}

struct Summary {
  nlohmann::ordered_json json;
  int exit_code = kDone;
  std::string file;  // "": it could not be written
};

// None, if what is there now is no book.
SessionHistory sessions_of(const std::filesystem::path& book) {
  try {
    return read_session_history(book);
  } catch (const InputError&) {
    return {};
  }
}

// A summary that cannot be written makes a 0 a 1.
Summary write_summary(const SweepState& state, SweepEnd end, const std::filesystem::path& book, const std::filesystem::path& file,
                      const SweepRunOptions& options) {
  Summary summary{summary_json(state, end, book.string(), utc_text(now_s())), sweep_exit_code(state, end), file.string()};
  try {
    write_atomically(file, summary.json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  } catch (const EnvironmentError& error) {
    summary.file.clear();
    if (summary.exit_code == kDone) summary.exit_code = kFailed;
    summary.json["exit_code"] = summary.exit_code;
    fmt::print(stderr, "tunebook: the summary {}; there is none of this sweep{}\n", error.what(),
               options.on_finish.empty() ? "" : ", and the command of --on-finish gets no path");
  }
  return summary;
}

// Tells how the sweep ended and hands it to --on-finish. Returns the exit code.
int finish(const SweepState& state, SweepEnd end, const std::filesystem::path& book, const Summary& summary, const SweepRunOptions& options,
           const Invocation& invocation) {
  if (options.json) {
    print_json(summary.json);
  } else {
    fmt::print("{}book: {}\nsummary: {}\n", summary_text(state, end), book.string(), summary.file.empty() ? "none" : summary.file);
  }
  if (end == SweepEnd::interrupted || end == SweepEnd::no_room) {
    fmt::print(stderr, "{}; what is finished is in {}\nresume with: {}\n",
               end == SweepEnd::no_room ? "the disk is full: make room" : "interrupted", book.string(), invocation.command_line());
  }
  const bool failed = !options.on_finish.empty() && !run_on_finish(options.on_finish, summary.file, summary.exit_code);
  return failed && summary.exit_code == kDone ? kFailed : summary.exit_code;
}

// What is decided about an item of a region when it is chosen.
FrozenItem prepared_item(const SweepItem& item, const SweepPlan& plan,
                         const std::filesystem::path& book, bool ask_devices, double start) {
  SweepPlan alone;
  alone.templates = plan.templates;
  alone.items = {item};
  PrepareOptions options;
  options.book = book;
  options.now = now_s();
  options.sweep_start = start;
  options.ask_devices = ask_devices;
  return prepare(alone, options).plan.items.front();
}

// One shape for each device that the regions may run on; several GPUs share "cuda".
std::size_t shapes_at_once(const SweepPlan& plan) {
  std::set<std::string> devices;
  for (const CoverRegion& region : plan.regions) devices.insert(region.item.device);
  std::size_t count = devices.size();
  if (!devices.contains("cuda")) return count;
  const std::vector<DeviceListing> listed = list_devices();
  const auto gpus = static_cast<std::size_t>(
      std::count_if(listed.begin(), listed.end(), [](const DeviceListing& device) {
        return device.id.starts_with("cuda") && device.error.empty();
      }));
  return count - 1 + std::max<std::size_t>(1, gpus);
}

SweepObserver observer_on(ProgressLine& line) {
  SweepObserver observer;
  observer.event = [&line](const std::string& text) {
    line.clear();
    fmt::print(stderr, "{} {}\n", utc_text(now_s()).substr(0, 19) + "Z", text);
  };
  observer.live = [&line](const std::string& text) { line.show(text); };
  return observer;
}

}  // namespace

int run_plan(SweepPlan plan, const SweepRunOptions& options, const Invocation& invocation) {
  const Interrupt interrupt;
  const std::filesystem::path book = std::filesystem::absolute(default_book_path(options.book));
  std::vector<std::filesystem::path> taken = {plan.file, book};
  const std::string summary = output_path(options.summary, "--summary", taken);
  if (!summary.empty()) taken.emplace_back(summary);
  const std::string status = output_path(options.status, "--status", taken);
  check_command(options.on_finish);
  Store{book};  // made now, so that a book that cannot be written is known at once
  SweepFiles files = sweep_files(book, plan.file);
  if (!status.empty()) files.status = status;
  if (!summary.empty()) files.summary = summary;
  const SweepLock lock(files.lock);
  for (const std::string& text : plan.notes) note(text);

  const double now = now_s();
  std::optional<SweepState> state = options.restart ? std::nullopt : earlier_sweep(files.state, plan, now);
  const Resumption found = state ? resumption(*state, plan.hash(), now) : Resumption::none;
  if (found == Resumption::too_late) {
    fmt::print(stderr, "tunebook: the sweep of {} that began at {} had to end at {}: nothing was run. --restart begins a new one now, and so does this "
                       "command from {} on\n",
               plan.file, state->start_utc, utc_text(*state->deadline), utc_text(state->start + kSameNightSeconds));
    return kFailed;
  }
  remove_old_summary(files.summary);
  if (found == Resumption::none) {
    if (state && !state->ended && state->plan.plan_hash != plan.hash()) {
      note(fmt::format("the plan has changed since the sweep that began at {}, which is not finished: a new one begins; what the book holds is not "
                       "measured again", state->start_utc));
    }
    state = new_sweep(plan, book, options.ask_devices, now, now);
  } else {
    note(fmt::format("going on with the sweep that began at {}", state->start_utc));
  }

  SweepOptions sweep;
  sweep.program = std::filesystem::read_symlink("/proc/self/exe");
  sweep.book = book;
  sweep.files = files;
  sweep.time_left_s = time_left(*state, now_s());
  sweep.cores = read_host_resources().cores;
  sweep.stop = [] { return Interrupt::requested(); };
  sweep.resume_command = invocation.command_line();
  ProgressLine line;
  const SweepObserver observer = observer_on(line);
  Summary written;
  sweep.conclude = [&](SweepEnd end) {
    line.clear();
    if (const std::size_t lost = note_lost_results(*state, sessions_of(book)); lost > 0) {
      fmt::print(stderr, "tunebook: the book {} does not have {} of this sweep's sessions: it was removed or replaced meanwhile\n", book.string(), lost);
    }
    written = write_summary(*state, end, book, files.summary, options);
  };
  const auto run = [&] {
    sweep.time_left_s = time_left(*state, now_s());
    return run_sweep(*state, lanes_of(*state), sweep, observer);
  };
  SweepEnd end = SweepEnd::complete;
  if (plan.regions.empty()) {
    end = run();
  } else {
    CoverPlanner planner(plan.regions,
                         cover_source(plan, book, LearnPurpose::kept, observer.event));
    CoverRun cover;
    cover.run = run;
    cover.prepare = [&](const SweepItem& item) {
      return prepared_item(item, plan, book, options.ask_devices, state->start);
    };
    cover.save = [&] { state->save(files.state); };
    cover.event = observer.event;
    cover.at_once = shapes_at_once(plan);
    end = cover_regions(*state, planner, cover);
    written = write_summary(*state, end, book, files.summary,
                            options);  // with what the regions are like now
    state->save(files.state);
  }
  line.clear();
  return finish(*state, end, book, written, options, invocation);
}

ShardEnd run_part(const FrozenPlan& part, const std::filesystem::path& book, const std::function<bool()>& stop) {
  SweepPlan plan;
  plan.name = part.name;
  plan.time = part.time;
  for (const FrozenItem& item : part.items) plan.items.push_back(item.item);
  if (!plan.items.empty()) plan.templates = plan.items.front().templates;
  SweepState state = new_sweep(plan, book, /*ask_devices=*/true, part.frozen_at, now_s());
  SweepOptions sweep;
  sweep.program = std::filesystem::read_symlink("/proc/self/exe");
  sweep.book = book;
  sweep.files = sweep_files(book, part.name);
  sweep.time_left_s = time_left(state, now_s());
  sweep.cores = assigned_cores();
  sweep.stop = stop;
  ProgressLine line;
  const SweepEnd end = run_sweep(state, lanes_of(state), sweep, observer_on(line));
  line.clear();
  // Another node may have room.
  const bool again = end == SweepEnd::interrupted || end == SweepEnd::no_room;
  return {sweep_exit_code(state, end), again, summary_json(state, end, book.string(), utc_text(now_s()))};
}

OnFinishSplit split_on_finish(int argc, char** argv) {
  constexpr std::string_view kOption = "--on-finish";
  OnFinishSplit split{argc, {}};
  if (argc < 2 || std::string_view(argv[1]) != "sweep") return split;
  for (int i = 2; i + 1 < argc; ++i) {
    if (argv[i] != kOption) continue;
    split.words = i;
    split.command.assign(argv + i + 1, argv + argc);
    break;
  }
  return split;
}

}  // namespace tunebook::cli
