#include "sweep/forecast.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sweep/prepare.h"

namespace tunebook {

Forecast forecast(const std::vector<FrozenItem>& items, std::optional<double> time) {
  std::vector<std::size_t> all(items.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  Forecast result;
  for (const std::size_t index : work_order(items, std::move(all))) {
    const FrozenItem& frozen = items[index];
    if (frozen.decision.action == Action::fresh) continue;
    double& busy = result.device_seconds[frozen.item.is_replay() ? "replay" : frozen.item.device];
    busy += frozen.estimate.seconds;
    result.device_sum += frozen.estimate.seconds;
    ++result.to_run;
    if (!time || busy <= *time) ++result.in_time;
  }
  for (const auto& [device, seconds] : result.device_seconds) result.seconds = std::max(result.seconds, seconds);
  return result;
}

}  // namespace tunebook
