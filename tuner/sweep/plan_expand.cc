#include "sweep/plan_expand.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/json_text.h"
#include "search/space.h"

namespace tunebook {
namespace {

constexpr const char* kTypeName = "dtype";
constexpr std::size_t kShownProblems = 5;

std::string one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.replace(at, 1, "; ");
  return text;
}

std::string device_kind(const std::string& device) { return device.substr(0, device.find(':')); }

// A miss asked on one kind of device is no reason to measure on another; a recording stands for whatever it was made on.
bool takes_miss(const WantedShape& shape, const std::string& device) {
  return device_kind(device) == "replay" || shape.device_kind == device_kind(device);
}

std::vector<std::string> names_of(const KernelSpec& spec) {
  std::vector<std::string> names;
  for (const Dimension& dimension : spec.dimensions) names.push_back(dimension.name);
  return names;
}

// A problem in the spec's order from the dimensions that are given; categories that are not given take their default.
Problem complete(const KernelSpec& spec, const Problem& given) {
  Problem problem;
  for (const Dimension& dimension : spec.dimensions) {
    if (const Value* value = given.find(dimension.name)) problem.set(dimension.name, *value);
    else if (dimension.categorical) problem.set(dimension.name, spec.default_of(dimension, given));
  }
  for (const auto& [name, value] : given.items()) problem.set(name, value);  // unknown names: check_problem() names the nearest
  return problem;
}

// Whether a recorded problem is the one that a plan asks for: every dimension that is given is recorded so, and every size is given.
bool is_recorded_problem(const WantedShape& shape, const std::optional<std::string>& type, const Problem& recorded) {
  if (type) {
    const Value* value = recorded.find(kTypeName);
    if (value == nullptr || to_text(*value) != *type) return false;
  }
  if (!shape.text.empty()) {
    std::string positional, sizes;
    for (const auto& [name, value] : recorded.items()) {
      positional += (positional.empty() ? "" : ",") + to_text(value);
      if (std::holds_alternative<std::int64_t>(value)) sizes += (sizes.empty() ? "" : ",") + to_text(value);
    }
    return shape.text == positional || shape.text == sizes || shape.text == recorded.display();
  }
  const bool as_given = std::all_of(shape.values.items().begin(), shape.values.items().end(), [&](const auto& item) {
    const Value* value = recorded.find(item.first);
    return value != nullptr && *value == item.second;
  });
  return as_given && std::all_of(recorded.items().begin(), recorded.items().end(), [&](const auto& item) {
    return !std::holds_alternative<std::int64_t>(item.second) || shape.values.find(item.first) != nullptr;
  });
}

// As it was written; what is long or no text for a terminal as messages quote it.
std::string shape_text(const WantedShape& shape) {
  const std::string text = shape.text.empty() ? shape.values.display() : shape.text;
  const std::string quoted = in_quotes(text);
  return quoted.size() == text.size() + 2 ? text : quoted;
}

}  // namespace

void PlanExpander::fault(const std::string& path, const std::string& message) {
  if (faults_.insert(path + '\n' + message).second) reader_.problem(path, message);
}

void PlanExpander::pass_over(const WantedShape& shape, const std::string& reason) {
  if (passed_over_++ == 0) first_passed_over_ = shape.place + reason;
}

void PlanExpander::add(const PlanEntry& entry) {
  check_settings(entry);
  std::vector<std::string> real, replays;
  for (const std::string& device : entry.settings.devices) (device_kind(device) == "replay" ? replays : real).push_back(device);
  for (const WantedShape& shape : entry.shapes) {
    if (!shape.miss) continue;
    const bool taken = std::find(entry.kernels.begin(), entry.kernels.end(), shape.kernel) != entry.kernels.end();
    (taken ? wanted_ : unwanted_).insert(shape.kernel);
  }
  for (const std::string& kernel : entry.kernels) {
    // Without a device, if only to tell all that is wrong.
    if (!real.empty() || replays.empty()) add_template(entry, kernel, real);
    for (const std::string& device : replays) add_replay(entry, kernel, device);
  }
}

void PlanExpander::finish() {
  for (const std::string& kernel : wanted_) unwanted_.erase(kernel);
  if (!unwanted_.empty()) plan_.notes.push_back(fmt::format("recorded misses of {} are for kernels that the plan does not tune", fmt::join(unwanted_, ", ")));
  if (passed_over_ > 0) plan_.notes.push_back(fmt::format("{} recorded misses were passed over; the first: {}", passed_over_, first_passed_over_));
}

void PlanExpander::check_settings(const PlanEntry& entry) {
  const SessionSettings& session = entry.settings.session;
  for (const std::string& device : entry.settings.devices) {
    const std::string kind = device_kind(device);
    const auto refuse = [&](bool wrong, const char* key, const char* reason) {
      if (wrong) fault(entry.path, fmt::format("\"{}\" cannot be had on {}: {}; give these sessions an entry of their own", key, device, reason));
    };
    refuse(kind != "cuda" && session.lock_clocks_mhz != 0, "lock_clocks_mhz", "it is for GPUs");
    refuse(kind != "cuda" && session.objective == Objective::energy, "objective\": \"energy", "it counts no energy");
    refuse(kind == "replay" && session.sanitize, "sanitize", "a recording runs no kernels");
  }
}

