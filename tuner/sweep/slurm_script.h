#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace tunebook {

// An option for sbatch as `--slurm-option` takes it: "NAME=VALUE" or "NAME", in front of it "DEVICE@" if it is only for the tasks that work on
// the plan's device of this name, or "merge@" if it is only for the merge job.
struct SlurmOption {
  std::string scope;       // a device of the plan, "merge", or "" for all jobs
  std::string name, value; // value may be empty

  std::string argument() const { return value.empty() ? "--" + name : "--" + name + "=" + value; }
  // Throws InputError: no such form, a scope that is neither a device of the plan nor "merge", an option that belongs to Tunebook ("array",
  // "dependency", ...), a --signal that would not reach the task.
  static SlurmOption parse(const std::string& text, const std::vector<std::string>& devices);
  friend bool operator==(const SlurmOption&, const SlurmOption&) = default;
};

// What the jobs of one sweep have in common.
struct SlurmSweep {
  std::string name;                        // for the job's name
  std::filesystem::path program;           // tunebook itself, absolute
  std::filesystem::path frozen;            // the frozen plan, absolute; its folder is the shared one
  double snapshot_every_s = 300;
  int retries = 2;                         // how often a task that was killed or ran out of time is put back into the queue
  std::vector<std::string> task_arguments;   // passed on to each task (--templates is in the frozen plan)
  std::vector<std::string> merge_arguments;  // and to the merge job

  std::filesystem::path folder() const { return frozen.parent_path(); }
  std::filesystem::path task_script() const { return folder() / "task.sh"; }
  std::filesystem::path merge_script() const { return folder() / "merge.sh"; }
  std::filesystem::path logs() const { return folder() / "log"; }
};

// The tasks of an array job get the same options.
struct SlurmArray {
  std::vector<std::size_t> shards;         // ascending
  std::vector<SlurmOption> options;
};

// The batch scripts: POSIX sh, nothing of the user's but quoted paths.
std::string task_script_text(const SlurmSweep& sweep);
std::string merge_script_text(const SlurmSweep& sweep);

// The argument vectors that submit them. The user's options come last, so that they win.
std::vector<std::string> array_command(const SlurmSweep& sweep, const SlurmArray& array);
// `jobs`: what sbatch said of the arrays; the merge runs when all their tasks have ended, however.
std::vector<std::string> merge_command(const SlurmSweep& sweep, const std::vector<std::string>& jobs, const std::vector<SlurmOption>& options);

// "0-3,7": what --array takes.
std::string index_ranges(const std::vector<std::size_t>& ascending);

// The job's number in what `sbatch --parsable` printed ("123" or "123;cluster", perhaps with warnings around it), without the cluster.
// Throws EnvironmentError with the text if there is none.
std::string parse_job_number(const std::string& output);

}  // namespace tunebook
