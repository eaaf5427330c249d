#include "session/tune.h"

#include <algorithm>
#include <deque>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/statistics.h"
#include "session/book_seeds.h"
#include "session/contenders.h"
#include "session/finalists.h"
#include "session/lookahead.h"
#include "session/ordered_outcomes.h"
#include "session/possible_time.h"
#include "session/search_limit.h"
#include "session/session_identity.h"
#include "session/session_lock.h"

namespace tunebook {
namespace {

using Clock = std::chrono::steady_clock;

// Before those of the numbered proposals.
constexpr std::int64_t kChangedStandingOrder = -1;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Messages are kept for the summary only: their first line, shortened, and not too many of them.
constexpr std::size_t kMessageLength = 200;
constexpr std::size_t kMessages = 100;

class TuneSession {
 public:
  TuneSession(const TuneSubject& subject, const SearchSpace& space, const TuneOptions& options, Executor& executor,
              Store& store, const TuneObserver& observer, Clock::time_point process_start)
      : subject_(subject), space_(space), options_(options), executor_(executor), store_(store), observer_(observer),
        process_start_(process_start),
        contenders_(options.finalists, options.objective, options.retime),
        search_limit_(options.time_limit_s, process_start, options.finalists, options.finalist_processes) {}

  TuneResult run() {
    open();
    if (result_.interrupted || result_.no_standing_winner) return std::move(result_);
    if (observer_.opened) observer_.opened(session_.id);
    if (session_.finished) return result_from_book();
    load_earlier_trials();
    strategy_ = make_strategy(options_.retime ? "exhaustive" : options_.strategy, space_, options_.seed);
    if (foresees()) lookahead_.emplace(*strategy_, space_, executor_);
    executor_.on_done([this](TrialRecord record) { finish_trial(std::move(record), false); });
    last_trial_end_ = first_pass_start_ = Clock::now();
    result_.clock.start = seconds_between(process_start_, first_pass_start_);

    propose_known();
    search();
    result_.clock.first_pass = seconds_between(first_pass_start_, last_trial_end_);
    result_.clock.idle = executor_.idle_seconds();
    if (!result_.interrupted) decide();
    close();
    return std::move(result_);
  }

 private:
  bool foresees() const { return options_.foresight && !options_.retime && executor_.foresees(); }

  void open() {
    const ExecutorIdentity& place = executor_.identity();
    context_ = {subject_.kernel, subject_.kernel_hash, subject_.kernel_spec, place.device,
                place.toolchain, place.method,         place.environment};
    possible_ = PossibleTime(options_.ceilings, workload_of(subject_.problem, subject_.flops, subject_.bytes), place.method, place.device);
    if (options_.sanitize) result_.sanitizer = executor_.sanitizer();
    SessionRecord proposed = proposed_session(subject_, space_, options_, result_.sanitizer.name);
    if (foresees()) proposed.identity["foresight"] = true;
    BookSeeds seeds;
    seeds.standing_winner = standing_configuration();
    result_.no_standing_winner = options_.retime && !seeds.standing_winner;
    if (result_.no_standing_winner) return;
    // What an earlier run of this session proposes is kept with it.
    const bool known = !anew() && store_.find_session(context_, proposed.identity);
    if (options_.from_book && !options_.retime && !known) seeds.others = seeds_from_book();
    proposed.standing_winner = seeds.to_text();
    take_session(proposed);
    result_.session_id = session_.id;
  }

  std::string objective() const { return std::string(objective_name(options_.objective)); }

  std::vector<BookSeed> seeds_from_book() const {
    const std::size_t limit =
        options_.predicted > 0
            ? static_cast<std::size_t>(std::min(options_.predicted, space_.size()))
            : predicted_trials(options_.budget.trial_limit(space_.size()));
    std::vector<Configuration> predicted;
    if (options_.adviser) predicted = options_.adviser(space_, limit);
    std::vector<Configuration> winners;
    if (options_.predicted == 0 || predicted.empty()) {
      winners = related_winners(store_, context_, subject_.problem, space_, objective(),
                                options_.sweep_start_utc);
    }
    return mixed_seeds(predicted, winners, limit);
  }

