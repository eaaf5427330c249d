#include "sweep/slurm_script.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/shell_word.h"

namespace tunebook {
namespace {

// Given by Tunebook, or at odds with what it relies on.
constexpr std::array<std::string_view, 12> kOwnOptions = {"array",  "dependency", "parsable",  "wrap",   "wait",  "requeue",
                                                          "no-requeue", "open-mode", "test-only", "output", "error", "help"};
// Only the batch shell must be told, and in time: it passes the signal on.
constexpr std::string_view kSignalForm = "B:TERM@";
// How long before the time limit the task is told to stop, in seconds: a running kernel and a snapshot of a large book end in that time.
constexpr int kSignalSeconds = 120;
// How often Slurm itself may restart a task (preemption, a lost node) on top of the retries: one that brings down its nodes must end, too.
constexpr int kRestartsBySlurm = 20;

// In file names sbatch replaces % and a letter.
std::string log_file(const std::filesystem::path& file) {
  std::string escaped;
  for (const char c : file.string()) escaped += c == '%' ? std::string("%%") : std::string(1, c);
  return escaped;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += " " + shell_word(word);
  return text;
}

std::string sweep_command(const SlurmSweep& sweep) {
  return fmt::format("{} sweep --frozen {}", shell_word(sweep.program.string()), shell_word(sweep.frozen.string()));
}

std::vector<std::string> common_arguments(const SlurmSweep& sweep, const std::string& name, const std::string& log) {
  return {"sbatch",          "--parsable", "--job-name=" + name, "--chdir=" + sweep.folder().string(), "--requeue", "--open-mode=append",
          "--output=" + log};
}

void append_options(std::vector<std::string>& command, const std::vector<SlurmOption>& options) {
  for (const SlurmOption& option : options) command.push_back(option.argument());
}

}  // namespace

SlurmOption SlurmOption::parse(const std::string& text, const std::vector<std::string>& devices) {
  const auto refuse = [&](const std::string& reason) { return InputError(fmt::format("--slurm-option '{}': {}", text, reason)); };
  SlurmOption option;
  std::string rest = text;
  const std::string_view name_letters = "abcdefghijklmnopqrstuvwxyz-";
  // A value may hold an @ too (an address for mail): the scope ends at the first one in front of the name.
  if (const std::size_t at = text.find('@'); at != std::string::npos && at < text.find('=')) {
    // A device "replay:PATH" may hold an @ itself: the longest device that fits.
    std::vector<std::string> scopes = devices;
    scopes.push_back("merge");
    std::optional<std::string> scope;
    for (const std::string& candidate : scopes) {
      if (text.starts_with(candidate + "@") && (!scope || candidate.size() > scope->size())) scope = candidate;
    }
    if (!scope) {
      throw refuse(fmt::format("'{}' is no device of the plan; expected {} or merge before the @", text.substr(0, at), fmt::join(devices, ", ")));
    }
    option.scope = *scope;
    rest = text.substr(scope->size() + 1);
  }
  while (rest.starts_with("-")) rest.erase(0, 1);
  const std::size_t equals = rest.find('=');
  option.name = rest.substr(0, equals);
  if (equals != std::string::npos) option.value = rest.substr(equals + 1);
  if (option.name.size() < 2 || option.name.find_first_not_of(name_letters) != std::string::npos) {
    throw refuse("expected NAME=VALUE or NAME with the long name of an option of sbatch, for example gres=gpu:1");
  }
  if (std::find(kOwnOptions.begin(), kOwnOptions.end(), option.name) != kOwnOptions.end()) {
    throw refuse(fmt::format("--{} is given by Tunebook itself; leave it out", option.name));
  }
  if (option.name == "signal" && !option.value.starts_with(kSignalForm)) {
    throw refuse(fmt::format("expected signal={}SECONDS: the batch shell alone is told, and passes it on", kSignalForm));
  }
  if (option.value.find('\n') != std::string::npos) throw refuse("the value has a line break");
  return option;
}

std::string task_script_text(const SlurmSweep& sweep) {
  return fmt::format(
      R"sh(#!/bin/sh
# One shard of a sweep, as a task of an array job; written by tunebook sweep --slurm.
#
# What tunebook ends with: 0 done, 1 some failed, 2 bad input, 3 regression: then the task is over. 75: it was told to stop, or could not
# leave its last snapshot; 128 and more: it was killed. Then the task goes back into the queue, at most {retries} times, and goes on from its last
# snapshot, on whatever node it gets.
restarts=${{SLURM_RESTART_COUNT:-0}}
task=${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}
if [ "$restarts" -gt {most} ]; then
  echo "task $task: was restarted $restarts times: given up. Submit the sweep once more to go on from its snapshot." >&2
  exit 1
fi

child=
told=
# Before the time limit Slurm tells this shell alone; before it requeues or cancels the job, everything in it.
trap 'told=yes; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' TERM
{command} --shard "$SLURM_ARRAY_TASK_ID" --snapshot-every {every}{arguments} &
child=$!
[ -z "$told" ] || kill -TERM "$child" 2>/dev/null
wait "$child"
code=$?
while kill -0 "$child" 2>/dev/null; do  # it was the trap that ended the wait
  wait "$child"
  code=$?
done
case $code in
  0 | 1 | 2 | 3) exit "$code" ;;
esac

if [ "$restarts" -ge {retries} ]; then
  echo "task $task: ended with $code and was restarted $restarts times: not again. Submit the sweep once more to go on from its snapshot." >&2
  exit "$code"
fi
# One that was cancelled, or that Slurm requeues itself, is no longer running, and must be left alone.
state=$(squeue --noheader --jobs "$task" --format %T 2>/dev/null)
if [ "$state" != RUNNING ]; then
  echo "task $task: ended with $code; Slurm has it as ${{state:-unknown}}" >&2
  exit "$code"
fi
echo "task $task: ended with $code; back into the queue (restart $((restarts + 1)) of {retries})" >&2
scontrol requeue "$task"
exit "$code"
)sh",
      fmt::arg("retries", sweep.retries), fmt::arg("most", sweep.retries + kRestartsBySlurm), fmt::arg("command", sweep_command(sweep)), fmt::arg("every", sweep.snapshot_every_s),
      fmt::arg("arguments", joined(sweep.task_arguments)));
}

