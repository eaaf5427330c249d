#include <algorithm>
#include <iterator>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/cli.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/launch_plan.h"
#include "core/random.h"
#include "core/spec_shapes.h"
#include "core/template_folder.h"
#include "reports/html_text.h"
#include "search/space.h"
#include "session/device_executor.h"
#include "session/lint.h"
#include "session/sample_compiler.h"
#include "session/sanitizer.h"
#include "session/subject.h"

namespace tunebook::cli {
namespace {

using reports::page::plural;

struct Options {
  std::vector<std::string> kernels, templates, archs;
  std::string device;
  int samples = 6;
  int shapes = 0;
  bool sanitize = false;
  std::vector<std::string> sanitizers;  // compute-sanitizer's tools; none given: all
  std::vector<std::string> only;        // "dtype=f16": problems of these categories; none given: all
  bool json = false;
};

struct Row {
  std::string kernel, arch, dtype, what;
  Outcome outcome = Outcome::ok;
  Resources resources;
  std::string message;
  bool passed() const { return outcome == Outcome::ok || outcome == Outcome::no_resources; }
};

// All presets and `count` seeded picks from the space, or the preset `default` and a third as many picks.
std::vector<std::pair<std::string, Configuration>> choose_samples(const KernelSpec& spec, const Problem& problem,
                                                                  const Device& device, int count, bool all_presets) {
  std::vector<std::pair<std::string, Configuration>> samples;
  std::set<std::string> seen;
  const auto add = [&](const std::string& what, const Configuration& configuration) {
    if (seen.insert(configuration.canonical()).second) samples.emplace_back(what, configuration);
  };
  for (const auto& [name, configuration] : spec.presets) {
    if (!all_presets && name != "default") continue;
    const Configuration& meant =
        name == "default" ? spec.default_preset(problem, device) : configuration;
    KernelSpec::Scope scope = spec.scope(problem, device);
    spec.bind(scope, meant);
    if (spec.violated_constraint(scope) == nullptr) add("preset " + name, meant);
  }
  const SearchSpace space = SearchSpace::build(template_space(spec, problem, device, {}));
  Random random(1);
  const int picks = all_presets ? count : (count + 2) / 3;
  for (int i = 0; i < picks && space.size() > 0; ++i) {
    const Configuration configuration = space.configuration(random.below(space.size()));
    add(configuration.display(), configuration);
  }
  return samples;
}

// The values of the categorical dimensions: "f16 tensor".
std::string category_text(const KernelSpec& spec, const Problem& problem) {
  std::string text;
  for (const Dimension& dimension : spec.dimensions) {
    if (dimension.categorical) text += (text.empty() ? "" : " ") + to_text(problem.at(dimension.name));
  }
  return text;
}

// A problem to take samples for.
struct SampleProblem {
  Problem problem;
  bool all_presets = true;  // else the preset `default` alone, and fewer picks
};

// Whether the problem is in the category that `wanted` ("dtype=f16") names. Throws InputError if the kernel has no such category.
bool in_category(const KernelSpec& spec, const Problem& problem, const std::string& wanted) {
  const std::size_t sign = wanted.find('=');
  const std::string name = wanted.substr(0, sign), value = sign == std::string::npos ? "" : wanted.substr(sign + 1);
  std::vector<std::string> names;
  for (const Dimension& dimension : spec.dimensions) {
    if (!dimension.categorical) continue;
    names.push_back(dimension.name);
    if (dimension.name != name) continue;
    if (std::find(dimension.values.begin(), dimension.values.end(), value) == dimension.values.end()) {
      throw InputError(fmt::format("--only {}: {}'s {} is one of {}", wanted, spec.name, name, fmt::join(dimension.values, ", ")));
    }
    return problem.at(name) == Value(value);
  }
  throw InputError(fmt::format("--only {}: found no category \"{}\" in {}{}", wanted, name, spec.name,
                               names.empty() ? "; it has none" : fmt::format("; give NAME=VALUE, NAME one of {}", fmt::join(names, ", "))));
}

// The default problem of each data type, and those that differ from it in one other category: all combinations would be too many. Of these,
// those that are in each of the categories `only`.
std::vector<SampleProblem> sample_problems(const KernelSpec& spec, const std::vector<std::string>& only) {
  std::vector<SampleProblem> chosen;
  for (const Problem& problem : spec.category_problems()) {
    const auto differing = std::count_if(spec.dimensions.begin(), spec.dimensions.end(), [&](const Dimension& dimension) {
      return dimension.categorical && dimension.name != "dtype" && problem.at(dimension.name) != spec.default_of(dimension, problem);
    });
    const bool wanted = std::ranges::count_if(only, [&](const std::string& one) { return in_category(spec, problem, one); }) == std::ssize(only);
    if (differing <= 1 && wanted) chosen.push_back({problem, differing == 0});
  }
  if (chosen.empty() && !only.empty()) {
    throw InputError(fmt::format("--only {}: no sample of {} is in all of these categories at once; samples differ from a data type's default problem in one of them",
                                 fmt::join(only, " --only "), spec.name));
  }
  return chosen;
}

std::vector<Row> compile_rows(const KernelTemplate& kernel, const Options& chosen) {
  std::vector<SampleJob> jobs;
  std::vector<Row> rows;
  std::vector<std::size_t> compiled;  // the row of each job
  for (const std::string& arch : chosen.archs) {
    for (const auto& [problem, all_presets] : sample_problems(kernel.spec, chosen.only)) {
      jobs.push_back({&kernel, problem, {}, arch, true, false});
      compiled.push_back(rows.size());
      rows.push_back({kernel.spec.name, arch, category_text(kernel.spec, problem), "reference"});
      for (auto& [what, configuration] : choose_samples(kernel.spec, problem, stand_in_device(arch), chosen.samples, all_presets)) {
        rows.push_back({kernel.spec.name, arch, category_text(kernel.spec, problem), what});
        try {
          static_cast<void>(instantiate(kernel.spec, problem, configuration));
          jobs.push_back({&kernel, problem, configuration, arch, false, false});
          compiled.push_back(rows.size() - 1);
        } catch (const InputError& error) {
          rows.back().outcome = Outcome::invalid;
          rows.back().message = error.what();
        }
      }
    }
  }
  ProgressLine line;
  const auto replies = compile_samples(jobs, [&](std::size_t done) {
    line.show(fmt::format("{}: {}/{} compiled", kernel.spec.name, done, jobs.size()));
  });
  for (std::size_t i = 0; i < replies.size(); ++i) {
    Row& row = rows[compiled[i]];
    if (jobs[i].reference) check_architecture_compiled(row.arch, replies[i].message);
    row.outcome = replies[i].outcome;
    row.resources = replies[i].resources;
    row.message = replies[i].message;
  }
  return rows;
}

// What passed, once more under the device's sanitizer; a finding becomes the outcome of its row.
void sanitize_rows(DeviceExecutor& executor, const std::vector<std::pair<Configuration, std::size_t>>& right, std::vector<Row>& rows,
                   std::vector<std::string>& notes) {
  const SanitizerChoice sanitizer = executor.sanitizer();
  if (sanitizer.name.empty()) return notes.push_back(fmt::format("--sanitize: {}", sanitizer.reason));
  std::vector<Configuration> configurations;
  for (const auto& [configuration, row] : right) configurations.push_back(configuration);
  const std::vector<SanitizerVerdict> verdicts = executor.sanitize(configurations, {});
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    Row& row = rows[right[i].second];
    row.what += verdicts[i].clean ? fmt::format(", clean under {}", sanitizer.name) : "";
    if (!verdicts[i].finding.empty()) {
      row.outcome = verdicts[i].outcome;
      row.message = verdicts[i].finding;
    } else if (!verdicts[i].clean) {
      notes.push_back(fmt::format("{} {}: {}", row.kernel, row.what, verdicts[i].note));
    }
  }
}

// Some references take more shared memory the larger a size is.
bool reference_fits(const KernelSpec& spec, const Problem& problem, const Device& device) {
  return launch_limit_violated(evaluate_launch(spec.reference.launch, spec.scope(problem, device), spec.name), 0, device.limits).empty();
}

// Verified against the reference on the spec's small problems, or, if `shapes` says how many, on a sweep of shapes; the last verify problem
// stands for the tuned one.
std::vector<Row> device_rows(const KernelTemplate& declared, const Options& chosen, std::vector<std::string>& notes) {
  const int samples = chosen.samples, shapes = chosen.shapes;
  std::vector<Row> rows;
  for (const auto& [defaults, all_presets] : sample_problems(declared.spec, chosen.only)) {
    const std::vector<Problem> small = declared.spec.verify_problems(defaults);
    const Problem problem = small.empty() ? defaults : small.back();
    KernelTemplate kernel = declared;
    DeviceExecutorOptions options;
    options.device = DeviceChoice::parse(chosen.device);
    options.sanitizers = chosen.sanitizers;
    DeviceExecutor executor(kernel, options);
    const Device& found = executor.identity().device;
    if (shapes > 0) {
      kernel.spec.whole_verify = sweep_shapes(declared.spec, problem, shapes);
      std::erase_if(kernel.spec.whole_verify, [&](const Problem& one) { return !reference_fits(declared.spec, one, found); });
      for (Dimension& dimension : kernel.spec.dimensions) dimension.verify.clear();
    }
    executor.set_problem(problem);
    ProgressLine line;
    std::vector<std::pair<Configuration, std::size_t>> right;  // with its row
    auto picked = choose_samples(kernel.spec, problem, found, samples, all_presets);
    // A log has a line now and then where a terminal has one that moves: this takes minutes.
    if (!line.on_terminal()) fmt::print(stderr, "{} {}: {}\n", kernel.spec.name, problem.display(), plural(std::ssize(picked), "sample"));
    for (auto& [what, configuration] : picked) {
      line.show(fmt::format("{} {}: {}", kernel.spec.name, problem.display(), what));
      const Examination examination = executor.examine(configuration);
      rows.push_back({kernel.spec.name, found.kind == "cpu" ? "cpu" : "sm_" + std::to_string(found.compute_capability),
                      category_text(kernel.spec, problem), what + fmt::format(" (run on {} problems)", examination.trial.verified_problems),
                      examination.trial.outcome, examination.trial.resources, examination.trial.message});
      if (examination.trial.outcome == Outcome::ok) right.emplace_back(configuration, rows.size() - 1);
    }
    if (chosen.sanitize && all_presets) {
      line.show(fmt::format("{} {}: {}", kernel.spec.name, problem.display(), executor.sanitizer().name));
      sanitize_rows(executor, right, rows, notes);
    }
  }
  return rows;
}

// What is wrong with a template beyond its samples.
struct Review {
  std::vector<std::string> problems;
  std::vector<std::string> notes;  // worth knowing, no failure
  std::vector<LintFinding> lint;
  void add(std::vector<LintFinding> findings) {
    for (LintFinding& finding : findings) lint.push_back(std::move(finding));
  }
};

void review_declaration(const KernelTemplate& kernel, const std::vector<std::string>& archs, Review& review) {
  LintAnswer answer = lint_declaration(kernel);
  review.add(std::move(answer.findings));
  const auto gpu = std::find_if(archs.begin(), archs.end(), [](const std::string& arch) { return arch != "cpu"; });
  if (gpu != archs.end()) {
    if (!answer.unread_bounds.empty()) review.add(lint_compiled_bounds(kernel, *gpu));
  } else {
    for (const std::string& entry : answer.unread_bounds) {
      review.notes.push_back(fmt::format("{}: the launch bounds of {} cannot be read from the source; with --arch sm_90 they are read from compiled code",
                                         (kernel.folder / kernel.spec.source).string(), entry));
    }
  }
  const std::string file = (kernel.folder / "kernel.json").string();
  for (const std::string& problem : kernel.spec.check_default_on_random_shapes(stand_in_device("sm_90"))) {
    review.notes.push_back(fmt::format("{}: {}: `best` has no answer for such a shape before it is tuned", file, problem));
  }
}

void review_accesses(const KernelTemplate& kernel, int samples, Review& review) {
  ProgressLine line;
  LintAccesses answer = lint_accesses(kernel, samples, [&](const std::string& what) { line.show(fmt::format("{}: {}", kernel.spec.name, what)); });
  review.add(std::move(answer.findings));
  review.notes.insert(review.notes.end(), answer.notes.begin(), answer.notes.end());
}

nlohmann::ordered_json lint_json(const std::vector<LintFinding>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const LintFinding& finding : findings) {
    list.push_back({{"rule", finding.rule}, {"failure", finding.failure}, {"place", finding.place}, {"message", finding.message},
                    {"remedy", finding.remedy}});
  }
  return list;
}

