#include "session/tune.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "session/finalists.h"

namespace tunebook {
namespace {

using Clock = std::chrono::steady_clock;

// Proposals asked for and not yet told. A constant, not the number of cores: a strategy's choices depend on what it knew when
// asked, and the same seed must give the same session on every machine.
constexpr std::size_t kProposalsInFlight = 64;
// Fastest trials kept in memory with their whole record; finalists come from them.
constexpr std::size_t kKeptTrials = 64;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

nlohmann::json session_identity(const TuneSubject& subject, const SearchSpace& space, const TuneOptions& options) {
  return {{"problem", nlohmann::json::parse(subject.problem.canonical())},
          {"space", {{"valid", space.size()}, {"where", options.where}}},
          {"strategy", options.strategy},
          {"seed", options.seed},
          {"budget", options.budget.text},
          {"timeouts_s", {options.run_timeout_s, options.compile_timeout_s}},
          {"finalists", {options.finalists, options.finalist_processes}}};
}

// Values from a book are used only if the template at hand declares them.
bool declared(const SearchSpace& space, const Configuration& configuration) {
  const std::vector<Parameter>& parameters = space.parameters();
  return configuration.items().size() == parameters.size() &&
         std::all_of(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
           const Value* value = configuration.find(parameter.name);
           return value != nullptr && std::find(parameter.values.begin(), parameter.values.end(), *value) != parameter.values.end();
         });
}

// Messages are kept for the summary only: their first line, shortened, and not too many of them.
constexpr std::size_t kMessageLength = 200;
constexpr std::size_t kMessages = 100;

class TuneSession {
 public:
  TuneSession(const TuneSubject& subject, const SearchSpace& space, const TuneOptions& options, Executor& executor,
              Store& store, const TuneObserver& observer, Clock::time_point process_start)
      : subject_(subject), space_(space), options_(options), executor_(executor), store_(store), observer_(observer),
        process_start_(process_start) {}

  TuneResult run() {
    open();
    if (session_.finished) return result_from_book();
    load_earlier_trials();
    strategy_ = make_strategy(options_.strategy, space_, options_.seed);
    executor_.on_done([this](TrialRecord record) { finish_trial(std::move(record), false); });
    last_trial_end_ = first_pass_start_ = Clock::now();
    result_.clock.start = seconds_between(process_start_, first_pass_start_);

    propose_known();
    search();
    result_.clock.first_pass = seconds_between(first_pass_start_, last_trial_end_);
    if (!result_.interrupted) decide();
    close();
    return std::move(result_);
  }

 private:
  void open() {
    const ExecutorIdentity& place = executor_.identity();
    context_ = {subject_.kernel, subject_.kernel_hash, subject_.kernel_spec, place.device,
                place.toolchain, place.method,         place.environment};
    SessionRecord proposed;
    proposed.problem = subject_.problem;
    proposed.strategy = options_.strategy;
    proposed.seed = options_.seed;
    proposed.budget = options_.budget.text;
    proposed.where = options_.where;
    proposed.identity = session_identity(subject_, space_, options_);
    const auto standing = store_.standing_winner(context_, subject_.problem);
    if (standing && declared(space_, standing->configuration)) {
      proposed.standing_winner = standing->configuration.canonical();
    }
    session_ = store_.open_session(context_, proposed, options_.remeasure);
    result_.session_id = session_.id;
  }

  // A finished session of equal identity: its own trials and winner are the result, nothing runs.
  TuneResult result_from_book() {
    result_.from_book = true;
    for (const auto& [outcome, trials] : store_.session_outcomes(session_.id)) result_.outcomes[outcome] = trials;
    for (const auto& [name, configuration] : subject_.presets) {
      if (auto trial = store_.find_trial(context_, subject_.problem, configuration)) {
        result_.presets.push_back({name, std::move(*trial)});
      }
    }
    result_.winner = store_.session_winner(session_.id);
    note_winner_verification();
    result_.clock.start = seconds_between(process_start_, Clock::now());
    return std::move(result_);
  }