  // Nothing remains for the search, nor for the ladder of presets.
  bool follows_predictions_only() const {
    return options_.from_book && options_.predicted > 0 && options_.budget.trials &&
           *options_.budget.trials <= options_.predicted;
  }
  bool default_preset_only() const { return options_.retime || follows_predictions_only(); }

  // What a lookup would answer now, if the space has it.
  std::optional<Configuration> standing_configuration() const {
    const auto standing = store_.standing_winner(context_, subject_.problem, objective());
    return standing && declared(space_, standing->configuration) ? std::optional(standing->configuration) : std::nullopt;
  }

  // Whether trials of other sessions do not count.
  bool anew() const { return options_.remeasure || options_.retime; }

  // The session, for this process alone: the same command given twice at once measures once, and the second takes the answer from the
  // book, or goes on if the first ends early.
  void take_session(const SessionRecord& proposed) {
    for (;;) {
      session_ = store_.open_session(context_, proposed, anew(), options_.sweep_start_utc);
      if (session_.finished || (lock_ && locked_ == session_.id)) return;
      lock_.emplace(store_.path(), session_.id);
      locked_ = session_.id;
      wait_for_turn();
      if (result_.interrupted) return;
      // Looked at again: whoever had it may have finished it.
    }
  }

  void wait_for_turn() {
    constexpr std::chrono::milliseconds kPoll{100};
    bool told = false;
    while (const auto owner = lock_->other_owner()) {
      if (!std::exchange(told, true) && observer_.waiting) observer_.waiting(*owner);
      result_.interrupted = options_.stop_requested();
      if (result_.interrupted) return;
      executor_.run_until([] { return true; }, 0);  // its processes may have something to say
      std::this_thread::sleep_for(kPoll);
    }
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
    note_previous(session_.id);
    result_.baseline = store_.session_baseline(session_.id);
    note_winner_verification();
    result_.clock.start = seconds_between(process_start_, Clock::now());
    return std::move(result_);
  }

  // Measured anew, the book's trials do not count, but those of this session's interrupted runs do.
  void load_earlier_trials() {
    if (!anew()) return;
    for (TrialRecord& trial : store_.session_trials(session_.id)) earlier_.emplace(trial.configuration.canonical(), std::move(trial));
  }

  // Presets and the standing winner come first, outside the budget, and are never abandoned.
  void propose_known() {
    const BookSeeds seeds = BookSeeds::from_text(session_.standing_winner);
    // A session that is taken up again may meet a winner that did not stand yet when it began: no session may make the book worse. It
    // comes before the numbered proposals, and the strategy does not hear of it, so that the session is what it would have been.
    standing_ = standing_configuration();
    if (!standing_ && seeds.standing_winner && declared(space_, *seeds.standing_winner)) standing_ = seeds.standing_winner;
    if (standing_) contenders_.set_standing(*standing_);
    // `default` first: it serves everything, and a session that is cut early has it, and not the slowest rung of the ladder.
    for (const bool first : {true, false}) {
      for (const auto& [name, configuration] : subject_.presets) {
        if ((name == "default") == first && (first || !default_preset_only()))
          propose(configuration, "preset:" + name, false);
      }
    }
    if (seeds.standing_winner && declared(space_, *seeds.standing_winner)) propose(*seeds.standing_winner, "standing_winner", false);
    if (standing_ && standing_ != seeds.standing_winner && !tried_here(*standing_)) {
      submit(kChangedStandingOrder, *standing_, "standing_winner", false);
    }
    for (const BookSeed& seed : seeds.others) {
      const auto index =
          declared(space_, seed.configuration) ? space_.find(seed.configuration) : std::nullopt;
      if (index && !known_.contains(seed.configuration.canonical()))
        from_book_.push_back({*index, seed.predicted});
    }
    known_in_flight_ = in_flight_.size();
  }

  // Now, or in an earlier run of this session.
  bool tried_here(const Configuration& configuration) const {
    if (known_.contains(configuration.canonical())) return true;
    const std::vector<TrialRecord> trials = store_.session_trials(session_.id);
    return std::any_of(trials.begin(), trials.end(), [&](const TrialRecord& trial) { return trial.configuration == configuration; });
  }

