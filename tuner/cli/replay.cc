#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/replay_html.h"
#include "cli/replay_transfer.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "search/recording.h"
#include "search/recording_folder.h"
#include "search/score.h"

namespace tunebook::cli {
namespace {

struct Options {
  std::vector<std::string> paths, strategies, settings;
  std::string html;
  int seeds = 100, threads = 0;
  std::size_t in_flight = 1;
  std::uint64_t budget = 0, first_seed = 0;
  bool json = false, no_foresight = false, leave_gpu_out = false;
  std::size_t transfer_trials = 10;
};

StrategySettings parse_settings(const std::vector<std::string>& texts) {
  StrategySettings settings;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    double value = 0;
    const char* end = text.data() + text.size();
    const bool named = equals != std::string::npos && text.find('.') < equals;
    const auto parsed = named ? std::from_chars(text.data() + equals + 1, end, value) : std::from_chars_result{nullptr, std::errc::invalid_argument};
    if (parsed.ec != std::errc{} || parsed.ptr != end || !std::isfinite(value)) {
      throw InputError(fmt::format("--set {}: expected STRATEGY.NAME=NUMBER, e.g. genetic.population=30", text));
    }
    settings[text.substr(0, equals)] = value;
  }
  return settings;
}

std::vector<std::string> chosen_strategies(const Options& options) {
  std::vector<std::string> strategies = options.strategies;
  if (strategies.empty()) {
    for (const std::string& name : strategy_names()) {
      if (name != "exhaustive") strategies.push_back(name);  // row order says nothing about a strategy
    }
  }
  for (const std::string& name : strategies) check_strategy_name(name);
  return strategies;
}

// All runs, on all cores. runs[space][strategy][seed].
using Runs = std::vector<std::vector<std::vector<Trajectory>>>;
Runs run_all(const std::vector<std::unique_ptr<ScoredSpace>>& spaces, const std::vector<std::string>& strategies, const Options& options,
             const StrategySettings& settings) {
  const auto seeds = static_cast<std::size_t>(options.seeds);
  Runs runs(spaces.size(), std::vector<std::vector<Trajectory>>(strategies.size(), std::vector<Trajectory>(seeds)));
  const std::size_t total = spaces.size() * strategies.size() * seeds;
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (std::size_t task = next++; task < total && !Interrupt::requested(); task = next++) {
        // Seeds vary slowest, so that expensive spaces are spread over the whole time.
        const std::size_t space = task % spaces.size();
        const std::size_t strategy = task / spaces.size() % strategies.size();
        const std::size_t seed = task / spaces.size() / strategies.size();
        const std::uint64_t horizon = options.budget > 0 ? std::min(options.budget, spaces[space]->valid()) : score_horizon(*spaces[space]);
        const auto own = make_strategy(strategies[strategy], spaces[space]->space(), options.first_seed + seed, settings);
        runs[space][strategy][seed] = run_strategy(*own, *spaces[space], horizon, options.in_flight, !options.no_foresight);
        ++done;
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = total;
    }
  };
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t threads = options.threads > 0 ? static_cast<std::size_t>(options.threads) : cores;
  std::vector<std::thread> workers;
  for (std::size_t n = 0; n < std::min(threads, total); ++n) workers.emplace_back(work);
  ProgressLine line;
  while (done < total && next < total && !Interrupt::requested()) {
    line.show(fmt::format("{} of {} runs", done.load(), total));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  for (std::thread& worker : workers) worker.join();
  line.clear();
  if (failure) std::rethrow_exception(failure);
  return runs;
}

nlohmann::ordered_json to_json(const ScoreEstimate& estimate) {
  return {{"value", estimate.value}, {"ci", {estimate.low, estimate.high}}};
}

nlohmann::ordered_json to_json(const std::vector<std::pair<std::uint64_t, ScoreEstimate>>& ratios) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [mark, ratio] : ratios) json[std::to_string(mark)] = to_json(ratio);
  return json;
}

nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