std::string known(std::int64_t value) { return value < 0 ? "-" : std::to_string(value); }

int run_check(const Options& options) {
  for (const std::string& arch : options.archs) check_architecture(arch);
  if (!options.device.empty() && DeviceChoice::parse(options.device).kind == DeviceChoice::Kind::replay) {
    throw InputError("check needs a device that runs kernels: --device cuda:N or cpu");
  }
  if (options.sanitize && options.device.empty()) throw InputError("--sanitize: nothing runs without --device; name cuda:N or cpu");
  if (options.shapes > 0 && options.device.empty()) throw InputError("--shapes: nothing runs without --device; name cuda:N or cpu");
  if (!options.only.empty() && options.device.empty() && options.archs.empty()) {
    throw InputError("--only: nothing is compiled or run without --arch or --device; name sm_90, cuda:N or cpu");
  }
  const auto path = template_search_path(options.templates);
  std::vector<std::string> kernels = options.kernels;
  Review review;
  std::vector<std::string>&problems = review.problems, &notes = review.notes;
  if (kernels.empty()) {
    for (const TemplateEntry& entry : find_templates(path)) {
      if (entry.error.empty()) {
        kernels.push_back(entry.name);
      } else {
        problems.push_back(entry.error);
      }
    }
    if (kernels.empty() && problems.empty()) {
      throw InputError("no kernel templates found; name a folder with --templates or in $TUNEBOOK_TEMPLATES");
    }
  }
  std::vector<Row> rows;
  for (const std::string& name : kernels) {
    const KernelTemplate kernel = find_template(name, path);
    review_declaration(kernel, options.archs, review);
    if (!options.archs.empty()) {
      const auto compiled = compile_rows(kernel, options);
      rows.insert(rows.end(), compiled.begin(), compiled.end());
    }
    if (!options.device.empty()) {
      const auto run = device_rows(kernel, options, notes);
      rows.insert(rows.end(), run.begin(), run.end());
      if (DeviceChoice::parse(options.device).kind == DeviceChoice::Kind::cpu) review_accesses(kernel, options.samples, review);
    }
  }
  for (const LintFinding& finding : review.lint) (finding.failure ? problems : notes).push_back(finding.line());

  const bool passed = problems.empty() && std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.passed(); });
  if (options.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Row& row : rows) {
      list.push_back({{"kernel", row.kernel}, {"arch", row.arch}, {"dtype", row.dtype}, {"sample", row.what},
                      {"outcome", outcome_name(row.outcome)}, {"resources", row.resources.to_json()}, {"message", row.message}});
    }
    print_json({{"passed", passed}, {"kernels", kernels}, {"problems", problems}, {"notes", notes}, {"lint", lint_json(review.lint)},
                {"samples", list}});
  } else {
    TextTable table;
    table.header = {"kernel", "target", "dtype", "outcome", "registers", "shared", "spills", "sample"};
    table.right = {false, false, false, false, true, true, true, false};
    for (const Row& row : rows) {
      const Resources& r = row.resources;
      const std::string outcome(outcome_name(row.outcome));
      table.rows.push_back({row.kernel, row.arch, row.dtype, row.passed() ? outcome : red(outcome, stdout), known(r.registers),
                            known(r.shared_static_bytes), known(r.spill_store_bytes), row.what});
    }
    if (!rows.empty()) fmt::print("{}", terminal_text(table));
    for (const std::string& problem : problems) fmt::print("{}\n", problem);
    for (const std::string& note : notes) fmt::print("note: {}\n", note);
    for (const Row& row : rows) {
      if (!row.passed()) fmt::print("\n{} {} {}: {}\n{}\n", row.kernel, row.arch, row.what, outcome_name(row.outcome), row.message);
    }
    fmt::print("{}: {} {}{}\n", passed ? green("ok", stdout) : red("check failed", stdout), plural(std::ssize(kernels), "kernel"),
               passed ? "declared soundly" : "looked at",
               rows.empty() ? std::string("; with --arch sm_90 samples are compiled, with --device cpu they are run") : ", " + plural(std::ssize(rows), "sample"));
  }
  return passed ? kDone : kNo;
}

}  // namespace

