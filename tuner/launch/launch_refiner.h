#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "launch/job_queue.h"
#include "launch/kernel_slot.h"
#include "launch/launch_copies.h"
#include "launch/launch_device.h"
#include "launch/learned_file.h"
#include "tunebook/launch.h"

namespace tunebook {

// One configuration to try: loaded, or why it could not be.
struct RefineCandidate {
  CompiledKernel about;
  std::shared_ptr<const LoadedLaunch> loaded;  // null: it could not be
  std::string outcome, message;                // then
};

// All that is needed to refine one problem once its arguments are there. It does not keep the slot alive, and needs
// nothing of the Launcher: handles may outlive it.
struct RefineTask {
  std::weak_ptr<KernelSlot> slot;
  std::uint64_t number = 0;                     // of the choice that is refined
  std::shared_ptr<LaunchDevice> device;
  std::shared_ptr<JobQueue> queue;              // all tasks of a Launcher run there
  std::shared_ptr<double> seconds_left;         // of the problem; used on the queue's thread alone
  CopyPlan plan;
  int samples = 0;
  std::vector<RefineCandidate> candidates;      // the configuration at hand first
  LearnedAbout learned;
  std::string learned_file;
};

// Waits for a launch of the application and goes on from there.
void await_arguments(RefineTask task);

// The slot's state goes on as it is, no longer refining; with a note unless `reason` is empty.
void end_refining(const std::weak_ptr<KernelSlot>& slot, std::uint64_t number, const std::string& reason);

}  // namespace tunebook
