// What the source and the declaration say of each other: parameters without use, launches above __launch_bounds__.
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/launch_plan.h"
#include "search/space.h"
#include "session/kernel_source.h"
#include "session/lint.h"
#include "session/sample_compiler.h"
#include "session/subject.h"

namespace tunebook {
namespace {

// Configurations of a space, evenly spaced, whose launches are compared with the launch bounds.
constexpr std::uint64_t kMaxConfigurations = 4096;
constexpr std::uint64_t kMaxSpace = 500'000;  // configurations of one that is listed
constexpr int kMaxConstantDepth = 8;  // constants defined by constants

// One kernel that a configuration launches.
struct Entry {
  std::string name;
  std::vector<std::string> instantiate;
  const Launch* launch = nullptr;
};
std::vector<Entry> entries_of(const KernelSpec& spec) {
  std::vector<Entry> entries;
  for (const Launch& launch : spec.launches) entries.push_back({launch.entry, launch.instantiate, &launch});
  return entries;
}

std::string kernel_file(const KernelTemplate& kernel, const std::string& file) { return (kernel.folder / file).string(); }

bool reads(const Expression& expression, int slot) {
  return !expression.empty() && std::binary_search(expression.slots().begin(), expression.slots().end(), slot);
}

bool launch_reads(const Launch& launch, int slot) {
  const auto any = [&](const std::array<Expression, 3>& axes) {
    return std::any_of(axes.begin(), axes.end(), [&](const Expression& axis) { return reads(axis, slot); });
  };
  return any(launch.grid) || any(launch.block) || reads(launch.shared_bytes, slot) || reads(launch.repeat, slot);
}

// What decides how a configuration is compiled and launched, apart from the source.
bool declaration_uses(const KernelSpec& spec, const std::string& parameter) {
  const int slot = *spec.names.find(parameter);
  if (reads(spec.arch, slot)) return true;
  for (const Entry& entry : entries_of(spec)) {
    if (launch_reads(*entry.launch, slot)) return true;
  }
  return std::any_of(spec.arguments.begin(), spec.arguments.end(),
                     [&](const Argument& argument) { return reads(argument.count, slot) || reads(argument.value, slot); });
}

// Values of the names in `__launch_bounds__(...)` for one configuration, and the bound itself.
class BoundExpression {
 public:
  // `names`: what an identifier in the source stands for: a parameter, a dimension or "T".
  BoundExpression(const KernelSource& source, const std::string& text, const std::map<std::string, std::string, std::less<>>& names) {
    const std::optional<std::string> whole = expand(source, text, names, 0);
    if (!whole) return;
    Names known;
    for (const auto& [identifier, meaning] : names) {
      if (known.find(identifier)) continue;
      known.add(identifier);
      meanings_.push_back(meaning);
    }
    try {
      expression_ = Expression::compile(*whole, known);
    } catch (const ExpressionError&) {
      // More than this language knows.
    }
  }
  bool readable() const { return !expression_.empty(); }

  // Nothing if it cannot be computed.
  std::optional<std::int64_t> threads(const KernelSpec& spec, const KernelSpec::Scope& scope) const {
    std::vector<Scalar> values;
    for (const std::string& meaning : meanings_) values.push_back(scope.at(static_cast<std::size_t>(*spec.names.find(meaning))));
    try {
      return expression_.evaluate_integer(values);
    } catch (const ExpressionError&) {
      return std::nullopt;
    }
  }

 private:
  // With constants replaced by what they stand for, and C++'s division of integers. Nothing if a name is not known.
  static std::optional<std::string> expand(const KernelSource& source, const std::string& text, const std::map<std::string, std::string, std::less<>>& names,
                                           int depth) {
    if (depth > kMaxConstantDepth) return std::nullopt;
    std::string out;
    for (const CudaToken& token : split_cuda_tokens(text)) {
      if (token.kind != CudaToken::Kind::identifier) {
        out += token.is("/") ? "//" : std::string(token.text);
      } else if (names.contains(token.text) || token.is("sizeof") || token.is("true") || token.is("false")) {
        out += token.text;
      } else {
        const std::optional<std::string> constant = source.constant(token.text);
        const std::optional<std::string> value = constant ? expand(source, *constant, names, depth + 1) : std::nullopt;
        if (!value) return std::nullopt;
        out += "(" + *value + ")";
      }
    }
    return out;
  }