std::vector<std::string> PlanExpander::types_of(const PlanEntry& entry, const KernelSpec& spec) {
  const Dimension* dtype = spec.find_dimension(kTypeName);
  if (entry.all_types) return dtype != nullptr ? dtype->values : std::vector<std::string>();
  if (entry.types.empty()) return {};
  if (dtype == nullptr) {
    fault(entry.path + "/types", fmt::format("kernel {} has no {}; give it an entry of its own, without \"types\"", spec.name, kTypeName));
    return {};
  }
  std::vector<std::string> types;
  for (const std::string& type : entry.types) {
    if (std::find(dtype->values.begin(), dtype->values.end(), type) != dtype->values.end()) {
      types.push_back(type);
    } else {
      fault(entry.path + "/types", fmt::format("found {}, expected a data type of kernel {}: {}{}", in_quotes(type), spec.name,
                                               fmt::join(dtype->values, ", "), did_you_mean(type, dtype->values)));
    }
  }
  return types;
}

// A name that is unknown is so in every shape of a product: it is told once, where it stands in the plan.
bool PlanExpander::knows_dimensions(const KernelSpec& spec, const WantedShape& shape) {
  bool all_known = true;
  for (const auto& [name, value] : shape.values.items()) {
    if (spec.find_dimension(name) != nullptr) continue;
    const auto known = names_of(spec);
    const std::string message = fmt::format("found the unknown dimension {}, expected kernel {} to have {}{}", in_quotes(name), spec.name, fmt::join(known, ", "), did_you_mean(name, known));
    if (shape.miss) pass_over(shape, message);
    else fault(shape.path + '/' + json_pointer_step(name), message);
    all_known = false;
    if (shape.miss) break;
  }
  return all_known;
}

std::vector<Problem> PlanExpander::problems_of(const PlanEntry& entry, const KernelSpec& spec, const WantedShape& shape) {
  std::vector<std::optional<std::string>> types;
  for (const std::string& type : types_of(entry, spec)) types.emplace_back(type);
  if (shape.miss) {
    // The question says the type; "types" narrows.
    const Value* asked = shape.values.find(kTypeName);
    const bool wanted = types.empty() || asked == nullptr || std::find(types.begin(), types.end(), to_text(*asked)) != types.end();
    types = wanted ? std::vector<std::optional<std::string>>{std::nullopt} : std::vector<std::optional<std::string>>{};
  } else if (types.empty()) {
    types.emplace_back(std::nullopt);
  }
  std::vector<Problem> problems;
  for (const auto& type : types) {
    try {
      Problem problem;
      if (!shape.text.empty()) {
        problem = spec.parse_shape(type ? fmt::format("{},{}={}", shape.text, kTypeName, *type) : shape.text);
      } else {
        Problem given = shape.values;
        if (type && given.find(kTypeName) != nullptr) throw InputError(fmt::format("{} is given here and in \"types\", expected once", kTypeName));
        if (type) given.set(kTypeName, *type);
        if (!knows_dimensions(spec, shape)) break;
        problem = complete(spec, given);
        spec.check_problem(problem);
      }
      if (spec.category_excluded(problem)) {
        if (entry.all_types) continue;
        throw InputError(fmt::format("problem of {}: {}: the kernel's constraints exclude this combination of categories", spec.name, problem.display()));
      }
      problems.push_back(std::move(problem));
    } catch (const InputError& error) {
      if (shape.miss) pass_over(shape, one_line(error.what()));
      else fault(shape.path, fmt::format("{}{}: {}", shape.place, shape_text(shape), one_line(error.what())));
    }
  }
  return problems;
}

void PlanExpander::check_where(const PlanEntry& entry, const KernelSpec& spec, const Problem& problem) {
  if (entry.settings.session.where.empty()) return;
  try {
    space_definition(spec, problem, KernelSpec::generic_device(), entry.settings.session.where);
  } catch (const InputError& error) {
    fault(entry.path, fmt::format("kernel {}: {}", spec.name, one_line(error.what())));
  }
}

void PlanExpander::add_recorded(const PlanEntry& entry, const KernelCatalog::Recorded& recorded) {
  try {
    compile_where(entry.settings.session.where, recorded.names);
  } catch (const InputError& error) {
    fault(entry.path, fmt::format("kernel {} in {}: {}", recorded.kernel, recorded.path, one_line(error.what())));
  }
  add_item(entry, recorded.kernel, recorded.problem, "replay:" + recorded.path);
}