  // With --remeasure the book's trials do not count, but those of this session's interrupted runs do.
  void load_earlier_trials() {
    if (!options_.remeasure) return;
    for (TrialRecord& trial : store_.session_trials(session_.id)) {
      std::string key = trial.configuration.canonical();
      earlier_.emplace(std::move(key), std::move(trial));
    }
  }

  // Presets and the standing winner come first, outside the budget, and are never abandoned.
  void propose_known() {
    for (const auto& [name, configuration] : subject_.presets) propose(configuration, "preset:" + name, false);
    if (!session_.standing_winner.empty()) {
      const auto standing = Configuration::from_json(nlohmann::ordered_json::parse(session_.standing_winner), "standing winner");
      if (declared(space_, standing)) propose(standing, "standing_winner", false);
    }
    known_in_flight_ = in_flight_.size();
  }

  void search() {
    limit_ = options_.budget.trial_limit(space_.size());
    start_budget_clock_if_due();
    fill();
    // The predicate runs after every event: tell, ask again, look at the clocks.
    while (!search_over()) {
      executor_.run_until([this] { start_budget_clock_if_due(); fill(); report("search"); return search_over(); }, seconds_left());
    }
    result_.interrupted = options_.stop_requested();
    if (result_.interrupted || budget_expired()) {
      executor_.cancel();
      in_flight_.clear();
    }
  }

  bool search_over() const {
    if (options_.stop_requested() || budget_expired()) return true;
    return in_flight_.empty() && no_more_proposals();
  }

  bool no_more_proposals() const {
    return result_.proposals >= static_cast<std::int64_t>(limit_) || strategy_->exhausted() || budget_expired();
  }

  // A time budget starts when the presets are through.
  void start_budget_clock_if_due() {
    if (known_in_flight_ == 0 && !budget_start_) budget_start_ = Clock::now();
  }
  bool budget_expired() const {
    return options_.budget.seconds && budget_start_ && budget_left() <= 0;
  }
  // Known trials count with the time that they took on the device: a session that is taken up again goes on with the rest.
  double budget_left() const {
    return *options_.budget.seconds - known_trial_seconds_ - seconds_between(*budget_start_, Clock::now());
  }
  // Wakes run_until() often enough to notice Ctrl-C and the deadline.
  double seconds_left() const {
    constexpr double kPoll = 0.2;
    if (!options_.budget.seconds || !budget_start_) return kPoll;
    return std::clamp(budget_left(), 0.001, kPoll);
  }

  // Asks until enough proposals are in flight. Trials found in the book come back at once, which may allow more.
  void fill() {
    while (!no_more_proposals() && !options_.stop_requested()) {
      if (untold_.size() >= kProposalsInFlight) return;
      const std::vector<std::uint64_t> asked = strategy_->ask(1);
      if (asked.empty()) return;
      ++result_.proposals;
      untold_.push_back({next_order_, asked.front(), std::nullopt});
      propose(space_.configuration(asked.front()), "strategy", true);
    }
    if (no_more_proposals() && !closing_) {
      closing_ = true;
      executor_.closing();
    }
  }

  void propose(const Configuration& configuration, const std::string& origin, bool from_strategy) {
    const std::int64_t order = next_order_++;
    std::string key = configuration.canonical();
    if (!from_strategy) {
      if (const auto index = space_.find(configuration)) strategy_->exclude(*index);
      if (!known_.insert(key).second) return;  // two presets may be one configuration
    }
    in_flight_.emplace(order, from_strategy);
    if (auto known = known_trial(order, key, configuration)) {
      known->order = order;
      known->origin = origin;
      known->reused = true;
      store_.record_trial(session_.id, context_, subject_.problem, *known);  // nothing, if it is this session's own
      finish_trial(std::move(*known), true);
      return;
    }
    executor_.submit({order, origin, configuration, from_strategy});
  }