void print_results(const Options& options, const std::vector<std::unique_ptr<ScoredSpace>>& spaces, const std::vector<StrategyScore>& scores,
                   const std::vector<StrategyMean>& means) {
  if (options.json) {
    nlohmann::ordered_json json;
    json["seeds"] = options.seeds;
    json["in_flight"] = options.in_flight;
    json["spaces"] = nlohmann::ordered_json::array();
    for (const auto& space : spaces) {
      json["spaces"].push_back({{"space", space->name()}, {"valid", space->valid()}, {"timed", space->timed()}, {"start", space->start()},
                                {"budget", space->budget()}, {"optimum_us", space->optimum()}, {"median_us", space->median_time()},
                                {"counted", space->budget() >= kLeastBudget}});
    }
    json["scores"] = nlohmann::ordered_json::array();
    for (const StrategyScore& score : scores) {
      nlohmann::ordered_json curve = nlohmann::ordered_json::array();
      for (const auto& [k, ratio] : score.curve) curve.push_back({k, ratio});
      const auto bound = [](double value) { return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr); };
      json["scores"].push_back({{"space", score.space}, {"strategy", score.strategy}, {"P", to_json(score.performance)},
                                {"evaluations_to_5_percent", {{"median", or_null(score.evaluations_to_5_percent)},
                                                              {"ci", {bound(score.median_low), bound(score.median_high)}}}},
                                {"best_over_optimum", to_json(score.best_over_optimum)}, {"horizon", score.horizon},
                                {"ms_per_proposal", score.milliseconds_per_proposal},
                                {"foreseen_per_proposal", score.foreseen_per_proposal}, {"curve", curve}});
    }
    json["means"] = nlohmann::ordered_json::array();
    for (const StrategyMean& mean : means) {
      json["means"].push_back({{"strategy", mean.strategy}, {"spaces", mean.spaces}, {"P", to_json(mean.performance)},
                               {"evaluations_to_5_percent", or_null(mean.evaluations_to_5_percent)},
                               {"best_over_optimum", to_json(mean.best_over_optimum)}});
    }
    print_json(json);
    return;
  }
  TextTable table;
  table.header = {"space (budget)", "strategy", "P", "95 % interval", "to 5 %", "after 50", "100", "200", "500", "ms/proposal"};
  table.right = {false, false, true, true, true, true, true, true, true, true};
  std::string last;
  for (const StrategyScore& score : scores) {
    std::vector<std::string> row = {score.space == last ? "" : fmt::format("{} ({}{})", score.space, score.budget,
                                                                            score.budget < kLeastBudget ? ", not counted" : ""),
                                    score.strategy, fmt::format("{:.3f}", score.performance.value),
                                    fmt::format("{:.3f} .. {:.3f}", score.performance.low, score.performance.high),
                                    score.evaluations_to_5_percent ? fmt::format("{:.0f}", *score.evaluations_to_5_percent)
                                                                   : fmt::format("> {}", score.horizon)};
    for (const auto& [mark, ratio] : score.best_over_optimum) row.push_back(fmt::format("{:.3f}", ratio.value));
    row.push_back(fmt::format("{:.3f}", score.milliseconds_per_proposal));
    table.rows.push_back(std::move(row));
    last = score.space;
  }
  fmt::print("{}\n", terminal_text(table));
  if (means.empty()) return;
  TextTable mean_table;
  mean_table.header = {fmt::format("mean over {} spaces", means.front().spaces), "P", "95 % interval", "median to 5 %", "after 50", "100", "200", "500"};
  mean_table.right = {false, true, true, true, true, true, true, true};
  for (const StrategyMean& mean : means) {
    std::vector<std::string> row = {mean.strategy, fmt::format("{:.3f}", mean.performance.value),
                                    fmt::format("{:.3f} .. {:.3f}", mean.performance.low, mean.performance.high),
                                    mean.evaluations_to_5_percent ? fmt::format("{:.0f}", *mean.evaluations_to_5_percent) : "-"};
    for (const auto& [mark, ratio] : mean.best_over_optimum) row.push_back(fmt::format("{:.3f}", ratio.value));
    mean_table.rows.push_back(std::move(row));
  }
  fmt::print("{}P: 1 finds the optimum at once, 0 equals random search. to 5 %: median evaluations until within 5 % of the optimum. after N: "
             "mean of best over optimum after N evaluations. {} seeds.\n", terminal_text(mean_table), options.seeds);
}

std::vector<std::filesystem::path> recordings_of(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    const RecordingFolder folder = find_recordings(path);
    for (const auto& other : folder.others) fmt::print(stderr, "note: {} is no recording and is left out\n", other.string());
    files.insert(files.end(), folder.recordings.begin(), folder.recordings.end());
  }
  return files;
}