  void search() {
    limit_ = options_.retime ? 0 : options_.budget.trial_limit(space_.size());
    start_budget_clock_if_due();
    fill();
    // The predicate runs after every event: tell, ask again, look at the clocks.
    while (!search_over()) {
      executor_.run_until([this] { start_budget_clock_if_due(); fill(); report("search"); return search_over(); }, seconds_left());
    }
    result_.interrupted = options_.stop_requested();
    result_.cut = !result_.interrupted && search_limit_.over() && !(in_flight_.empty() && budget_spent());
    if (result_.interrupted || result_.cut || budget_expired()) {
      executor_.cancel();
      in_flight_.clear();
    }
  }

  bool search_over() const {
    if (options_.stop_requested() || budget_expired() || search_limit_.over()) return true;
    return in_flight_.empty() && no_more_proposals();
  }

  bool no_more_proposals() const { return budget_spent() || search_limit_.over(); }

  bool budget_spent() const {
    return result_.proposals >= static_cast<std::int64_t>(limit_) || (strategy_->exhausted() && from_book_.empty()) || budget_expired() ||
           result_.ended_at_improvement;
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
    double left = search_limit_.left_s();
    if (options_.budget.seconds && budget_start_) left = std::min(left, budget_left());
    return std::clamp(left, 0.001, kPoll);
  }

  // Asks until enough proposals are in flight. Trials found in the book come back at once, which may allow more.
  void fill() {
    while (!no_more_proposals() && !options_.stop_requested()) {
      while (outcomes_.untold() >= executor_.proposals_in_flight()) {
        if (!outcomes_.tell_next(*strategy_)) return;
      }
      if (!from_book_.empty()) {
        const auto [index, predicted] = from_book_.front();
        from_book_.pop_front();
        strategy_->exclude(index);
        ++result_.from_book_trials;
        result_.predicted_trials += predicted ? 1 : 0;
        propose_counted(index, predicted ? "predicted" : "from_book");
        continue;
      }
      const std::vector<std::uint64_t> asked = strategy_->ask(1);
      if (asked.empty()) {
        if (outcomes_.tell_next(*strategy_)) continue;
        if (lookahead_) lookahead_->look();
        return;
      }
      note_expected_improvement();
      propose_counted(asked.front(), "strategy");
    }
    if (no_more_proposals() && !closing_) {
      closing_ = true;
      executor_.closing();
    }
  }

  void propose_counted(std::uint64_t index, const std::string& origin) {
    ++result_.proposals;
    outcomes_.expect(next_order_, index);
    propose(space_.configuration(index), origin, true);
  }

  void note_expected_improvement() {
    if (!options_.budget.automatic) return;
    const std::optional<double> improvement = strategy_->expected_improvement();
    little_expected_ = improvement && *improvement < Budget::kAutoImprovement ? little_expected_ + 1 : 0;
    if (little_expected_ >= Budget::kAutoPatience && !result_.ended_at_improvement) result_.ended_at_improvement = improvement;
  }

  void propose(const Configuration& configuration, const std::string& origin, bool from_strategy) {
    const std::int64_t order = next_order_++;
    if (!from_strategy) {
      if (!known_.insert(configuration.canonical()).second) return;  // two presets may be one configuration
      // The strategy learns from them, too.
      if (const auto index = space_.find(configuration)) {
        strategy_->exclude(*index);
        outcomes_.expect(order, *index);
      }
    }
    submit(order, configuration, origin, from_strategy);
  }

  // Takes the answer from the book, or has it measured.
  void submit(std::int64_t order, const Configuration& configuration, const std::string& origin, bool from_strategy) {
    in_flight_.emplace(order, from_strategy);
    if (auto known = known_trial(order, configuration.canonical(), configuration)) {
      known->order = order;
      known->origin = origin;
      known->reused = true;
      possible_.refuse(*known);
      store_.record_trial(session_.id, context_, subject_.problem, *known);  // nothing, if it is this session's own
      finish_trial(std::move(*known), true);
      return;
    }
    executor_.submit({order, origin, configuration, from_strategy && may_abandon()});
  }

