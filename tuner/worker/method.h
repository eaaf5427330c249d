#pragma once

#include <string>
#include <string_view>

#include "worker/message.h"

namespace tunebook {

// The name of the way in which times are taken, as in Timing::method: cache mode, version of the measuring code of a kind of device
// ("cuda", "cpu"), and the clock in MHz at which --lock-clocks holds the device (0: not held): "cold/2", "warm/cpu1", "cold/2@1500MHz".
// Times of different methods are never compared. The numbers below are raised when a sampler changes what a time means.
inline std::string timing_method(std::string_view kind, CacheMode cache, int locked_clock_mhz = 0) {
  std::string name = cache == CacheMode::warm ? "warm" : "cold";
  name += kind == "cpu" ? "/cpu1" : "/2";
  if (locked_clock_mhz > 0) name += "@" + std::to_string(locked_clock_mhz) + "MHz";
  return name;
}

}  // namespace tunebook
