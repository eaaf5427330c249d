#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/configuration_option.h"
#include "cli/emit_files.h"
#include "core/error.h"
#include "core/launch_plan.h"
#include "session/device_choice.h"
#include "session/device_listing.h"
#include "session/sample_compiler.h"
#include "session/subject.h"
#include "session/verification_plan.h"

namespace tunebook::cli {
namespace {

struct Options {
  std::string kernel, shape, config, preset, device, arch, output;
  std::vector<std::string> templates;
  bool json = false;
};

// The architecture to compile for: asked for, or that of the device, or a default that is said.
struct Target {
  std::string kind;
  std::string arch;
};
Target target_of(const Options& options) {
  const DeviceChoice choice = DeviceChoice::parse(options.device);
  if (choice.kind == DeviceChoice::Kind::replay) throw InputError("emit needs a device that runs kernels: --device cuda:N or cpu");
  if (choice.kind == DeviceChoice::Kind::cpu || options.arch == "cpu") return {"cpu", "cpu"};
  if (!options.arch.empty()) return {"cuda", options.arch};
  const DeviceListing listing = probe_device({DeviceChoice::Kind::cuda, choice.argument.empty() ? "0" : choice.argument});
  if (listing.error.empty() && listing.hello) return {"cuda", listing.hello->native_arch};
  fmt::print(stderr, "note: no GPU here ({}); compiling for sm_90, name another with --arch\n",
             listing.error.substr(0, listing.error.find('\n')));
  return {"cuda", "sm_90"};
}

// The command that runs the configuration alone, from any folder.
std::string run_command(const Options& options, const Target& target, const Problem& problem, const Configuration& configuration) {
  std::string command = fmt::format("tunebook run {} --shape {} --config {}", options.kernel, shell_word(problem.display()),
                                    shell_word(configuration.display()));
  for (const std::string& folder : options.templates) {
    command += " --templates " + shell_word(std::filesystem::absolute(folder).string());
  }
  if (target.kind == "cpu") {
    command += " --device cpu";
  } else if (!options.device.empty()) {
    command += " --device " + shell_word(options.device);
  }
  return command;
}

// Launches before the tuned problem's: `run` verifies the small problems first, each by two runs.
std::size_t launches_before_tuned(const KernelTemplate& kernel, const Problem& problem, const Configuration& configuration,
                                  const Device& device) {
  const auto candidate = VerificationPlan(kernel, problem, device, 0).candidate(configuration);
  std::size_t launches = 0;
  for (const auto& applicable : candidate.verify) launches += 2 * applicable.launches.launches.size();
  return candidate.outcome == Outcome::ok ? launches - 2 * candidate.launches.launches.size() : 0;
}

// The names of the kernels as the tools know them: without namespaces, "a|b".
std::string kernel_pattern(const KernelSpec& spec) {
  std::vector<std::string> names;
  for (const Launch& launch : spec.launches) {
    const std::size_t colons = launch.entry.rfind("::");
    const std::string name = colons == std::string::npos ? launch.entry : launch.entry.substr(colons + 2);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, "|"));
}

// How the configuration is run alone, under the vendor's tools. The kernels run in a child process of tunebook.
std::string tool_commands(const KernelSpec& spec, const std::string& run, std::size_t skipped_launches, std::size_t launches) {
  return fmt::format("{1} --run-timeout 600\n\n"
                     "# profile one run with Nsight Compute; the launches before it are of smaller problems\n"
                     "ncu --target-processes all --set full --kernel-name 'regex:^({0})$' --launch-skip {2} --launch-count {3} "
                     "{1} --run-timeout 600\n\n"
                     "# find bad memory accesses, races, uninitialised reads, bad synchronisation\n"
                     "compute-sanitizer --target-processes all --tool memcheck {1} --run-timeout 600\n"
                     "compute-sanitizer --target-processes all --tool racecheck {1} --run-timeout 600\n"
                     "compute-sanitizer --target-processes all --tool initcheck {1} --run-timeout 600\n"
                     "compute-sanitizer --target-processes all --tool synccheck {1} --run-timeout 600\n",
                     kernel_pattern(spec), run, skipped_launches, launches);
}

int run_emit(const Options& options) {
  if (!options.arch.empty()) check_architecture(options.arch);
  const KernelTemplate kernel = find_template(options.kernel, template_search_path(options.templates));
  const Problem problem = chosen_problem(kernel.spec, options.shape);
  const std::optional<Configuration> given =
      given_configuration(kernel.spec, options.config, options.preset);
  const Target target = target_of(options);
  const Device device = stand_in_device(target.arch);
  const Configuration configuration = given ? *given : kernel.spec.default_preset(problem, device);
  const std::filesystem::path folder = options.output.empty() ? options.kernel + "-emit" : options.output;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw InputError(fmt::format("--output {}: cannot be made: {}", folder.string(), error.message()));

  SampleJob job;
  job.kernel = &kernel;
  job.problem = problem;
  job.configuration = configuration;
  job.arch = target.arch;
  job.emit = true;
  const CompileReply reply = compile_samples({job}).front();
  if (reply.outcome != Outcome::ok) {
    check_architecture_compiled(target.arch, reply.message);
    fmt::print(stderr, "{}: {}\n", outcome_name(reply.outcome), reply.message);
    return kNo;
  }

  std::vector<std::string> files = write_emitted(kernel, problem, configuration, reply, folder);
  const std::string run = run_command(options, target, problem, configuration);
  const std::size_t launches = std::max<std::size_t>(1, VerificationPlan(kernel, problem, device, 0).candidate(configuration).launches.launches.size());
  const std::filesystem::path commands = folder / "commands.txt";
  write_emitted_file(commands, target.kind == "cpu"
                                   ? run + "\n"
                                   : tool_commands(kernel.spec, run, launches_before_tuned(kernel, problem, configuration, device), launches));
  files.push_back(commands.string());

  if (options.json) {
    print_json({{"kernel", options.kernel}, {"problem", problem.to_json()}, {"configuration", configuration.to_json()},
                {"arch", compile_architecture(kernel.spec, problem, configuration, device, target.arch)}, {"symbol", reply.symbol}, {"other_symbols", reply.other_symbols}, {"resources", reply.resources.to_json()}, {"files", files}});
  } else {
    for (const std::string& file : files) fmt::print("{}\n", file);
  }
  return kDone;
}

}  // namespace

void add_emit(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("emit", "Write source, PTX, cubin, SASS, options and tool commands of one configuration");
  verb->add_option("kernel", options->kernel, "Kernel template")->required();
  verb->add_option("--shape", options->shape, "Problem (default: the template's)");
  verb->add_option("--config", options->config, "Configuration: K=V,... with every parameter");
  verb->add_option("--preset", options->preset, "A preset of the template (default: default)");
  verb->add_option("--arch", options->arch, "Architecture such as sm_90, or cpu (default: the device's)");
  verb->add_option("--output", options->output, "Folder (default: KERNEL-emit)")->type_name("DIR");
  add_device_option(*verb, options->device);
  add_templates_option(*verb, options->templates);
  add_json_option(*verb, options->json);
  verb->footer("Example:  tunebook emit matmul --preset tiled --arch sm_90 --output /tmp/tiled");
  verb->callback([options, &invocation] { invocation.exit_code = run_emit(*options); });
}

}  // namespace tunebook::cli
