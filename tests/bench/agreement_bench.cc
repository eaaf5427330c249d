// Do sessions agree? Runs the same exhaustive session several times, each with a fresh book and another seed, and compares their
// winners, tie sets and stored medians; then all members of the tie sets are measured once more, interleaved, in fresh processes.
//
//   bench_agreement matmul --shape 1024,1024,1024 --where 'BM >= 64' --device cuda:0 --sessions 20 --folder /tmp/books

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "core/statistics.h"
#include "session/device_executor.h"
#include "session/subject.h"
#include "session/tune.h"

namespace {

using namespace tunebook;

struct Options {
  std::string kernel, shape, device, folder;
  std::vector<std::string> templates, where;
  int sessions = 20, processes = 5, remeasure_processes = 10;
};

struct SessionOutcome {
  TuneResult result;
  double wall_seconds = 0;
  std::map<std::string, double> first_pass_us;  // by canonical configuration
  std::map<std::string, double> finalists_us;
  std::set<std::string> tie_set;
};

SessionOutcome run_session(const Options& options, const KernelTemplate& kernel, int number, const std::vector<std::string>& where, int finalists,
                           int processes) {
  const auto start = std::chrono::steady_clock::now();
  DeviceExecutorOptions executor_options;
  executor_options.device = DeviceChoice::parse(options.device);
  executor_options.seed = static_cast<std::uint64_t>(number);
  DeviceExecutor executor(kernel, executor_options);
  const Device& device = executor.identity().device;
  const Problem problem = kernel.spec.parse_shape(options.shape);
  const SearchSpace space = SearchSpace::build(template_space(kernel.spec, problem, device, where));
  executor.set_problem(problem);
  TuneSubject subject = template_subject(kernel, problem, device);
  subject.presets.clear();

  const std::filesystem::path book = std::filesystem::path(options.folder) / fmt::format("session_{}.db", number);
  std::filesystem::remove(book);
  Store store(book);
  TuneOptions tune_options;
  tune_options.strategy = "exhaustive";
  tune_options.budget = Budget::parse("all");
  tune_options.seed = executor_options.seed;
  tune_options.where = where;
  tune_options.finalists = finalists;
  tune_options.finalist_processes = processes;
  SessionOutcome outcome;
  outcome.result = tune(subject, space, tune_options, executor, store, {}, start);
  outcome.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const TrialRecord& trial : store.session_trials(outcome.result.session_id)) {
    if (trial.outcome == Outcome::ok && trial.median_us) outcome.first_pass_us[trial.configuration.canonical()] = *trial.median_us;
  }
  if (outcome.result.winner) {
    for (const FinalistRecord& finalist : outcome.result.winner->finalists) {
      outcome.finalists_us[finalist.configuration.canonical()] = finalist.median_us;
      if (finalist.in_tie_set) outcome.tie_set.insert(finalist.configuration.canonical());
    }
  }
  return outcome;
}

// The expression that admits exactly these configurations.
std::string only_these(const std::map<std::string, Configuration>& configurations) {
  std::string text;
  for (const auto& [key, configuration] : configurations) {
    std::string one;
    for (const auto& [name, value] : configuration.items()) {
      const bool quoted = std::holds_alternative<std::string>(value);
      one += fmt::format("{}{} == {}{}{}", one.empty() ? "" : " and ", name, quoted ? "'" : "", to_text(value), quoted ? "'" : "");
    }
    text += fmt::format("{}({})", text.empty() ? "" : " or ", one);
  }
  return text;
}

// The medians of each configuration that several sessions measured.
std::vector<std::vector<double>> measured_again(const std::vector<SessionOutcome>& sessions,
                                                const std::map<std::string, double> SessionOutcome::*times) {
  std::map<std::string, std::vector<double>> by_configuration;
  for (const SessionOutcome& session : sessions) {
    for (const auto& [configuration, time] : session.*times) by_configuration[configuration].push_back(time);
  }
  std::vector<std::vector<double>> result;
  for (auto& [configuration, values] : by_configuration) {
    if (values.size() > 1) result.push_back(std::move(values));
  }
  return result;
}

// Of configurations that several sessions measured: the largest over the smallest median, less 1.
std::vector<double> spreads(const std::vector<SessionOutcome>& sessions, const std::map<std::string, double> SessionOutcome::*times) {
  std::vector<double> result;
  for (const std::vector<double>& values : measured_again(sessions, times)) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    result.push_back(*most / *least - 1);
  }
  std::sort(result.begin(), result.end());
  return result;
}

// Of configurations that several sessions measured: how far one session's median lies from the median over all sessions, at most.
std::vector<double> deviations(const std::vector<SessionOutcome>& sessions, const std::map<std::string, double> SessionOutcome::*times) {
  std::vector<double> result;
  for (const std::vector<double>& values : measured_again(sessions, times)) {
    const double middle = median(values);
    double farthest = 0;
    for (const double value : values) farthest = std::max(farthest, std::abs(value / middle - 1));
    result.push_back(farthest);
  }
  std::sort(result.begin(), result.end());
  return result;
}

