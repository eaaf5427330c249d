#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "core/device.h"
#include "sweep/plan.h"

namespace tunebook {

// The place where an item would run, as its trials' identity has it.
struct MeasuringPlace {
  Device device;
  std::string toolchain;   // ExecutorIdentity::toolchain
  std::string method;      // ExecutorIdentity::method
};

struct PrepareOptions {
  std::filesystem::path book;     // read only; it may not be there
  double now = 0;                 // seconds since 1970
  double sweep_start = 0;         // when the sweep (first) began: what ended since then is its own and fresh
  std::size_t shards = 1;         // parts of the partition
  bool ask_devices = true;        // start workers to learn what the devices are; else the book's newest session on the device tells
};

struct PreparedPlan {
  FrozenPlan plan;
  std::vector<std::string> notes; // devices that could not be asked, and what was taken instead
};

// Decides about each item of the plan and estimates it, from the book's history; divides what is to run. Kernel hashes come from the
// template folders and recordings, and each device is asked once. Throws InputError for a book that is none.
PreparedPlan prepare(const SweepPlan& plan, const PrepareOptions& options);

// Indices of items in the order in which they are best run: those that were begun, then by priority times expected gain per second.
std::vector<std::size_t> work_order(const std::vector<FrozenItem>& items, std::vector<std::size_t> which);
// Every item that is not fresh in one of `shards` parts of about the same expected seconds, each part in work_order().
std::vector<std::vector<std::size_t>> divide(const std::vector<FrozenItem>& items, std::size_t shards);

// The same decision for one item when its turn comes, the book having grown meanwhile (or being a snapshot from another node).
// `place`: of the device that will run it; `kernel_hash`: of the template or recording at hand.
FrozenItem prepare_item(const SweepItem& item, const std::string& kernel_hash, const MeasuringPlace& place, const PrepareOptions& options);

}  // namespace tunebook