  std::optional<TrialRecord> known_trial(std::int64_t order, const std::string& key, const Configuration& configuration) const {
    if (anew()) {
      const auto earlier = earlier_.find(key);
      return earlier == earlier_.end() ? std::nullopt : std::optional<TrialRecord>(earlier->second);
    }
    auto trial = store_.find_trial(context_, subject_.problem, configuration);
    if (!trial || answers_here(*trial) || store_.has_proposal(session_.id, order, configuration)) return trial;
    return std::nullopt;
  }

  // A slow configuration may well be a frugal one.
  bool may_abandon() const { return options_.objective == Objective::time; }

  // What another session found may depend on what it compared with, and on the time it gave.
  bool answers_here(const TrialRecord& trial) const {
    switch (trial.outcome) {
      case Outcome::abandoned: return may_abandon() && best_us_ && trial.ci_low_us && *trial.ci_low_us > *best_us_ * kAbandonMultiple;
      case Outcome::run_timeout: return trial.verify_seconds + trial.time_seconds >= options_.run_timeout_s;
      case Outcome::compile_timeout: return trial.compile_seconds >= options_.compile_timeout_s;
      // Times alone were measured when time was the objective.
      case Outcome::ok: return objective_value(trial, options_.objective).has_value();
      // Only an impossible time leaves a time with it; the device may have been calibrated anew.
      case Outcome::wrong_result: return !trial.median_us || !possible_.violation(*trial.median_us).empty();
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
      possible_.refuse(record);
      store_.record_trial(session_.id, context_, subject_.problem, record);
      ++result_.measured;
    }
    if (from_book && from_strategy) known_trial_seconds_ += record.verify_seconds + record.time_seconds;
    last_trial_end_ = Clock::now();
    count(record);
    search_limit_.observe(record);
    tell(record);
    // A configuration outside the session's space (a preset that --where excludes) is measured, but neither wins nor sets the mark.
    const bool eligible =
        record.outcome == Outcome::ok && objective_value(record, options_.objective) && space_.find(record.configuration);
    if (eligible && (!best_us_ || *record.median_us < *best_us_)) {
      best_us_ = record.median_us;
      executor_.set_best(*best_us_);
    }
    if (observer_.trial) observer_.trial(record);
    report(known_in_flight_ > 0 ? "presets" : "search");
    if (eligible) contenders_.keep(std::move(record));
  }

  void tell(const TrialRecord& record) {
    Observation observation;
    observation.outcome = record.outcome;
    if (has_time(record.outcome)) observation.value = objective_value(record, options_.objective);
    outcomes_.add(record.order, observation);
  }

  void count(const TrialRecord& record) {
    ++result_.outcomes[record.outcome];
    if (!record.reused) {
      result_.clock.compile += record.compile_seconds;
      result_.clock.verify += record.verify_seconds;
      result_.clock.time += record.time_seconds;
    }
    if (!has_time(record.outcome)) count_failure(record);
    for (const auto& [name, configuration] : subject_.presets) {
      if (configuration == record.configuration) result_.presets.push_back({name, record});
    }
  }

  void count_failure(const TrialRecord& record) {
    std::string message = std::string(outcome_name(record.outcome)) + ": " + record.message.substr(0, record.message.find('\n'));
    message.resize(std::min(message.size(), kMessageLength));
    if (result_.failure_messages.size() < kMessages || result_.failure_messages.contains(message)) ++result_.failure_messages[message];
  }

