#include "cli/ceiling_text.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace tunebook::cli {

CeilingText ceiling_text(const std::vector<Ceiling>& ceilings, const Workload& work, const std::string& method, double time_us) {
  CeilingText text;
  const std::optional<AppliedCeiling> binding = binding_ceiling(ceilings, work, method);
  if (!binding || !(time_us > 0)) return text;
  const double percent = binding->percent(time_us);
  text.json = {{"binds", binding->what},
               {"percent", percent},
               {"rate", binding->rate},
               {"unit", binding->bandwidth ? "GB/s" : "GFLOP/s"},
               {"floor_us", binding->floor_us}};
  (binding->bandwidth ? text.bandwidth : text.arithmetic) = fmt::format(", {:.0f} % of {}", percent, ceiling_phrase(binding->what));
  return text;
}

void hint_at_calibration(const std::vector<Ceiling>& ceilings, const std::string& method, const std::string& device) {
  if (method.find('@') != std::string::npos) return;  // clocks held at will: calibrate does not hold them
  if (std::any_of(ceilings.begin(), ceilings.end(), [&](const Ceiling& ceiling) { return ceiling.method == method; })) return;
  fmt::print(stderr, "hint: tunebook calibrate --device {}{} gives percent of the ceilings\n", device,
             method.starts_with("warm") ? " --cache warm" : "");
}

}  // namespace tunebook::cli