std::string merge_script_text(const SlurmSweep& sweep) {
  return fmt::format("#!/bin/sh\n# Puts the shards of a sweep together and says what is missing; written by tunebook sweep --slurm.\nexec {} --merge{}\n",
                     sweep_command(sweep), joined(sweep.merge_arguments));
}

std::vector<std::string> array_command(const SlurmSweep& sweep, const SlurmArray& array) {
  std::vector<std::string> command = common_arguments(sweep, sweep.name, log_file(sweep.logs() / "shard-") + "%a.log");
  command.push_back("--array=" + index_ranges(array.shards));
  command.push_back(fmt::format("--signal={}{}", kSignalForm, kSignalSeconds));
  append_options(command, array.options);
  command.push_back(sweep.task_script().string());
  return command;
}

std::vector<std::string> merge_command(const SlurmSweep& sweep, const std::vector<std::string>& jobs, const std::vector<SlurmOption>& options) {
  std::vector<std::string> command = common_arguments(sweep, sweep.name + "-merge", log_file(sweep.logs() / "merge.log"));
  command.push_back(fmt::format("--dependency=afterany:{}", fmt::join(jobs, ":")));
  append_options(command, options);
  command.push_back(sweep.merge_script().string());
  return command;
}

std::string index_ranges(const std::vector<std::size_t>& ascending) {
  std::string text;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ascending[i]);
    if (last > i) text += fmt::format("-{}", ascending[last]);
    i = last + 1;
  }
  return text;
}

std::string parse_job_number(const std::string& output) {
  std::istringstream lines(output);
  std::string number;
  for (std::string line; std::getline(lines, line);) {
    const std::string candidate = line.substr(0, line.find(';'));
    if (!candidate.empty() && candidate.find_first_not_of("0123456789") == std::string::npos) number = candidate;
  }
  if (number.empty()) throw EnvironmentError(fmt::format("sbatch said no job number, but: {}", output.empty() ? "nothing" : output));
  return number;
}

}  // namespace tunebook
