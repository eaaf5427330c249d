#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/ceiling.h"
#include "core/device.h"
#include "core/problem.h"
#include "db/store.h"

namespace tunebook {

// What one launch of a kernel must do on a problem, whose dimensions `dtype` and `math` say by which units.
Workload workload_of(const Problem& problem, std::optional<double> flops, std::optional<double> bytes);

// Tells times that no right kernel can have from others, by the ceilings of the device that are of the same method.
class PossibleTime {
 public:
  PossibleTime() = default;  // knows no ceilings: everything is possible
  PossibleTime(std::vector<Ceiling> ceilings, Workload work, std::string method, const Device& device);

  // What is wrong with this median, with the floor and the ceiling that it breaks; "" if it is possible.
  std::string violation(double median_us) const;
  // A trial with a time that is impossible becomes wrong_result; its time is kept. True if so.
  bool refuse(TrialRecord& trial) const;

 private:
  std::vector<Ceiling> ceilings_;
  Workload work_;
  std::string method_;
  double share_ = kFloorShare;
};

}  // namespace tunebook
