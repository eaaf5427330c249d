// Accesses outside of buffers and unaligned ones, found by running a template on small ragged problems on the cpu device.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <set>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "core/error.h"
#include "core/launch_plan.h"
#include "core/random.h"
#include "search/space.h"
#include "session/device_executor.h"
#include "session/lint.h"
#include "session/subject.h"

namespace tunebook {
namespace {

// Sizes that end where no tile, warp or vector ends; multiples of 4, 8 and 16 that are no multiple of twice that, for kernels that need
// them (and as much past the end as possible is then not hidden by what rounds a buffer up); and one. Turned by one place from one
// dimension to the next. Smaller ones where a problem would take too long.
constexpr std::int64_t kOdd[] = {257, 131, 67, 33, 17, 9, 5, 3, 1};
constexpr std::int64_t kFours[] = {260, 132, 68, 36, 20, 12, 4};
constexpr std::int64_t kEights[] = {264, 136, 72, 40, 24, 8};
constexpr std::int64_t kSixteens[] = {272, 144, 80, 48, 16};

// What one problem may cost on the cpu device, under a sanitizer, a thread a fibre.
constexpr double kMaxFlops = 2e6;
constexpr double kMaxElements = 4e5;  // of all buffers
constexpr int kMaxSpecProblems = 8;   // of those that the spec names
constexpr std::uint64_t kSamplesSeed = 3;

// The compile and run workers that are started while this lives use g++, if there is one and the user chose no other: it checks the alignment of
// every access, clang++ none of those that move a whole vector.
class PreferGcc {
 public:
  PreferGcc() {
    if (const char* chosen = std::getenv(kVariable); chosen != nullptr && *chosen != '\0') return;
    found_ = has_gcc();
    if (found_) ::setenv(kVariable, "g++", 1);
  }
  ~PreferGcc() {
    if (found_) ::unsetenv(kVariable);
  }
  PreferGcc(const PreferGcc&) = delete;
  PreferGcc& operator=(const PreferGcc&) = delete;

