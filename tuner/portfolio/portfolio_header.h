#pragma once

#include <string>
#include <vector>

#include "core/device.h"
#include "core/spec.h"
#include "portfolio/portfolio_rule.h"

namespace tunebook {

// What a library ships instead of a lookup: some configurations and the rule that picks among them.
struct Portfolio {
  const KernelSpec* spec = nullptr;
  Device device;      // that the configurations were measured on
  std::string dtype;  // "" where the kernel has none
  std::vector<Configuration> configurations;
  PortfolioRule rule;  // its orders are indices into `configurations`

  // Every condition of a declaration that decides whether the configuration can run a problem:
  // constraints, the cpu's own condition, grids and shared memory against the device's limits.
  std::vector<std::string> conditions_of() const;
  // Values of everything but sizes and categories, for one configuration.
  KernelSpec::Scope scope_of(std::size_t index) const;
  // Whether these conditions hold; a condition that cannot be evaluated does not.
  bool valid(std::size_t index, const Problem& problem) const;
  // Index of the configuration for a problem with all dimensions; nothing if none is valid.
  std::optional<std::size_t> pick(const Problem& problem) const;
};

// A C++17 header that needs the standard library only: the configurations as constexpr data,
// valid() and pick(). `about`: lines of a comment on top. Throws InputError as cpp_condition()
// does, and for a namespace that is no C++ name.
std::string portfolio_header(const Portfolio& portfolio, const std::string& name_space,
                             const std::vector<std::string>& about);

}  // namespace tunebook
