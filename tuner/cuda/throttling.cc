#include "cuda/throttling.h"

#include <optional>

#include "core/statistics.h"

namespace tunebook {
namespace {

std::optional<double> median_of(const std::vector<NvmlReading>& readings, std::optional<double> NvmlReading::*member) {
  std::vector<double> values;
  for (const NvmlReading& reading : readings) {
    if (reading.*member) values.push_back(*(reading.*member));
  }
  return values.empty() ? std::nullopt : std::optional(median(values));
}

}  // namespace

void RetakePolicy::begin(double max_seconds) {
  retaken_ = 0;
  retaken_seconds_ = 0;
  allowed_seconds_ = kMostTimeShare * max_seconds;
}

bool RetakePolicy::retake(bool throttled, double seconds) {
  throttled_in_a_row_ = throttled ? throttled_in_a_row_ + 1 : 0;
  if (!throttled || throttled_in_a_row_ > kHopelessInARow) return false;
  if (retaken_ >= kMostRetakes || retaken_seconds_ + seconds > allowed_seconds_) return false;
  ++retaken_;
  retaken_seconds_ += seconds;
  return true;
}

void ConditionsLog::keep(const NvmlReading& reading) { readings_.push_back(reading); }

Conditions ConditionsLog::conditions() const {
  Conditions result;
  result.sm_clock_mhz = median_of(readings_, &NvmlReading::sm_clock_mhz);
  result.memory_clock_mhz = median_of(readings_, &NvmlReading::memory_clock_mhz);
  result.temperature_c = median_of(readings_, &NvmlReading::temperature_c);
  result.power_w = median_of(readings_, &NvmlReading::power_w);
  std::uint64_t reasons = 0;
  for (const NvmlReading& reading : readings_) reasons |= reading.clock_reasons;
  result.throttled = throttle_text(throttle_bits(reasons));
  result.retaken_batches = retaken_;
  return result;
}

}  // namespace tunebook