int run_replay(const Options& options, const Invocation& invocation) {
  const Interrupt interrupt;
  if (options.leave_gpu_out) {
    run_leave_gpu_out(recordings_of(options.paths), options.transfer_trials, options.json);
    return kDone;
  }
  const std::vector<std::string> strategies = chosen_strategies(options);
  const StrategySettings settings = parse_settings(options.settings);
  std::vector<std::unique_ptr<ScoredSpace>> spaces;
  for (const auto& file : recordings_of(options.paths)) {
    spaces.push_back(std::make_unique<ScoredSpace>(Recording::load(file)));
    const auto same = [&](const auto& earlier) { return earlier->name() == spaces.back()->name(); };
    if (std::any_of(spaces.begin(), spaces.end() - 1, same)) {
      throw InputError(fmt::format("{}: a recording of the name {} is given twice", file.string(), spaces.back()->name()));
    }
  }
  for (const std::string& name : strategies) make_strategy(name, spaces.front()->space(), 0, settings);  // a wrong setting is told at once
  std::ofstream html;
  if (!options.html.empty()) {
    html.open(options.html, std::ios::binary);
    if (!html) throw InputError(fmt::format("--html {}: cannot be written", options.html));
  }
  const Runs runs = run_all(spaces, strategies, options, settings);
  if (Interrupt::requested()) {
    fmt::print(stderr, "interrupted\n");
    return kFailed;
  }
  std::vector<StrategyScore> scores;
  for (std::size_t s = 0; s < spaces.size(); ++s) {
    for (std::size_t n = 0; n < strategies.size(); ++n) {
      scores.push_back(score_strategy(strategies[n], *spaces[s], runs[s][n]));
      if (options.budget > 0) scores.back().horizon = std::min(options.budget, spaces[s]->valid());
    }
  }
  const std::vector<StrategyMean> means = mean_scores(scores);
  if (html.is_open()) {
    html << replay_html(scores, means, invocation.command_line());
    html.close();
    if (!html) throw InputError(fmt::format("--html {}: could not be written to the end", options.html));
  }
  print_results(options, spaces, scores, means);
  return kDone;
}

}  // namespace

void add_replay(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("replay", "Score search strategies on recorded spaces");
  verb->add_option("recordings", options->paths, "NAME.json with NAME.csv[.gz], Kernel Tuner caches, T4, KTT output, or folders of them")->required();
  verb->add_option("--strategies", options->strategies, "Comma-separated (default: all but exhaustive)")->delimiter(',');
  verb->add_option("--seeds", options->seeds, "Runs of each strategy on each space")->check(CLI::Range(1, 100000))->capture_default_str();
  add_seed_option(*verb, options->first_seed, "The first seed; the others follow");
  verb->add_option("--budget", options->budget,
                   "Evaluations at most (default: the space's budget and at least 500; with fewer, what was found by then stands for the rest)")
      ->check(CLI::Range(1, 1'000'000'000));
  verb->add_option("--in-flight", options->in_flight, "Proposals that wait for their outcome at any time")
      ->check(CLI::Range(1, 1024))->capture_default_str();
  verb->add_option("--threads", options->threads, "Default: one for each core")->check(CLI::Range(1, 1024));
  verb->add_option("--set", options->settings, "A constant of a strategy, STRATEGY.NAME=NUMBER; repeatable")
      ->allow_extra_args(false)->type_name("SETTING");
  verb->add_flag("--no-foresight", options->no_foresight, "Recorded resources are not told before a configuration is evaluated");
  CLI::Option* leave = verb->add_flag("--leave-gpu-out", options->leave_gpu_out,
                                      "Instead: leave each GPU out in turn, and score what the others' recordings propose for it");
  verb->add_option("--trials", options->transfer_trials, "With --leave-gpu-out: trials on the GPU that was left out")
      ->needs(leave)->check(CLI::Range(1, 10000))->capture_default_str();
  for (const char* const other : {"--strategies", "--seeds", "--budget", "--in-flight", "--threads", "--set", "--no-foresight"}) {
    leave->excludes(verb->get_option(other));
  }
  verb->add_option("--html", options->html, "Write a page with tables and curves")->type_name("FILE")->excludes(leave);
  add_json_option(*verb, options->json);
  verb->footer("Example:  tunebook replay recorded --strategies auto,random --seeds 100\n"
               "Example:  tunebook replay recorded --leave-gpu-out");
  verb->callback([options, &invocation] { invocation.exit_code = run_replay(*options, invocation); });
}

}  // namespace tunebook::cli