 private:
  static constexpr const char* kVariable = "TUNEBOOK_HOST_COMPILER";
  static bool has_gcc() {
    const char* path = std::getenv("PATH");
    std::string folders = path == nullptr ? "" : path;
    for (std::size_t start = 0; start <= folders.size();) {
      const std::size_t end = std::min(folders.find(':', start), folders.size());
      if (end > start && ::access((folders.substr(start, end - start) + "/g++").c_str(), X_OK) == 0) return true;
      start = end + 1;
    }
    return false;
  }
  bool found_ = false;
};

struct Pattern {
  std::span<const std::int64_t> own, others;  // of dimension `odd_one`, and of all others
  std::size_t odd_one = 0;
};

std::vector<Pattern> patterns(std::size_t sizes) {
  std::vector<Pattern> all = {{kOdd, kOdd, 0}, {kSixteens, kSixteens, 0}, {kEights, kEights, 0}, {kFours, kFours, 0}};
  for (std::size_t i = 0; i < sizes && sizes > 1; ++i) {
    all.push_back({kOdd, kSixteens, i});
    all.push_back({kSixteens, kOdd, i});
  }
  return all;
}

// A dimension of size that is a template argument or a macro; "" if there is none.
std::string size_in_code(const KernelSpec& spec) {
  std::vector<std::string> names = spec.define;
  for (const Launch& launch : spec.launches) names.insert(names.end(), launch.instantiate.begin(), launch.instantiate.end());
  for (const std::string& name : names) {
    const Dimension* dimension = spec.find_dimension(name);
    if (dimension != nullptr && !dimension->categorical) return name;
  }
  return "";
}

// Whether the problem can be set up at all and is small enough. A kernel need not have a meaning for all sizes: a filter larger than its
// image gives a negative count.
bool is_affordable(const KernelSpec& spec, const Problem& problem, const Device& device) {
  const KernelSpec::Scope scope = spec.scope(problem, device);
  double elements = 0;
  try {
    for (const Argument& argument : spec.arguments) {
      if (!argument.pointer) continue;
      KernelSpec::Scope bound = scope;
      spec.bind(bound, spec.default_preset(problem, device));
      const std::int64_t count = argument.count.evaluate_integer(bound);
      if (count < 1) return false;
      elements += static_cast<double>(count);
    }
    const LaunchShape reference = evaluate_launch(spec.reference.launch, scope, spec.name);
    if (!launch_limit_violated(reference, 0, device.limits).empty()) return false;
    const double flops = evaluate_work(spec, problem, device).flops.value_or(0);
    return elements <= kMaxElements && flops <= kMaxFlops;
  } catch (const ExpressionError&) {
    return false;
  } catch (const InputError&) {
    return false;
  }
}

bool is_valid(const KernelSpec& spec, const Configuration& configuration, const Problem& problem, const Device& device) {
  KernelSpec::Scope scope = spec.scope(problem, device);
  spec.bind(scope, configuration);
  if (spec.violated_constraint(scope) != nullptr) return false;
  return spec.cpu.empty() || device.kind != "cpu" || spec.cpu.evaluate_bool(scope);
}

// Small problems on which the configuration is valid, for one that needs some of its sizes to be about as large as by default (rows that
// fill its registers, a filter of the size that it is written for): those, or a little less, the others small.
std::vector<Problem> problems_for(const KernelSpec& spec, const Configuration& configuration, const Problem& defaults, const std::vector<std::string>& sizes,
                                  const Device& device) {
  constexpr std::size_t kMost = 2, kMaxSizes = 6;
  std::vector<Problem> found;
  for (std::size_t kept = 1; kept < std::size_t{1} << std::min(sizes.size(), kMaxSizes); ++kept) {
    for (const std::int64_t less : {1, 8, 0}) {
      for (const std::span<const std::int64_t> list : {std::span<const std::int64_t>(kOdd), std::span<const std::int64_t>(kSixteens)}) {
        for (std::size_t smaller = 0; smaller < list.size(); ++smaller) {
          Problem problem = defaults;
          for (std::size_t i = 0; i < sizes.size(); ++i) {
            const std::int64_t own = std::get<std::int64_t>(defaults.at(sizes[i]));
            const bool keeps = i < kMaxSizes && (kept >> i & 1) != 0;
            problem.set(sizes[i], keeps ? std::max<std::int64_t>(own - less, 1) : list[std::min(smaller + i % 3, list.size() - 1)]);
          }
          if (!is_valid(spec, configuration, problem, device) || !is_affordable(spec, problem, device)) continue;
          if (std::find(found.begin(), found.end(), problem) == found.end()) found.push_back(problem);
          if (found.size() == kMost) return found;
          break;
        }
      }
    }
  }
  return found;
}

std::vector<Problem> ragged_problems(const KernelSpec& spec, const Problem& defaults, const Device& device) {
  std::vector<std::string> sizes;
  for (const Dimension& dimension : spec.dimensions) {
    if (!dimension.categorical) sizes.push_back(dimension.name);
  }
  std::vector<Problem> problems;
  const auto add = [&](const Problem& problem) {
    if (std::find(problems.begin(), problems.end(), problem) == problems.end()) problems.push_back(problem);
  };
  for (const Pattern& pattern : patterns(sizes.size())) {
    const std::size_t longest = std::max(pattern.own.size(), pattern.others.size());
    for (std::size_t smaller = 0; smaller < longest; ++smaller) {
      Problem problem = defaults;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto& list = i == pattern.odd_one ? pattern.own : pattern.others;
        problem.set(sizes[i], list[std::min(smaller + i % 3, list.size() - 1)]);
      }
      if (!is_affordable(spec, problem, device)) continue;
      add(problem);
      break;
    }
  }
  // Its author knows what is special about it.
  int taken = 0;
  for (const Problem& problem : spec.verify_problems(defaults)) {
    if (taken < kMaxSpecProblems && is_affordable(spec, problem, device)) add(problem), ++taken;
  }
  for (const auto& [name, preset] : spec.presets) {
    if (std::any_of(problems.begin(), problems.end(), [&, &chosen = preset](const Problem& problem) { return is_valid(spec, chosen, problem, device); })) {
      continue;
    }
    for (const Problem& problem : problems_for(spec, preset, defaults, sizes, device)) add(problem);
  }
  return problems;
}

struct Sample {
  std::string what;  // "preset default", "BLOCK=64,..."
  Configuration configuration;
};

// What is run of the combinations of categories: of the first everything, of another data type the presets, of another combination of a data
// type that was there already the default.
enum class Breadth { all, presets, default_alone };

// What is run on a problem: presets, and seeded picks.
std::vector<Sample> choose(const KernelSpec& spec, const Problem& problem, const Device& device, Breadth breadth, int samples) {
  std::vector<Sample> chosen;
  std::set<std::string> seen;
  const auto add = [&](const std::string& what, const Configuration& configuration) {
    if (seen.insert(configuration.canonical()).second) chosen.push_back({what, configuration});
  };
  for (const auto& [name, preset] : spec.presets) {
    if (breadth == Breadth::default_alone && name != "default") continue;
    const Configuration& meant = name == "default" ? spec.default_preset(problem, device) : preset;
    if (is_valid(spec, meant, problem, device)) add("preset " + name, meant);
  }
  if (breadth != Breadth::all || samples == 0) return chosen;
  const SearchSpace space = SearchSpace::build(template_space(spec, problem, device, {}));
  Random random(kSamplesSeed);
  for (int i = 0; i < samples && space.size() > 0; ++i) {
    const Configuration configuration = space.configuration(random.below(space.size()));
    add(configuration.display(), configuration);
  }
  return chosen;
}

LintFinding finding_of(const KernelTemplate& kernel, const Sample& sample, Outcome outcome, const std::string& report) {
  LintFinding finding;
  finding.place = (kernel.folder / kernel.spec.source).string();
  finding.message = fmt::format("{}: {}", sample.what, report.substr(0, report.find('\n')));
  if (report.find("unaligned access") != std::string::npos || report.find("misaligned vector") != std::string::npos) {
    finding.rule = "alignment";
    finding.remedy = "use the wide access only where the address is a multiple of its size: constrain the size (\"n % VEC == 0\"), or take a scalar "
                     "path for such rows";
  } else if (outcome == Outcome::fault || report.find("outside buffer") != std::string::npos) {
    finding.rule = "bounds";
    finding.remedy = "check the index against the size before each access, for reads too";
  } else {
    finding.rule = "ragged";
    finding.remedy = "correct it for sizes that end within a tile, or exclude them by a constraint";
  }
  return finding;
}

// Ended by what the kernel does; the rest (a compile error, no memory) is not this rule's business.
bool is_misbehaviour(Outcome outcome) {
  return outcome == Outcome::fault || outcome == Outcome::wrong_result || outcome == Outcome::divergent_barrier || outcome == Outcome::nondeterministic ||
         outcome == Outcome::run_timeout || outcome == Outcome::worker_lost;
}

// One group of samples on the problems of one data type, each finding once for each rule and sample.
class AccessLint {
 public:
  AccessLint(const KernelTemplate& kernel, const std::function<void(const std::string&)>& progress)
      : kernel_(kernel), progress_(progress), instrumented_(kernel) {
    DeviceExecutorOptions options;
    options.device = DeviceChoice::parse("cpu");
    device_ = DeviceExecutor(kernel, options).identity().device;
    if (device_.host_compiler.starts_with("clang")) {
      answer_.notes.push_back(fmt::format("{}: with {} unaligned vectors are seen from 16 bytes on; install g++, which sees all", kernel.spec.name,
                                          device_.host_compiler));
    }
    instrumented_.spec.options.push_back("-fsanitize=alignment");
    for (Dimension& dimension : instrumented_.spec.dimensions) dimension.verify.clear();
  }