void PlanExpander::add_template(const PlanEntry& entry, const std::string& kernel, const std::vector<std::string>& devices) {
  const KernelTemplate* found = nullptr;
  try {
    found = &catalog_.find_template(kernel);
  } catch (const InputError& error) {
    return fault(entry.path + "/kernels", error.what());
  }
  const KernelSpec& spec = found->spec;
  check_where(entry, spec, spec.default_problem());
  if (entry.cover) return add_regions(entry, spec, devices);
  std::vector<WantedShape> shapes = entry.shapes;
  if (entry.default_shape) {
    WantedShape shape;
    shape.path = entry.path;
    const Problem problem = spec.default_problem();
    for (const auto& [name, value] : problem.items()) {
      if (!spec.find_dimension(name)->categorical) shape.values.set(name, value);
    }
    shapes = {shape};
  }
  for (const WantedShape& shape : shapes) {
    if (shape.miss && (shape.kernel != kernel || shape.objective != objective_name(entry.settings.session.objective))) continue;
    for (const Problem& problem : problems_of(entry, spec, shape)) {
      for (const std::string& device : devices) {
        if (!shape.miss || takes_miss(shape, device)) add_item(entry, kernel, problem, device);
      }
    }
  }
}

void PlanExpander::add_regions(const PlanEntry& entry, const KernelSpec& spec,
                               const std::vector<std::string>& devices) {
  // What the region is like for one type it is like for all, but for the categories.
  WantedShape least;
  least.path = entry.cover->path;
  for (const auto& [name, sizes] : entry.cover->sizes)
    least.values.set(name, sizes.values.empty() ? sizes.from : sizes.values.front());
  for (const auto& [name, value] : entry.cover->categories.items()) least.values.set(name, value);
  for (const Problem& problem : problems_of(entry, spec, least)) {
    for (const std::string& device : devices) {
      std::vector<std::string> faults;
      plan_.regions.push_back(make_region(*entry.cover, spec, problem, faults));
      CoverRegion& region = plan_.regions.back();
      region.path = entry.path;
      region.item.device = device;
      region.item.settings = entry.settings.session;
      region.item.templates = plan_.templates;
      for (const std::string& text : faults) fault(entry.cover->path, text);
    }
  }
}

void PlanExpander::add_replay(const PlanEntry& entry, const std::string& kernel, const std::string& device) {
  if (entry.cover)
    return fault(entry.path,
                 "\"cover\" cannot be had on a recording, which has its own problems; give cuda, "
                 "cuda:N or cpu");
  const std::string path = device.substr(device.find(':') + 1);
  std::vector<KernelCatalog::Recorded> recorded;
  try {
    for (const KernelCatalog::Recorded& one : catalog_.recordings(path)) {
      if (one.kernel == kernel) recorded.push_back(one);
    }
    if (recorded.empty()) {
      std::vector<std::string> known;
      for (const KernelCatalog::Recorded& one : catalog_.recordings(path)) {
        if (std::find(known.begin(), known.end(), one.kernel) == known.end()) known.push_back(one.kernel);
      }
      return fault(entry.path + "/kernels", fmt::format("{}: no recording of kernel {}, only of {}{}", path, in_quotes(kernel), fmt::join(known, ", "), did_you_mean(kernel, known)));
    }
  } catch (const InputError& error) {
    return fault(entry.path, one_line(error.what()));
  }
  if (entry.default_shape) {
    for (const KernelCatalog::Recorded& one : recorded) add_recorded(entry, one);
    return;
  }
  std::vector<std::optional<std::string>> types(entry.types.begin(), entry.types.end());
  if (types.empty()) types.emplace_back(std::nullopt);
  for (const WantedShape& shape : entry.shapes) {
    if (shape.miss && (shape.kernel != kernel || shape.objective != objective_name(entry.settings.session.objective))) continue;
    for (const auto& type : types) {
      bool any = false;
      for (const KernelCatalog::Recorded& one : recorded) {
        if (!is_recorded_problem(shape, type, one.problem)) continue;
        any = true;
        add_recorded(entry, one);
      }
      if (any) continue;
      std::vector<std::string> known;
      for (const KernelCatalog::Recorded& one : recorded) if (known.size() < kShownProblems) known.push_back(one.problem.display());
      const std::string reason = fmt::format("{}{}: problem of {} not recorded; {} holds {}{}", shape_text(shape), type ? fmt::format(" in {}", *type) : "", kernel,
                                             path, fmt::join(known, " and "), recorded.size() > known.size() ? " and others" : "");
      if (shape.miss) pass_over(shape, reason);
      else fault(shape.path, shape.place + reason);
    }
  }
}

void PlanExpander::add_item(const PlanEntry& entry, const std::string& kernel, const Problem& problem, const std::string& device) {
  if (too_many_) return;
  SweepItem item;
  item.kernel = kernel;
  item.problem = problem;
  item.device = device;
  item.settings = entry.settings.session;
  item.templates = plan_.templates;
  if (!seen_.insert(item.id()).second) {
    ++plan_.duplicates;
    return;
  }
  if (plan_.items.size() == kMaxItems) {
    too_many_ = true;
    return fault(entry.path, fmt::format("found more than {} sessions in the plan, expected that many at most", kMaxItems));
  }
  plan_.items.push_back(std::move(item));
}

}  // namespace tunebook
