#pragma once

#include <cstddef>
#include <vector>

#include "sweep/plan.h"
#include "sweep/slurm_script.h"

namespace tunebook {

// Divides the work of the plan into `shards` parts, none of them empty, that each an equal task can do: items of devices that need other
// options of sbatch (other GPUs, say) are never in one part. Each such group gets parts by its expected seconds, and one at least: so there
// may be more than `shards`, and there are fewer if there is less work. Writes plan.shards.
void divide_for_slurm(FrozenPlan& plan, const std::vector<SlurmOption>& options, std::size_t shards);

// Array jobs for these shards of the plan: those that get the same options are one.
std::vector<SlurmArray> arrays_for(const FrozenPlan& plan, const std::vector<SlurmOption>& options, const std::vector<std::size_t>& shards);

// The options that the merge job gets.
std::vector<SlurmOption> merge_options_of(const std::vector<SlurmOption>& options);

}  // namespace tunebook
