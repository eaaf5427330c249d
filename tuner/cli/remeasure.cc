#include "cli/remeasure.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "db/store.h"
#include "session/device_executor.h"
#include "session/remeasure.h"

namespace tunebook::cli {
namespace {

constexpr int kCompileWorkers = 2;  // two winners and a reference

// A pair of winners on its way to times.
class PairTimer {
 public:
  PairTimer(const reports::Report& report, const reports::Item& base, const reports::Item& candidate,
            const reports::ComparisonSettings& settings, const RemeasureOptions& options)
      : report_(report), base_(base), candidate_(candidate), settings_(settings), options_(options) {}

  // The times, or why there are none.
  RemeasureAnswer time(const KernelTemplate& kernel) {
    if (const std::string reason = refusal(kernel); !reason.empty()) return {{}, {}, reason};
    DeviceExecutorOptions executor_options;
    executor_options.device = DeviceChoice::parse(device());
    executor_options.compile_workers = kCompileWorkers;
    executor_options.run_timeout_s = options_.run_timeout_s;
    executor_options.compile_timeout_s = options_.compile_timeout_s;
    executor_options.cache = candidate_.key.method.starts_with("warm") ? CacheMode::warm : CacheMode::cold;
    executor_options.lock_clocks_mhz = locked_clock_mhz(candidate_.key.method);
    DeviceExecutor executor(kernel, executor_options);
    const Device& found = executor.identity().device;
    if (found.key() != candidate_.key.device_key) {
      return {{}, {}, fmt::format("it was tuned on another device than {} ({} here); --device names one", device(), found.name)};
    }
    RemeasureQuestion question;
    question.problem = candidate_.key.problem;
    question.base = base_.winner->configuration;
    question.candidate = candidate_.winner->configuration;
    question.processes = options_.processes;
    question.ceilings = Store::ceilings_in_file(report_.side.book, found);
    question.stop = [] { return Interrupt::requested(); };
    return remeasure(kernel, question, executor);
  }

 private:
  std::string device() const { return options_.device.empty() ? (candidate_.key.device_kind == "cpu" ? "cpu" : "cuda:0") : options_.device; }

  std::string refusal(const KernelTemplate& kernel) const {
    if (base_.key.device_key != candidate_.key.device_key) return "the two sides were tuned on different devices";
    if (base_.key.method != candidate_.key.method) return "the two sides were timed at different clocks";
    const std::vector<std::string>& allowed = settings_.allow_different;
    const bool any_kernel = std::any_of(allowed.begin(), allowed.end(), [](const std::string& name) { return name == "kernel" || name == "all"; });
    for (const auto& [side, item] : {std::pair{"base", &base_}, {"candidate", &candidate_}}) {
      if (item->kernel_hash == kernel.hash || any_kernel) continue;
      return fmt::format("the template in {} is another version than the {} was tuned with; --allow-different kernel times its winner with the source at hand",
                         kernel.folder.string(), side);
    }
    return {};
  }

  const reports::Report& report_;
  const reports::Item& base_;
  const reports::Item& candidate_;
  const reports::ComparisonSettings& settings_;
  const RemeasureOptions& options_;
};

// Templates by name, each loaded once; nothing for one that cannot be.
class TemplateCache {
 public:
  explicit TemplateCache(const std::vector<std::string>& folders) : path_(template_search_path(folders)) {}

  const KernelTemplate* find(const std::string& name, std::string& error) {
    auto found = templates_.find(name);
    if (found == templates_.end()) {
      try {
        found = templates_.emplace(name, std::make_unique<KernelTemplate>(find_template(name, path_))).first;
      } catch (const InputError& missing) {
        error = missing.what();
        return nullptr;
      }
    }
    return found->second.get();
  }

 private:
  std::vector<std::filesystem::path> path_;
  std::map<std::string, std::unique_ptr<KernelTemplate>> templates_;
};

}  // namespace

int locked_clock_mhz(const std::string& method) {
  const std::size_t at = method.find('@');
  int mhz = 0;
  if (at != std::string::npos) std::from_chars(method.data() + at + 1, method.data() + method.size(), mhz);
  return mhz;
}

void add_remeasure_options(CLI::App& verb, RemeasureOptions& options) {
  CLI::Option* remeasure = verb.add_flag("--remeasure", options.remeasure,
                                         "Time both sides' winners again, interleaved in fresh processes, on the device here; the books stay as they are");
  verb.add_option("--remeasure-device", options.device, "cuda:N or cpu (default: cuda:0 for what was tuned on a GPU, cpu for the rest)")->needs(remeasure);
  verb.add_option("--remeasure-processes", options.processes, "Fresh processes for each pair of winners")
      ->check(CLI::Range(2, 100))->capture_default_str()->needs(remeasure);
  add_templates_option(verb, options.templates);
  add_seconds_option(verb, "--run-timeout", options.run_timeout_s, "For each step on the device");
}

Remeasured remeasure_winners(const reports::Report& base, const reports::Report& candidate, const reports::ComparisonSettings& settings,
                             const RemeasureOptions& options) {
  if (!options.device.empty() && DeviceChoice::parse(options.device).kind == DeviceChoice::Kind::replay) {
    throw InputError("--remeasure needs a device that runs kernels: --remeasure-device cuda:N or cpu");
  }
  const Interrupt interrupt;
  TemplateCache templates(options.templates);
  ProgressLine line;
  Remeasured result;
  std::string first_failure;
  const std::vector<reports::ItemPair> pairs = reports::pair_items(base, candidate);
  std::size_t at = 0;
  for (const reports::ItemPair& pair : pairs) {
    const reports::Item& before = base.items[pair.base];
    const reports::Item& after = candidate.items[pair.candidate];
    const std::string name = fmt::format("{} {}", after.key.kernel, after.key.shape());
    line.show(fmt::format("timing again {} of {}: {}", ++at, pairs.size(), name));
    if (!before.winner || !after.winner || before.session_id == after.session_id) continue;  // one session is not compared with itself
    RemeasureAnswer answer;
    if (after.key.device_kind != "cuda" && after.key.device_kind != "cpu") {
      answer.failure = "it comes from a recording";
    } else if (const KernelTemplate* kernel = templates.find(after.key.kernel, answer.failure)) {
      try {
        answer = PairTimer(candidate, before, after, settings, options).time(*kernel);
      } catch (const EnvironmentError& error) {
        answer.failure = error.what();
      } catch (const InputError& error) {
        answer.failure = error.what();  // no such device
      }
    }
    if (Interrupt::requested()) {
      result.interrupted = true;
      return result;
    }
    if (answer.failure.empty()) {
      result.pairs.push_back({pair.base, pair.candidate, std::move(answer.base_us), std::move(answer.candidate_us)});
      continue;
    }
    if (first_failure.empty()) first_failure = answer.failure;
    result.notes.push_back(fmt::format("{} was not timed again, the books' times are compared: {}", name, answer.failure));
  }
  if (result.pairs.empty() && !first_failure.empty()) {
    throw InputError(fmt::format("--remeasure: no winner could be timed again: {}", first_failure));
  }
  return result;
}

}  // namespace tunebook::cli
