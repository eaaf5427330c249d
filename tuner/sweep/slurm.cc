#include "sweep/slurm.h"

#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/json_text.h"
#include "core/shell_word.h"
#include "db/encoding.h"
#include "sweep/atomic_file.h"
#include "worker/child_process.h"

namespace tunebook {
namespace {

namespace fs = std::filesystem;

fs::path submission_file(const fs::path& folder) { return folder / "submission.json"; }

std::string command_text(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

// What a command of Slurm's said, in one line.
std::string one_line(const std::string& output) {
  std::string text;
  for (const char c : output.substr(0, output.find_last_not_of('\n') + 1)) text += c == '\n' ? std::string("; ") : std::string(1, c);
  return text;
}

// The job's number.
std::string sbatch(const std::vector<std::string>& command) {
  const ChildResult result = run_child(command);
  if (result.exit_code != 0) {
    throw EnvironmentError(fmt::format("{}\n  by: {}", one_line(result.output), command_text(command)));
  }
  return parse_job_number(result.output);
}

std::string submitted_text(const SlurmSubmission& submission) {
  if (submission.arrays.empty()) return "nothing was submitted";
  return fmt::format("submitted so far: {0} (scancel {0} takes it back)", fmt::join(submission.arrays, " "));
}

}  // namespace

nlohmann::ordered_json SlurmSubmission::to_json() const {
  return {{"arrays", arrays}, {"merge", merge}, {"commands", commands}};
}

void check_slurm() {
  std::string reason;
  try {
    const ChildResult result = run_child({"sbatch", "--version"});
    if (result.exit_code == 0) return;
    reason = one_line(result.output);
  } catch (const EnvironmentError& error) {
    reason = error.what();
  }
  throw InputError(fmt::format("--slurm: {}; run this where jobs are submitted, or see with --dry-run what would be", reason));
}

void write_slurm_scripts(const SlurmSweep& sweep) {
  std::error_code error;
  fs::create_directories(sweep.logs(), error);
  if (error) throw EnvironmentError(fmt::format("{}: {}", sweep.logs().string(), error.message()));
  write_atomically(sweep.task_script(), task_script_text(sweep));
  write_atomically(sweep.merge_script(), merge_script_text(sweep));
}

SlurmSubmission submit_to_slurm(const SlurmSweep& sweep, const std::vector<SlurmArray>& arrays, const std::vector<SlurmOption>& merge_options) {
  SlurmSubmission submission;
  const auto note = [&](const std::vector<std::string>& command) {
    submission.commands.push_back(command);
    nlohmann::ordered_json json = submission.to_json();
    json["submitted_utc"] = now_utc();
    write_atomically(submission_file(sweep.folder()), json.dump(2) + "\n");
  };
  try {
    for (const SlurmArray& array : arrays) {
      const std::vector<std::string> command = array_command(sweep, array);
      submission.arrays.push_back(sbatch(command));
      note(command);
    }
    const std::vector<std::string> command = merge_command(sweep, submission.arrays, merge_options);
    submission.merge = sbatch(command);
    note(command);
  } catch (const EnvironmentError& error) {
    throw EnvironmentError(fmt::format("sweep --slurm: {}\n  {}", error.what(), submitted_text(submission)));
  }
  return submission;
}

std::vector<std::string> jobs_in_queue(const fs::path& folder) {
  const fs::path file = submission_file(folder);
  std::error_code error;
  if (!fs::exists(file, error)) return {};
  const nlohmann::ordered_json json = parse_json_text(read_text_file(file), file.string());
  std::vector<std::string> jobs;
  try {
    jobs = json.at("arrays").get<std::vector<std::string>>();
    if (const std::string merge = json.at("merge").get<std::string>(); !merge.empty()) jobs.push_back(merge);
  } catch (const nlohmann::json::exception& wrong) {
    throw InputError(fmt::format("{}: not what was submitted: {}; remove the file if no job of this sweep is in the queue", file.string(), wrong.what()));
  }
  std::vector<std::string> queued;
  for (const std::string& job : jobs) {  // one by one: squeue fails for a number that it has forgotten
    const ChildResult result = run_child({"squeue", "--noheader", "--jobs=" + job, "--format=%i"});
    if (result.exit_code != 0) {
      if (result.output.find("Invalid job id") != std::string::npos) continue;
      throw EnvironmentError(fmt::format("squeue: {}", one_line(result.output)));
    }
    std::istringstream lines(result.output);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) queued.push_back(line);
    }
  }
  return queued;
}

}  // namespace tunebook