  std::optional<TrialRecord> known_trial(std::int64_t order, const std::string& key, const Configuration& configuration) const {
    if (options_.remeasure) {
      const auto earlier = earlier_.find(key);
      return earlier == earlier_.end() ? std::nullopt : std::optional<TrialRecord>(earlier->second);
    }
    auto trial = store_.find_trial(context_, subject_.problem, configuration);
    if (!trial || answers_here(*trial) || store_.has_proposal(session_.id, order, configuration)) return trial;
    return std::nullopt;
  }

  // What another session found may depend on what it compared with, and on the time it gave.
  bool answers_here(const TrialRecord& trial) const {
    switch (trial.outcome) {
      case Outcome::abandoned: return best_us_ && trial.ci_low_us && *trial.ci_low_us > *best_us_ * kAbandonMultiple;
      case Outcome::run_timeout: return trial.verify_seconds + trial.time_seconds >= options_.run_timeout_s;
      case Outcome::compile_timeout: return trial.compile_seconds >= options_.compile_timeout_s;
      default: return true;
    }
  }

  void finish_trial(TrialRecord record, bool from_book) {
    const auto flight = in_flight_.find(record.order);
    if (flight == in_flight_.end()) return;
    const bool from_strategy = flight->second;
    in_flight_.erase(flight);
    if (!from_strategy && known_in_flight_ > 0) --known_in_flight_;
    if (!from_book) {
      store_.record_trial(session_.id, context_, subject_.problem, record);
      ++result_.measured;
    }
    if (from_book && from_strategy) known_trial_seconds_ += record.verify_seconds + record.time_seconds;
    last_trial_end_ = Clock::now();
    count(record);
    if (from_strategy) tell(record);
    // A configuration outside the session's space (a preset that --where excludes) is measured, but neither wins nor sets the mark.
    const bool eligible = record.outcome == Outcome::ok && record.median_us && space_.find(record.configuration);
    if (eligible && (!best_us_ || *record.median_us < *best_us_)) {
      best_us_ = record.median_us;
      executor_.set_best(*best_us_);
    }
    if (observer_.trial) observer_.trial(record);
    report(known_in_flight_ > 0 ? "presets" : "search");
    if (eligible) keep(std::move(record));
  }

  // Outcomes reach the strategy in the order of its proposals, whatever finished first.
  void tell(const TrialRecord& record) {
    const auto waiting = std::find_if(untold_.begin(), untold_.end(),
                                      [&](const Untold& untold) { return untold.order == record.order; });
    if (waiting == untold_.end()) return;
    Observation observation;
    observation.outcome = record.outcome;
    if (has_time(record.outcome)) observation.time_us = record.median_us;
    waiting->observation = observation;
    std::size_t told = 0;
    while (told < untold_.size() && untold_[told].observation) {
      strategy_->tell(untold_[told].index, *untold_[told].observation);
      ++told;
    }
    untold_.erase(untold_.begin(), untold_.begin() + static_cast<std::ptrdiff_t>(told));
  }

  void count(const TrialRecord& record) {
    ++result_.outcomes[record.outcome];
    if (!record.reused) {
      result_.clock.compile += record.compile_seconds;
      result_.clock.verify += record.verify_seconds;
      result_.clock.time += record.time_seconds;
    }
    if (!has_time(record.outcome)) {
      std::string message = std::string(outcome_name(record.outcome)) + ": " + record.message.substr(0, record.message.find('\n'));
      message.resize(std::min(message.size(), kMessageLength));
      if (result_.failure_messages.size() < kMessages || result_.failure_messages.contains(message)) ++result_.failure_messages[message];
    }
    for (const auto& [name, configuration] : subject_.presets) {
      if (configuration == record.configuration) result_.presets.push_back({name, record});
    }
  }

  void keep(TrialRecord record) {
    fastest_.push_back(std::move(record));
    if (fastest_.size() > 2 * kKeptTrials) fastest_ = choose_finalists(fastest_, kKeptTrials);
  }

