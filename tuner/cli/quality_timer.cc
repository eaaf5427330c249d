#include "cli/quality_timer.h"

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/remeasure.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/statistics.h"
#include "core/template_folder.h"
#include "session/device_executor.h"
#include "session/remeasure.h"

namespace tunebook::cli {
namespace {

constexpr int kCompileWorkers = 2;  // two configurations and a reference

// Why the group's answers cannot be timed; "": they can.
std::string refusal(const learn::QualityGroup& group, const KernelTemplate& kernel) {
  if (group.device.kind != "cuda" && group.device.kind != "cpu") return "it comes from a recording";
  if (group.kernel_hash != kernel.hash)
    return fmt::format("the template in {} is another version than was tuned",
                       kernel.folder.string());
  return {};
}

RemeasureAnswer time_one(const learn::QualityGroup& group, const learn::QualityQuestion& asked,
                         const KernelTemplate& kernel, const QualityTimerOptions& options) {
  DeviceExecutorOptions executor_options;
  executor_options.device = DeviceChoice::parse(!options.device.empty()      ? options.device
                                                : group.device.kind == "cpu" ? "cpu"
                                                                             : "cuda:0");
  executor_options.compile_workers = kCompileWorkers;
  executor_options.run_timeout_s = options.run_timeout_s;
  executor_options.compile_timeout_s = options.compile_timeout_s;
  executor_options.cache = group.method.starts_with("warm") ? CacheMode::warm : CacheMode::cold;
  executor_options.lock_clocks_mhz = locked_clock_mhz(group.method);
  DeviceExecutor executor(kernel, executor_options);
  if (const Device& found = executor.identity().device; found.key() != group.device.key()) {
    return {{},
            {},
            fmt::format("it was tuned on {}, here is {}; --device names another", group.device.name,
                        found.name)};
  }
  RemeasureQuestion question;
  question.problem = asked.problem;
  question.base = asked.tuned;
  question.candidate = asked.answer;
  question.processes = options.processes;
  question.stop = [] { return Interrupt::requested(); };
  return remeasure(kernel, question, executor);
}

}  // namespace

void add_quality_timer_options(CLI::App& verb, QualityTimerOptions& options) {
  CLI::Option* measure = verb.add_flag("--measure", options.measure,
                                       "Time each answer beside the tuned configuration on the "
                                       "device here, interleaved in fresh processes");
  verb.add_option("--device", options.device,
                  "cuda:N or cpu (default: cuda:0 for what was tuned on a GPU, cpu for the rest)")
      ->type_name("DEVICE")
      ->needs(measure);
  verb.add_option("--processes", options.processes, "Fresh processes for each answer")
      ->check(CLI::Range(1, 100))
      ->capture_default_str()
      ->needs(measure);
  add_templates_option(verb, options.templates);
  add_seconds_option(verb, "--run-timeout", options.run_timeout_s, "For each step on the device");
}

bool time_answers(std::vector<learn::QualityGroup>& groups, const QualityTimerOptions& options) {
  if (!options.device.empty() &&
      DeviceChoice::parse(options.device).kind == DeviceChoice::Kind::replay) {
    throw InputError("--measure needs a device that runs kernels: --device cuda:N or cpu");
  }
  const Interrupt interrupt;
  ProgressLine line;
  std::size_t timed = 0;
  std::string first_failure;
  for (learn::QualityGroup& group : groups) {
    std::optional<KernelTemplate> kernel;
    std::string reason;
    try {
      kernel = find_template(group.kernel, template_search_path(options.templates));
      reason = refusal(group, *kernel);
    } catch (const InputError& error) {
      reason = error.what();
    }
    for (std::size_t i = 0; i < group.questions.size(); ++i) {
      learn::QualityQuestion& one = group.questions[i];
      line.show(fmt::format("timing {} {} of {}: {}", group.kernel, i + 1, group.questions.size(),
                            one.problem.display()));
      RemeasureAnswer answer{{}, {}, reason};
      if (one.answer.empty()) {
        answer.failure = "there was no answer";
      } else if (one.answer == one.tuned) {
        one.timed = 1;
        ++timed;
        continue;
      } else if (reason.empty()) {
        try {
          answer = time_one(group, one, *kernel, options);
        } catch (const EnvironmentError& error) {
          answer.failure = error.what();
        } catch (const InputError& error) {
          answer.failure = error.what();  // no such device
        }
      }
      if (Interrupt::requested()) return false;
      one.note = answer.failure;
      if (!answer.failure.empty()) {
        if (first_failure.empty()) first_failure = answer.failure;
        continue;
      }
      one.timed = median(answer.base_us) / median(answer.candidate_us);
      ++timed;
    }
  }
  if (timed == 0 && !first_failure.empty())
    throw InputError(fmt::format("--measure: no answer could be timed: {}", first_failure));
  return true;
}

}  // namespace tunebook::cli
