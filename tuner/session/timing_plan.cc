#include "session/timing_plan.h"

namespace tunebook {

// A GPU's launches are short and steady; on the cpu a launch may take a second.
TimingPlan timing_plan(const std::string& kind, CacheMode cache) {
  TimingPlan plan;
  plan.cache = cache;
  if (kind == "cpu") {
    plan.min_samples = plan.abandon_samples = 3;
    plan.max_samples = 15;
    plan.max_seconds = 0.6;
    plan.target_relative_width = 0.03;
  } else {
    plan.min_samples = 15;
    plan.min_kernel_seconds = 0.008;
    plan.abandon_samples = 5;
    plan.max_samples = 200;
    plan.max_seconds = 0.3;
    plan.target_relative_width = 0.005;
  }
  return plan;
}

}  // namespace tunebook