  Expression expression_;
  std::vector<std::string> meanings_;
};

// Identifiers of the source -> names of the spec.
std::map<std::string, std::string, std::less<>> meanings(const KernelSpec& spec, const Entry& entry, const EntrySource& source) {
  std::map<std::string, std::string, std::less<>> names;
  if (spec.macros) {
    for (const Parameter& parameter : spec.parameters) names.emplace(parameter.name, parameter.name);
    for (const std::string& name : spec.define) names.emplace(name, name);
    return names;
  }
  for (std::size_t i = 0; i < source.parameters.size() && i < entry.instantiate.size(); ++i) {
    if (!source.parameters[i].name.empty()) names.emplace(source.parameters[i].name, entry.instantiate[i]);
  }
  return names;
}

LintFinding over_bounds(const std::string& place, std::int64_t threads, std::int64_t bound, const Configuration& configuration,
                        const std::string& more) {
  return {"launch_bounds", place,
          fmt::format("{} is launched with {} threads per block, and __launch_bounds__ allow {}{}", configuration.display(), threads, bound, more),
          "raise the bound to the block's size, or exclude such configurations by a constraint"};
}

// Configurations to compare: evenly spaced ones of the space, presets alone where it is too large to list.
std::vector<Configuration> some_configurations(const KernelSpec& spec, const Problem& problem, const Device& device) {
  std::vector<Configuration> some;
  try {
    const SearchSpace space = SearchSpace::build(template_space(spec, problem, device, {}), kMaxSpace);
    const std::uint64_t step = std::max<std::uint64_t>(1, space.size() / kMaxConfigurations);
    for (std::uint64_t i = 0; i < space.size(); i += step) some.push_back(space.configuration(i));
  } catch (const InputError&) {
    for (const auto& [name, preset] : spec.presets) some.push_back(preset);
  }
  return some;
}

// The default sizes, once for each data type: other categories seldom change a block.
std::vector<Problem> problems_by_dtype(const KernelSpec& spec) {
  std::vector<Problem> problems;
  std::set<DType> seen;
  for (const Problem& problem : spec.category_problems()) {
    if (seen.insert(spec.problem_dtype(problem)).second) problems.push_back(problem);
  }
  return problems;
}

// The first configuration of the space that is launched with more threads than the bound allows.
std::optional<LintFinding> find_over_bounds(const KernelTemplate& kernel, const Entry& entry, const BoundExpression& bound, const std::string& place) {
  const KernelSpec& spec = kernel.spec;
  const Device device = stand_in_device("sm_90");
  for (const Problem& problem : problems_by_dtype(spec)) {
    std::int64_t over = 0, looked_at = 0;
    std::optional<LintFinding> first;
    for (const Configuration& configuration : some_configurations(spec, problem, device)) {
      KernelSpec::Scope scope = spec.scope(problem, device);
      spec.bind(scope, configuration);
      std::int64_t threads = 0;
      try {
        if (evaluate_repeat(*entry.launch, scope, spec.name) == 0) continue;
        threads = evaluate_launch(*entry.launch, scope, spec.name).threads();
      } catch (const InputError&) {
        continue;  // not launched at all
      }
      const std::optional<std::int64_t> allowed = bound.threads(spec, scope);
      ++looked_at;
      if (!allowed || threads <= *allowed) continue;
      if (++over == 1) first = over_bounds(place, threads, *allowed, configuration, "");
    }
    if (!first) continue;
    first->message += fmt::format(" ({} of {} configurations)", over, looked_at);
    return first;
  }
  return std::nullopt;
}

}  // namespace

std::vector<LintFinding> lint_parameters(const KernelTemplate& kernel) {
  const KernelSpec& spec = kernel.spec;
  const KernelSource source(kernel.kernel);
  std::vector<LintFinding> findings;
  const auto add = [&](std::string place, std::string message, std::string remedy) {
    findings.push_back({"unused_parameter", std::move(place), std::move(message), std::move(remedy)});
  };
  const std::string declaration = kernel_file(kernel, "kernel.json");
  for (std::size_t p = 0; p < spec.parameters.size(); ++p) {
    const std::string& name = spec.parameters[p].name;
    if (spec.parameters[p].values.size() < 2 || declaration_uses(spec, name)) continue;
    if (spec.macros) {
      if (source.mentions(name)) continue;
      add(fmt::format("{}: /parameters/{}", declaration, name), fmt::format("nothing uses it: neither {} nor a launch mentions {}", spec.source, name),
          "use it, or remove it; every value of it is the same kernel");
      continue;
    }
    bool instantiated = false, used = false;
    std::string place = fmt::format("{}: /parameters/{}", declaration, name);
    std::string message = fmt::format("nothing uses it: it is neither in \"instantiate\" nor in a launch");
    for (const Entry& entry : entries_of(spec)) {
      const auto position = std::find(entry.instantiate.begin(), entry.instantiate.end(), name);
      if (position == entry.instantiate.end()) continue;
      instantiated = true;
      const auto index = static_cast<std::size_t>(position - entry.instantiate.begin());
      const std::optional<EntrySource> found = source.find_entry(entry.name);
      // What cannot be followed is taken to be used.
      if (!found || index >= found->parameters.size() || found->parameters[index].used) {
        used = true;
        break;
      }
      place = fmt::format("{}:{}", kernel_file(kernel, found->file), found->template_line);
      const std::string& own = found->parameters[index].name;
      message = own.empty() ? fmt::format("the parameter {} has no name in template argument {} of {}, so nothing uses it", name, index + 1, entry.name)
                            : fmt::format("{} does not use its template argument {}, the parameter {}", entry.name, own, name);
    }
    if (used) continue;
    add(std::move(place), std::move(message),
        instantiated ? "use it, or remove the parameter; every value of it is the same kernel" : "list it in \"instantiate\", or remove it");
  }
  return findings;
}

LintAnswer lint_launch_bounds(const KernelTemplate& kernel) {
  const KernelSpec& spec = kernel.spec;
  const KernelSource source(kernel.kernel);
  LintAnswer answer;
  for (const Entry& entry : entries_of(spec)) {
    const std::optional<EntrySource> found = source.find_entry(entry.name);
    if (!found) {
      answer.unread_bounds.push_back(entry.name);
      continue;
    }
    if (found->launch_bounds.empty()) continue;
    const BoundExpression bound(source, found->launch_bounds, meanings(spec, entry, *found));
    if (!bound.readable()) {
      answer.unread_bounds.push_back(entry.name);
      continue;
    }
    const std::string place = fmt::format("{}:{}", kernel_file(kernel, found->file), found->launch_bounds_line);
    if (auto finding = find_over_bounds(kernel, entry, bound, place)) answer.findings.push_back(std::move(*finding));
  }
  return answer;
}

std::int64_t ptx_thread_bound(std::string_view ptx, std::string_view symbol) {
  // .entry SYMBOL( ... ) .maxntid X, Y, Z .minnctapersm N {
  for (std::size_t at = ptx.find(".entry"); at != std::string_view::npos; at = ptx.find(".entry", at + 1)) {
    const std::size_t name = ptx.find_first_not_of(" \t\n", at + 6);
    if (name == std::string_view::npos || ptx.substr(name, symbol.size()) != symbol) continue;
    const std::size_t behind = name + symbol.size();
    if (behind >= ptx.size() || std::string_view("( \t\n{").find(ptx[behind]) == std::string_view::npos) continue;
    const std::string_view head = ptx.substr(behind, ptx.find('{', behind) - behind);
    std::size_t position = head.find(".maxntid");
    if (position == std::string_view::npos) return 0;
    position += 8;
    std::int64_t threads = 1, number = 0;
    bool digits = false;
    for (; position <= head.size(); ++position) {
      const char c = position < head.size() ? head[position] : '\n';
      if (c >= '0' && c <= '9') {
        number = std::min<std::int64_t>(number * 10 + (c - '0'), 1 << 20);
        digits = true;
        continue;
      }
      if (digits) threads *= number;
      number = 0;
      digits = false;
      if (c != ',' && c != ' ' && c != '\t') break;
    }
    return threads;
  }
  return 0;
}

std::vector<LintFinding> lint_compiled_bounds(const KernelTemplate& kernel, const std::string& arch) {
  const KernelSpec& spec = kernel.spec;
  const Device device = stand_in_device(arch);
  struct Expected {
    std::string preset;
    Configuration configuration;
    std::vector<PlannedLaunch> launches;
  };
  std::vector<SampleJob> jobs;
  std::vector<Expected> expected;
  std::set<std::string> seen;
  for (const Problem& problem : spec.category_problems()) {
    for (const auto& [preset, configuration] : spec.presets) {
      KernelSpec::Scope scope = spec.scope(problem, device);
      spec.bind(scope, configuration);
      if (spec.violated_constraint(scope) != nullptr) continue;
      if (!seen.insert(configuration.canonical()).second) continue;
      jobs.push_back({&kernel, problem, configuration, arch, false, true});
      expected.push_back({preset, configuration, plan_launches(spec, problem, configuration, scope).launches});
    }
  }
  const std::vector<CompileReply> replies = compile_samples(jobs);
  std::vector<LintFinding> findings;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    for (const auto& [file, text] : replies[i].emitted) {
      if (!file.ends_with(".ptx")) continue;
      std::set<std::string> told;
      for (const PlannedLaunch& launch : expected[i].launches) {
        const std::string& symbol = launch.kernel == 0 ? replies[i].symbol : replies[i].other_symbols.at(launch.kernel - 1);
        const std::int64_t bound = ptx_thread_bound(text, symbol), threads = launch.shape.threads();
        if (bound == 0 || threads <= bound || !told.insert(symbol).second) continue;
        findings.push_back(over_bounds(fmt::format("{}: /presets/{}", kernel_file(kernel, "kernel.json"), expected[i].preset), threads, bound,
                                       expected[i].configuration, fmt::format(" (.maxntid of {}, compiled for {})", symbol, arch)));
      }
    }
  }
  return findings;
}

}  // namespace tunebook
