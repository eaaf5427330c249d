#include "session/possible_time.h"

#include <utility>
#include <variant>

#include "core/outcome.h"
#include "core/value.h"

namespace tunebook {
namespace {

std::string text_dimension(const Problem& problem, std::string_view name) {
  const Value* value = problem.find(name);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? std::string() : *text;
}

}  // namespace

Workload workload_of(const Problem& problem, std::optional<double> flops, std::optional<double> bytes) {
  return {flops.value_or(0), bytes.value_or(0), text_dimension(problem, "dtype"), text_dimension(problem, "math")};
}

PossibleTime::PossibleTime(std::vector<Ceiling> ceilings, Workload work, std::string method, const Device& device)
    : ceilings_(std::move(ceilings)), work_(std::move(work)), method_(std::move(method)),
      share_(device.kind == "cpu" ? kCpuFloorShare : kFloorShare) {}

std::string PossibleTime::violation(double median_us) const { return floor_violation(ceilings_, work_, method_, median_us, share_); }

bool PossibleTime::refuse(TrialRecord& trial) const {
  if (!has_time(trial.outcome) || !trial.median_us) return false;
  std::string message = violation(*trial.median_us);
  if (message.empty()) return false;
  trial.outcome = Outcome::wrong_result;
  trial.message = std::move(message);
  return true;
}

}  // namespace tunebook
