#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/launch_plan.h"
#include "launch/kernel_choice.h"
#include "launch/launch_copies.h"

namespace tunebook {
namespace {

// As the sampler flushes: twice the L2, and 8 MiB where the device reports none (cuda/sampler.cc).
constexpr std::int64_t kFlushFactor = 2, kLeastL2Bytes = std::int64_t{8} << 20;

void set_tolerance(CopiedArgument& copied, const KernelSpec& spec, DType problem_dtype, const KernelSpec::Scope& scope) {
  auto tolerance = spec.tolerance.find(copied.dtype);
  if (tolerance == spec.tolerance.end()) tolerance = spec.tolerance.find(problem_dtype);
  if (tolerance == spec.tolerance.end()) return;  // equal to the bit
  copied.rel = tolerance->second.rel.evaluate_real(scope);
  copied.abs = tolerance->second.abs.evaluate_real(scope);
  if (!(copied.rel >= 0 && copied.abs >= 0 && std::isfinite(copied.rel) && std::isfinite(copied.abs))) {
    throw InputError(fmt::format("argument {}: the declared tolerance gives {:g} and {:g}", copied.name, copied.rel, copied.abs));
  }
}

}  // namespace

std::int64_t CopyPlan::bytes() const {
  std::int64_t sum = flush_bytes;
  for (const CopiedArgument& argument : arguments) {
    if (!argument.pointer) continue;
    sum += argument.bytes() * (1 + (argument.written ? 1 : 0) + (argument.read && argument.written ? 1 : 0));
  }
  return sum;
}

CopyPlan copy_plan(const KernelSpec& spec, const Problem& problem, const Device& device, bool cold) {
  CopyPlan plan;
  plan.cold = cold;
  if (cold) plan.flush_bytes = kFlushFactor * std::max(device.limits.l2_bytes, kLeastL2Bytes) / 16 * 16;
  KernelSpec::Scope scope = spec.scope(problem, device);
  spec.bind_tolerance(scope, problem);
  spec.bind(scope, *spec.find_preset("default"));
  const DType problem_dtype = spec.problem_dtype(problem);
  for (const Argument& argument : spec.arguments) {
    if (!is_callers(spec, argument)) continue;
    CopiedArgument copied;
    copied.name = argument.name;
    copied.dtype = argument.dtype.value_or(problem_dtype);
    copied.pointer = argument.pointer;
    try {
      if (argument.pointer) {
        copied.written = argument.is_result();
        copied.read = argument.access != Argument::Access::out;
        copied.count = argument.count.evaluate_integer(scope);
        if (copied.count < 0 || copied.count > kMaxElements) {
          throw InputError(fmt::format("argument {}: `{}` gives {} elements", argument.name, argument.count.text(), copied.count));
        }
        if (copied.written && is_floating(copied.dtype)) set_tolerance(copied, spec, problem_dtype, scope);
      }
    } catch (const ExpressionError& error) {
      throw InputError(fmt::format("argument {}: {}", argument.name, error.what()));
    }
    plan.arguments.push_back(std::move(copied));
  }
  return plan;
}

}  // namespace tunebook