  void decide() {
    const Clock::time_point start = Clock::now();
    sanitize_finalists();
    if (options_.stop_requested()) {
      result_.interrupted = true;
      return;
    }
    report("finalists");
    const std::vector<TrialRecord> chosen = contenders_.chosen();
    if (chosen.empty()) return;  // with a count of 0, the best still is one
    winner_session_ = result_.cut ? open_finalists_session(chosen) : session_.id;
    if (winner_session_.empty()) return;
    std::vector<Finalist> finalists;
    if (options_.finalists > 0) {
      std::vector<Configuration> configurations;
      for (const TrialRecord& trial : chosen) configurations.push_back(trial.configuration);
      FinalistPlan plan = finalist_plan(subject_, options_);
      // A winner of fewer processes, within the time, is worth more than none: who gave the limit may end this process when it is over.
      if (options_.time_limit_s > 0) plan.seconds = std::max(0.0, options_.time_limit_s - seconds_between(process_start_, Clock::now()));
      finalists = executor_.time_finalists(configurations, plan);
    } else {
      Finalist only{chosen.front().configuration, {*chosen.front().median_us}};
      if (chosen.front().energy_j) only.process_energies_j = {*chosen.front().energy_j};
      finalists.push_back(std::move(only));
    }
    if (options_.stop_requested()) {
      result_.interrupted = true;
      return;
    }
    note_baseline();
    refuse_impossible(finalists, chosen);
    result_.winner = decide_winner(finalists, chosen, options_.objective);
    if (result_.winner && options_.retime && standing_) keep_if_tied(*result_.winner, *standing_);
    note_previous(winner_session_);
    if (result_.winner) {
      result_.winner->session_id = winner_session_;
      note_sanitizer(*result_.winner);
      const double seconds = result_.winner->median_us * 1e-6;
      // Declared to be 0 (transpose), there is no rate to speak of.
      if (subject_.flops && *subject_.flops > 0) result_.winner->gflops = *subject_.flops / seconds * 1e-9;
      if (subject_.bytes && *subject_.bytes > 0) result_.winner->gbps = *subject_.bytes / seconds * 1e-9;
      store_.record_winner(context_, subject_.problem, *result_.winner);
      note_winner_verification();
    }
    result_.clock.finalists = seconds_between(start, Clock::now());
  }

  void note_baseline() {
    if (!times_baseline(subject_, options_)) return;
    result_.baseline = executor_.baseline();
    if (!result_.baseline) return;
    BaselineRecord& baseline = *result_.baseline;
    baseline.method = context_.method;
    if (!baseline.process_medians_us.empty()) {
      const Interval interval = median_interval(baseline.process_medians_us);
      baseline.median_us = median(baseline.process_medians_us);
      baseline.ci_low_us = interval.low;
      baseline.ci_high_us = interval.high;
    }
    store_.record_baseline(winner_session_, baseline);
  }

  // Of a search that was cut: with copies of the trials that it chooses from. "" if the book has it already, which is then the answer.
  std::string open_finalists_session(const std::vector<TrialRecord>& chosen) {
    const SessionRecord opened = store_.open_session(context_, finalists_session(session_, next_order_), false);
    if (opened.finished) {
      result_.winner = store_.session_winner(opened.id);
      note_previous(opened.id);
      note_winner_verification();
      return "";
    }
    for (TrialRecord trial : chosen) {
      trial.reused = true;
      store_.record_trial(opened.id, context_, subject_.problem, trial);
    }
    return opened.id;
  }

  void note_previous(const std::string& winner_session) {
    result_.previous = store_.previous_winner(context_, subject_.problem, objective(), {session_.id, winner_session});
  }

  // A kernel that the sanitizer finds fault with is no finalist, and the next one takes its place.
  void sanitize_finalists() {
    while (!result_.sanitizer.name.empty() && !options_.stop_requested()) {
      std::vector<Configuration> unknown;
      for (const TrialRecord& trial : contenders_.chosen()) {
        if (verdict_of(trial.configuration) == nullptr) unknown.push_back(trial.configuration);
      }
      if (unknown.empty()) return;
      report("sanitizer");
      for (SanitizerVerdict& verdict : executor_.sanitize(unknown, [this] { return options_.stop_requested(); })) {
        if (!verdict.finding.empty()) contenders_.reject(verdict.configuration);
        result_.sanitized.push_back(std::move(verdict));
      }
    }
  }

  const SanitizerVerdict* verdict_of(const Configuration& configuration) const {
    const auto found = std::find_if(result_.sanitized.begin(), result_.sanitized.end(),
                                    [&](const SanitizerVerdict& verdict) { return verdict.configuration == configuration; });
    return found == result_.sanitized.end() ? nullptr : &*found;
  }

