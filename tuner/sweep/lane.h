#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sweep/plan.h"

namespace tunebook {

// One device of a sweep and the items that it may run, in the order of work. A session at a time.
struct LanePlan {
  std::string key;               // "cuda:0", "cpu", "replay <device key>"
  std::string name;              // for people
  std::string device;            // --device of its sessions; "": the item's own (recordings)
  bool shares = false;           // some of its items are for any GPU: other lanes may take them
  bool alone = false;            // the cpu device measures on the cores that other sessions' compilers use: its turn comes when they are through
  std::vector<std::size_t> items;
  std::string missing;           // why the device was not found when the sweep began; "": it was, or nobody looked. It is tried once all the same
};

// What a recording was made on: the lane that its items go to, and its name.
struct RecordedOn {
  std::string key, name;
};

// A lane for each GPU that items name, and, if some are for any ("cuda"), for each of `gpus` ("cuda:0", ...; at least "cuda:0", so that a
// machine without any says so); one for the cpu; one for each device that recordings were made on. `order`: of work.
std::vector<LanePlan> plan_lanes(const FrozenPlan& plan, const std::vector<std::size_t>& order, const std::vector<std::string>& gpus,
                                 const std::function<RecordedOn(const std::string& recording)>& recorded_on);

}  // namespace tunebook
