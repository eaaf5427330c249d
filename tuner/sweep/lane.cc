#include "sweep/lane.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tunebook {
namespace {

constexpr const char* kAnyGpu = "cuda";

}  // namespace

std::vector<LanePlan> plan_lanes(const FrozenPlan& plan, const std::vector<std::size_t>& order, const std::vector<std::string>& gpus,
                                 const std::function<RecordedOn(const std::string& recording)>& recorded_on) {
  std::vector<LanePlan> lanes;
  const auto lane = [&](const std::string& key) -> LanePlan& {
    const auto found = std::find_if(lanes.begin(), lanes.end(), [&](const LanePlan& known) { return known.key == key; });
    if (found != lanes.end()) return *found;
    lanes.push_back({key, key, key, false, false, {}, ""});
    return lanes.back();
  };
  std::set<std::string> any_gpu(gpus.begin(), gpus.end());
  if (any_gpu.empty()) any_gpu = {"cuda:0"};
  for (const std::size_t index : order) {
    const SweepItem& item = plan.items[index].item;
    if (item.is_replay()) {
      const RecordedOn place = recorded_on(item.replay_path());
      LanePlan& own = lane("replay " + place.key);
      own.name = "replay: " + place.name;
      own.device.clear();
      own.items.push_back(index);
    } else if (item.device == kAnyGpu) {
      for (const std::string& gpu : any_gpu) {
        lane(gpu).shares = true;
        lane(gpu).items.push_back(index);
      }
    } else {
      LanePlan& own = lane(item.device);
      own.alone = item.device == "cpu";
      own.items.push_back(index);
    }
  }
  return lanes;
}

}  // namespace tunebook
