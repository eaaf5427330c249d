#pragma once

#include <string>

#include "worker/message.h"

namespace tunebook {

// How the trials of a session are sampled on a device of that kind ("cuda", "cpu").
TimingPlan timing_plan(const std::string& kind, CacheMode cache);

}  // namespace tunebook
