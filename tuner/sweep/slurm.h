#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sweep/slurm_script.h"

namespace tunebook {

// What was handed to Slurm for one sweep, as submission.json in its folder has it.
struct SlurmSubmission {
  std::vector<std::string> arrays;   // job numbers
  std::string merge;                 // of the merge job; "" until it is submitted
  std::vector<std::vector<std::string>> commands;  // the argument vectors, in order

  nlohmann::ordered_json to_json() const;
};

// Throws InputError if sbatch cannot be run here.
void check_slurm();

// Makes the log folder and writes the two scripts, each by renaming. Throws EnvironmentError.
void write_slurm_scripts(const SlurmSweep& sweep);

// Submits the arrays and the merge job that depends on them. submission.json is brought up to date after each, so that nothing that was
// submitted is forgotten. Throws EnvironmentError with what sbatch said, what was already submitted, and what to do.
SlurmSubmission submit_to_slurm(const SlurmSweep& sweep, const std::vector<SlurmArray>& arrays, const std::vector<SlurmOption>& merge_options);

// The jobs of the folder's last submission that are still in the queue, as squeue names them; none if there was no submission. Throws
// EnvironmentError if Slurm cannot be asked.
std::vector<std::string> jobs_in_queue(const std::filesystem::path& folder);

}  // namespace tunebook