void print_quantiles(const char* title, const std::vector<double>& sorted) {
  if (sorted.empty()) return fmt::print("{}: nothing measured twice\n", title);
  const auto at = [&](double share) { return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))] * 100; };
  const auto below = std::lower_bound(sorted.begin(), sorted.end(), 0.01) - sorted.begin();
  fmt::print("{}: {} configurations; median {:.2f} %, 90 % {:.2f} %, 95 % {:.2f} %, largest {:.2f} %; {:.1f} % of them below 1 %\n", title, sorted.size(),
             at(0.5), at(0.9), at(0.95), at(1), 100.0 * static_cast<double>(below) / static_cast<double>(sorted.size()));
}

int run(const Options& options) {
  std::filesystem::create_directories(options.folder);
  const KernelTemplate kernel = find_template(options.kernel, template_search_path(options.templates));
  std::vector<SessionOutcome> sessions;
  std::map<std::string, Configuration> tied;
  int in_first = 0;
  fmt::print("session  winner_us  ties  in first's  ok  aband.   wall  first pass  finalists  compile  verify   time   idle  configuration\n");
  for (int number = 1; number <= options.sessions; ++number) {
    sessions.push_back(run_session(options, kernel, number, options.where, 8, options.processes));
    const SessionOutcome& session = sessions.back();
    const TuneResult& result = session.result;
    if (!result.winner) {
      fmt::print("{:7}  no winner\n", number);
      continue;
    }
    const bool agrees = sessions.front().tie_set.contains(result.winner->configuration.canonical());
    in_first += agrees ? 1 : 0;
    for (const FinalistRecord& finalist : result.winner->finalists) {
      if (finalist.in_tie_set) tied.emplace(finalist.configuration.canonical(), finalist.configuration);
    }
    const auto count = [&](Outcome outcome) { return result.outcomes.contains(outcome) ? result.outcomes.at(outcome) : 0; };
    const TuneClock& clock = result.clock;
    fmt::print("{:7}  {:9.3f}  {:4}  {:>10}  {:3}  {:5}  {:5.2f}  {:10.2f}  {:9.2f}  {:7.2f}  {:6.2f}  {:5.2f}  {:5.2f}  {}\n", number,
               result.winner->median_us, session.tie_set.size(), agrees ? "yes" : "NO", count(Outcome::ok), count(Outcome::abandoned),
               session.wall_seconds, clock.first_pass, clock.finalists, clock.compile, clock.verify, clock.time, clock.idle,
               result.winner->configuration.display());
    std::fflush(stdout);
  }
  fmt::print("\nthe winner lies in the first session's tie set in {} of {} sessions\n", in_first, options.sessions);
  print_quantiles("first pass, stored medians, a session from the middle of all", deviations(sessions, &SessionOutcome::first_pass_us));
  print_quantiles("first pass, stored medians, any two sessions", spreads(sessions, &SessionOutcome::first_pass_us));
  print_quantiles("finalists, stored medians, a session from the middle of all", deviations(sessions, &SessionOutcome::finalists_us));
  print_quantiles("finalists, stored medians, any two sessions", spreads(sessions, &SessionOutcome::finalists_us));

  if (tied.empty()) return 1;
  const SessionOutcome again = run_session(options, kernel, options.sessions + 1, {only_these(tied)}, 32, options.remeasure_processes);
  double farthest = 0;
  for (const SessionOutcome& session : sessions) {
    double best = 0;
    for (const std::string& member : session.tie_set) {
      const auto time = again.finalists_us.find(member);
      if (time != again.finalists_us.end() && (best == 0 || time->second < best)) best = time->second;
    }
    for (const std::string& member : session.tie_set) {
      const auto time = again.finalists_us.find(member);
      if (time != again.finalists_us.end() && best > 0) farthest = std::max(farthest, time->second / best - 1);
    }
  }
  fmt::print("measured again in {} processes: {} of the {} that were in a tie set; the farthest member of any tie set lies {:.2f} % above its fastest\n",
             options.remeasure_processes, again.finalists_us.size(), tied.size(), farthest * 100);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Do sessions agree?");
  Options options;
  app.add_option("kernel", options.kernel)->required();
  app.add_option("--shape", options.shape)->required();
  app.add_option("--device", options.device)->required();
  app.add_option("--folder", options.folder, "Where the books go")->required();
  app.add_option("--where", options.where)->allow_extra_args(false);
  app.add_option("--templates", options.templates)->allow_extra_args(false);
  app.add_option("--sessions", options.sessions)->capture_default_str();
  app.add_option("--processes", options.processes)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