  void run(const Problem& defaults, Breadth breadth, int samples) {
    if (const std::string size = size_in_code(kernel_.spec); !size.empty()) {
      const std::string text = fmt::format("{}: the code is compiled for one {}, so its accesses were not looked at on others", kernel_.spec.name, size);
      if (std::find(answer_.notes.begin(), answer_.notes.end(), text) == answer_.notes.end()) answer_.notes.push_back(text);
      return;
    }
    const std::vector<Problem> problems = ragged_problems(kernel_.spec, defaults, device_);
    try {
      run_on(problems, breadth, samples);
    } catch (const EnvironmentError& error) {
      // Sizes that the kernel is not made for.
      std::vector<Problem> own;
      for (const Problem& problem : kernel_.spec.verify_problems(defaults)) {
        if (is_affordable(kernel_.spec, problem, device_)) own.push_back(problem);
      }
      if (own.empty()) throw;
      answer_.notes.push_back(fmt::format("{}: run on its own verify problems alone: {}", kernel_.spec.name, error.what()));
      run_on(own, breadth, samples);
    }
  }

  LintAccesses answer() && {
    for (const auto& [name, preset] : kernel_.spec.presets) {
      if (run_.contains(preset.canonical()) || !may_run(preset)) continue;
      answer_.notes.push_back(fmt::format("{}: preset {} is valid on none of the small ragged problems, so its accesses were not looked at",
                                          kernel_.spec.name, name));
    }
    return std::move(answer_);
  }