void add_check(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("check", "Validate kernel templates; compile samples; run them against the reference");
  verb->add_option("kernel", options->kernels, "Kernels (default: all that are found)");
  verb->add_option("--arch", options->archs, "Compile samples for these, e.g. sm_80,sm_90,sm_120; needs no GPU")
      ->delimiter(',')->allow_extra_args(false);
  verb->add_option("--samples", options->samples, "Samples of each space besides the presets")
      ->check(CLI::Range(0, 10000))->capture_default_str();
  verb->add_option("--shapes", options->shapes, "With --device: run on every size from 1 to 33 and so many random shapes instead of the declared problems")
      ->check(CLI::Range(0, 100000));
  verb->add_flag("--sanitize", options->sanitize, "With --device: what passes runs again under compute-sanitizer, on cpu under AddressSanitizer");
  verb->add_option("--sanitizers", options->sanitizers, "With --sanitize on a GPU: only these tools (default: all; memcheck and racecheck are the fastest)")
      ->delimiter(',')->allow_extra_args(false)->check(CLI::IsMember(compute_sanitizer_tools()))->needs("--sanitize");
  verb->add_option("--only", options->only, "Samples of these problems only: a data type or another category, e.g. dtype=f16; repeatable")
      ->type_name("NAME=VALUE")->allow_extra_args(false);
  add_device_option(*verb, options->device);
  verb->get_option("--device")->description("Run the samples on this device against the reference");
  add_templates_option(*verb, options->templates);
  add_json_option(*verb, options->json);
  verb->footer("Example:  tunebook check --arch sm_80,sm_90,sm_120\nExit code 3: something failed.");
  verb->callback([options, &invocation] { invocation.exit_code = run_check(*options); });
}

}  // namespace tunebook::cli