  // What the sanitizer said goes into the book with the finalists; those that it kept out come last, with the time of their trial.
  void note_sanitizer(WinnerRecord& winner) const {
    const auto text = [&](const Configuration& configuration) -> std::string {
      const SanitizerVerdict* verdict = verdict_of(configuration);
      if (verdict == nullptr) return "";
      return verdict->clean ? "clean" : verdict->finding;
    };
    for (FinalistRecord& finalist : winner.finalists) finalist.sanitizer = text(finalist.configuration);
    for (const TrialRecord& trial : contenders_.rejected()) {
      FinalistRecord record;
      record.configuration = trial.configuration;
      record.median_us = *trial.median_us;
      record.ci_low_us = trial.ci_low_us.value_or(*trial.median_us);
      record.ci_high_us = trial.ci_high_us.value_or(*trial.median_us);
      record.sanitizer = text(trial.configuration);
      winner.finalists.push_back(std::move(record));
    }
  }

  // A finalist whose time in fresh processes is below the floor is none, and its trial is wrong_result.
  void refuse_impossible(std::vector<Finalist>& finalists, const std::vector<TrialRecord>& chosen) {
    std::erase_if(finalists, [&](const Finalist& finalist) {
      if (finalist.process_medians_us.empty()) return false;
      const auto trial = std::find_if(chosen.begin(), chosen.end(),
                                      [&](const TrialRecord& record) { return record.configuration == finalist.configuration; });
      if (trial == chosen.end()) return false;
      TrialRecord again = measured_again(*trial, finalist);
      if (!possible_.refuse(again)) return false;
      store_.record_trial(session_.id, context_, subject_.problem, again);
      if (--result_.outcomes[trial->outcome] == 0) result_.outcomes.erase(trial->outcome);
      ++result_.outcomes[again.outcome];
      count_failure(again);
      for (PresetResult& preset : result_.presets) {
        if (preset.trial.configuration == again.configuration) preset.trial = again;
      }
      return true;
    });
  }

  void note_winner_verification() {
    if (!result_.winner) return;
    if (const auto trial = store_.find_trial(context_, subject_.problem, result_.winner->configuration)) {
      result_.winner_verified_problems = trial->verified_problems;
      result_.winner_skipped_problems = trial->skipped_problems;
    }
  }

  void close() {
    const double wall = seconds_between(process_start_, Clock::now());
    if (result_.interrupted || result_.cut) {
      store_.add_wall_seconds(session_.id, wall - result_.clock.finalists);
      if (!result_.interrupted && !winner_session_.empty()) store_.finish_session(winner_session_, result_.clock.finalists);
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

  const TuneSubject& subject_;
  const SearchSpace& space_;
  const TuneOptions& options_;
  Executor& executor_;
  Store& store_;
  const TuneObserver& observer_;
  Clock::time_point process_start_;
  Contenders contenders_;
  SearchLimit search_limit_;

  TrialContext context_;
  SessionRecord session_;
  PossibleTime possible_;
  std::optional<SessionLock> lock_;
  std::string locked_;                                     // the id of the session that it is for
  std::string winner_session_;                             // where the winner goes: this session, or that of its finalists
  std::unique_ptr<Strategy> strategy_;
  std::optional<Lookahead> lookahead_;
  std::unordered_map<std::string, TrialRecord> earlier_;   // --remeasure: of the interrupted runs of this session
  std::unordered_set<std::string> known_;                  // presets and standing winner, canonical
  std::unordered_map<std::int64_t, bool> in_flight_;       // order -> from the strategy
  std::size_t known_in_flight_ = 0;
  OrderedOutcomes outcomes_;
  std::optional<Configuration> standing_;                  // what stands in the book now
  std::int64_t next_order_ = 0;
  std::uint64_t limit_ = 0;
  bool closing_ = false;
  struct FromBook {
    std::uint64_t index = 0;
    bool predicted = false;
  };
  std::deque<FromBook> from_book_;  // to be proposed before the strategy is asked
  int little_expected_ = 0;                                // proposals in a row of little expected improvement
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