 private:
  void run_on(const std::vector<Problem>& problems, Breadth breadth, int samples) {
    // A problem is tuned for in name only: the one whose space the samples come from. All others are verified on where they are valid.
    std::set<std::string> done;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const Problem& tuned = problems[i];
      // Of the odd sizes and of the first that wide accesses are possible on.
      std::vector<Sample> chosen = choose(kernel_.spec, tuned, device_, breadth, i < 2 ? samples : 0);
      std::erase_if(chosen, [&](const Sample& sample) { return !done.insert(sample.configuration.canonical()).second; });
      if (chosen.empty()) continue;
      instrumented_.spec.whole_verify = problems;
      run_group(tuned, chosen);
    }
  }

  // On the cpu device, on some declared problem.
  bool may_run(const Configuration& preset) const {
    const auto valid = [&](const Problem& problem) { return is_valid(kernel_.spec, preset, problem, device_); };
    for (const Problem& tuned : kernel_.spec.category_problems()) {
      const std::vector<Problem> problems = kernel_.spec.verify_problems(tuned);
      if (valid(tuned) || std::any_of(problems.begin(), problems.end(), valid)) return true;
    }
    return false;
  }

  void run_group(const Problem& tuned, const std::vector<Sample>& chosen) {
    if (progress_) progress_(fmt::format("{} on {} and {} more ragged problems", chosen.size(), tuned.display(), instrumented_.spec.whole_verify.size() - 1));
    std::vector<Configuration> configurations;
    for (const Sample& sample : chosen) {
      configurations.push_back(sample.configuration);
      run_.insert(sample.configuration.canonical());
    }
    answer_.configurations += static_cast<std::int64_t>(chosen.size());
    DeviceExecutorOptions options;
    options.device = DeviceChoice::parse("cpu");
    std::vector<std::size_t> left;
    {
      DeviceExecutor executor(instrumented_, options);
      executor.set_problem(tuned);
      const std::vector<SanitizerVerdict> verdicts = executor.sanitize(configurations, {});
      for (std::size_t i = 0; i < verdicts.size(); ++i) {
        if (!verdicts[i].finding.empty()) add(chosen[i], verdicts[i].outcome, verdicts[i].finding);
        else if (!verdicts[i].clean) left.push_back(i);
      }
      if (!left.empty()) note(verdicts[left.front()].note);
    }
    if (left.empty()) return;
    // Guard pages alone.
    DeviceExecutor executor(instrumented_, options);
    executor.set_problem(tuned);
    for (const std::size_t i : left) {
      const Examination examination = executor.examine(configurations[i]);
      const Outcome outcome = examination.trial.outcome;
      if (is_misbehaviour(outcome)) add(chosen[i], outcome, examination.trial.message);
    }
  }

  void add(const Sample& sample, Outcome outcome, const std::string& report) {
    LintFinding finding = finding_of(kernel_, sample, outcome, report);
    // The same line of the source at other configurations says nothing new.
    if (told_.insert(finding.rule + " " + report.substr(0, report.find(" in thread"))).second) answer_.findings.push_back(std::move(finding));
  }
  void note(const std::string& text) {
    const std::string whole = fmt::format("{}: without AddressSanitizer (guard pages alone): {}", kernel_.spec.name, text);
    if (std::find(answer_.notes.begin(), answer_.notes.end(), whole) == answer_.notes.end()) answer_.notes.push_back(whole);
  }

  const KernelTemplate& kernel_;
  const std::function<void(const std::string&)>& progress_;
  KernelTemplate instrumented_;
  Device device_;
  LintAccesses answer_;
  std::set<std::string> told_;
  std::set<std::string> run_;  // configurations
};

}  // namespace

LintAccesses lint_accesses(const KernelTemplate& kernel, int samples, const std::function<void(const std::string&)>& progress) {
  const PreferGcc prefer;
  AccessLint lint(kernel, progress);
  std::set<DType> dtypes;
  for (const Problem& defaults : kernel.spec.category_problems()) {
    const bool first = dtypes.empty(), new_type = dtypes.insert(kernel.spec.problem_dtype(defaults)).second;
    lint.run(defaults, first ? Breadth::all : new_type ? Breadth::presets : Breadth::default_alone, samples);
  }
  return std::move(lint).answer();
}

}  // namespace tunebook