  void decide() {
    const Clock::time_point start = Clock::now();
    report("finalists");
    const std::vector<TrialRecord> chosen = choose_finalists(fastest_, std::max(options_.finalists, 1));
    if (chosen.empty()) return;
    std::vector<Finalist> finalists;
    if (options_.finalists > 0) {
      std::vector<Configuration> configurations;
      for (const TrialRecord& trial : chosen) configurations.push_back(trial.configuration);
      finalists = executor_.time_finalists(configurations, options_.finalist_processes,
                                           [this] { return options_.stop_requested(); });
    } else {
      finalists.push_back({chosen.front().configuration, {*chosen.front().median_us}});
    }
    if (options_.stop_requested()) {
      result_.interrupted = true;
      return;
    }
    result_.winner = decide_winner(finalists, chosen);
    if (result_.winner) {
      result_.winner->session_id = session_.id;
      const double seconds = result_.winner->median_us * 1e-6;
      if (subject_.flops) result_.winner->gflops = *subject_.flops / seconds * 1e-9;
      if (subject_.bytes) result_.winner->gbps = *subject_.bytes / seconds * 1e-9;
      store_.record_winner(context_, subject_.problem, *result_.winner);
      note_winner_verification();
    }
    result_.clock.finalists = seconds_between(start, Clock::now());
  }

  void note_winner_verification() {
    if (!result_.winner) return;
    if (const auto trial = store_.find_trial(context_, subject_.problem, result_.winner->configuration)) {
      result_.winner_verified_problems = trial->verified_problems;
    }
  }

  void close() {
    const double wall = seconds_between(process_start_, Clock::now());
    if (result_.interrupted) {
      store_.add_wall_seconds(session_.id, wall);
    } else {
      store_.finish_session(session_.id, wall);
    }
  }

  void report(const std::string& step) {
    if (!observer_.progress) return;
    TuneObserver::Progress progress;
    for (const auto& [outcome, trials] : result_.outcomes) {
      progress.done += trials;
      if (!has_time(outcome)) progress.failed += trials;
    }
    const std::uint64_t proposals = std::min<std::uint64_t>(limit_, space_.size());
    progress.total = static_cast<std::int64_t>(known_.size() + proposals);
    progress.best_us = best_us_;
    progress.step = step;
    const double elapsed = seconds_between(first_pass_start_, Clock::now());
    if (options_.budget.seconds && budget_start_) {
      progress.remaining_seconds = std::max(0.0, budget_left());
    } else if (result_.measured > 0 && progress.done > 0) {
      progress.remaining_seconds = elapsed / static_cast<double>(progress.done) *
                                   static_cast<double>(std::max<std::int64_t>(0, progress.total - progress.done));
    }
    observer_.progress(progress);
  }

  struct Untold {
    std::int64_t order;
    std::uint64_t index;
    std::optional<Observation> observation;
  };

  const TuneSubject& subject_;
  const SearchSpace& space_;
  const TuneOptions& options_;
  Executor& executor_;
  Store& store_;
  const TuneObserver& observer_;
  Clock::time_point process_start_;

  TrialContext context_;
  SessionRecord session_;
  std::unique_ptr<Strategy> strategy_;
  std::unordered_map<std::string, TrialRecord> earlier_;   // --remeasure: of the interrupted runs of this session
  std::unordered_set<std::string> known_;                  // presets and standing winner, canonical
  std::unordered_map<std::int64_t, bool> in_flight_;       // order -> from the strategy
  std::size_t known_in_flight_ = 0;
  std::vector<Untold> untold_;
  std::vector<TrialRecord> fastest_;
  std::int64_t next_order_ = 0;
  std::uint64_t limit_ = 0;
  bool closing_ = false;
  std::optional<double> best_us_;
  std::optional<Clock::time_point> budget_start_;
  Clock::time_point first_pass_start_;
  Clock::time_point last_trial_end_;
  double known_trial_seconds_ = 0;
  TuneResult result_;
};

}  // namespace

TuneResult tune(const TuneSubject& subject, const SearchSpace& space, const TuneOptions& options, Executor& executor,
                Store& store, const TuneObserver& observer, std::chrono::steady_clock::time_point process_start) {
  return TuneSession(subject, space, options, executor, store, observer, process_start).run();
}

}  // namespace tunebook
