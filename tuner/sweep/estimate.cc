#include "sweep/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/statistics.h"
#include "search/strategy.h"
#include "tunebook/lookup.h"

namespace tunebook {
namespace {

// Trials of a session outside its budget: presets, the standing winner.
constexpr double kKnownTrials = 4;
// Where nothing tells the size of a space, and where --budget auto ends.
constexpr double kGuessedSpace = 1000;
constexpr double kGuessedAutoTrials = 200;
// What is left to do of a session that is all but finished: its finalists at least.
constexpr double kLeastLeft = 0.05;

std::string device_kind(const std::string& device) { return device.substr(0, device.find(':')); }

bool tells_cost(const SessionSummary& session) { return session.finished && is_search(session) && session.trials > 0 && session.wall_seconds > 0; }

std::string count_text(std::size_t count, const char* what) { return fmt::format("{} session{} {}", count, count == 1 ? "" : "s", what); }

double seconds_per_trial(const SessionSummary& session) { return session.wall_seconds / static_cast<double>(session.trials); }

// The nearest to `problem`, the newer of two that are as near.
std::vector<const SessionSummary*> nearest(std::vector<const SessionSummary*> sessions, const Problem& problem, std::size_t count) {
  std::vector<std::pair<double, const SessionSummary*>> ranked;
  for (auto newest = sessions.rbegin(); newest != sessions.rend(); ++newest) ranked.emplace_back(problem_distance(problem, (*newest)->problem), *newest);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  if (ranked.size() > count) ranked.resize(count);
  sessions.clear();
  for (const auto& [distance, session] : ranked) sessions.push_back(session);
  return sessions;
}


}  // namespace

CostDefaults cost_defaults(const std::string& kind) {
  if (kind == "replay") return {0.0005, 0.05};
  if (kind == "cpu") return {0.5, 15};
  return {0.15, 8};
}

double problem_distance(const Problem& x, const Problem& y) {
  if (x.items().size() != y.items().size()) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const auto& [name, value] : x.items()) {
    const Value* other = y.find(name);
    if (other == nullptr) return std::numeric_limits<double>::infinity();
    const auto* a = std::get_if<std::int64_t>(&value);
    const auto* b = std::get_if<std::int64_t>(other);
    if (a != nullptr && b != nullptr && *a > 0 && *b > 0) {
      const double difference = std::log2(static_cast<double>(*a)) - std::log2(static_cast<double>(*b));
      sum += difference * difference;
    } else if (!(*other == value)) {
      return std::numeric_limits<double>::infinity();
    }
  }
  return std::sqrt(sum);
}

double worth(const SweepItem& item, const Estimate& estimate) {
  constexpr double kLeastSeconds = 1e-3;
  return item.settings.priority * estimate.gain / std::max(kLeastSeconds, estimate.seconds);
}

Estimator::Estimator(const SessionHistory& history, const SessionIndex& index) : index_(index) {
  for (auto session = history.sessions.rbegin(); session != history.sessions.rend(); ++session) {
    if (tells_cost(*session)) {
      if (auto& searches = searches_[session->device_key]; searches.size() < kNearest) searches.push_back(&*session);
    } else if (session->finished && !is_search(*session) && session->wall_seconds > 0) {
      for (const std::string& key : {session->device_key, session->device_key + '\n' + session->kernel}) {
        if (auto& timings = timings_[key]; timings.size() < kConsidered) timings.push_back(session->wall_seconds);
      }
    }
  }
}

// Oldest first.
std::vector<const SessionSummary*> Estimator::searches_of(const std::string& kernel) const {
  std::vector<const SessionSummary*> searches;
  const SessionIndex::List& sessions = index_.of_kernel(kernel);
  for (auto session = sessions.rbegin(); session != sessions.rend() && searches.size() < kConsidered; ++session) {
    if (is_search(**session)) searches.push_back(*session);
  }
  std::reverse(searches.begin(), searches.end());
  return searches;
}

double Estimator::expected_trials(const SweepItem& item, std::optional<std::uint64_t> space_size) const {
  const Budget budget = Budget::parse(item.settings.budget);
  if (budget.automatic || (budget.share && !space_size)) {
    // What such a budget came to before.
    std::vector<double> trials;
    for (const SessionSummary* session : searches_of(item.kernel)) {
      if (tells_cost(*session) && session->budget == item.settings.budget) trials.push_back(static_cast<double>(session->trials));
    }
    if (!trials.empty()) return median(trials);
    return kKnownTrials + (budget.automatic ? kGuessedAutoTrials : *budget.share * kGuessedSpace);
  }
  const double size = space_size ? static_cast<double>(*space_size) : std::numeric_limits<double>::infinity();
  const double asked = budget.trials ? static_cast<double>(*budget.trials) : *budget.share * size;
  return kKnownTrials + std::min(asked, size);
}

Estimate Estimator::search_seconds(const SweepItem& item, const ItemContext& context, std::optional<std::uint64_t> space_size) const {
  const std::string kind = device_kind(item.device);
  const CostDefaults defaults = cost_defaults(kind);
  std::vector<double> own;
  std::vector<const SessionSummary*> here, same_kind;
  for (const SessionSummary* session : searches_of(item.kernel)) {
    if (!tells_cost(*session)) continue;
    if (session->device_key == context.device_key) here.push_back(session);
    if (session->device.kind == kind) same_kind.push_back(session);
  }
  for (const SessionSummary* session : index_.of(item.kernel, item.problem, context.device_key)) {
    if (tells_cost(*session) && session->strategy == item.settings.strategy && session->budget == item.settings.budget) own.push_back(session->wall_seconds);
  }
  if (!own.empty()) return {median(own), 0, count_text(own.size(), "of this kind before")};
  const Budget budget = Budget::parse(item.settings.budget);
  if (budget.seconds) return {*budget.seconds + defaults.around_s, 0, "the budget's time"};
  const double trials = expected_trials(item, space_size);
  const auto from = [&](const std::vector<const SessionSummary*>& sessions, const char* what) -> Estimate {
    std::vector<double> rates;
    for (const SessionSummary* session : nearest(sessions, item.problem, kNearest)) rates.push_back(seconds_per_trial(*session));
    return {median(rates) * trials, 0, count_text(rates.size(), what)};
  };
  if (!here.empty()) return from(here, "of this kernel on this device");
  if (!same_kind.empty()) return from(same_kind, "of this kernel on other devices");
  if (const auto others = searches_.find(context.device_key); others != searches_.end()) return from(others->second, "of other kernels on this device");
  return {defaults.around_s + defaults.trial_s * trials, 0, "no history"};
}

Estimate Estimator::retime_seconds(const SweepItem& item, const ItemContext& context) const {
  const auto own = timings_.find(context.device_key + '\n' + item.kernel);
  if (own != timings_.end()) return {median(own->second), 0, count_text(own->second.size(), "that timed this kernel's winners on this device")};
  const auto others = timings_.find(context.device_key);
  if (others != timings_.end()) return {median(others->second), 0, count_text(others->second.size(), "that timed winners on this device")};
  return {cost_defaults(device_kind(item.device)).around_s, 0, "no history"};
}

double Estimator::search_gain(const SweepItem& item, const ItemContext& context) const {
  std::vector<double> here, anywhere;
  for (const SessionSummary* session : searches_of(item.kernel)) {
    if (!session->winner_us || !session->default_us || !(*session->default_us > 0)) continue;
    const double gain = std::clamp(1 - *session->winner_us / *session->default_us, 0.0, 1.0);
    anywhere.push_back(gain);
    if (session->device_key == context.device_key) here.push_back(gain);
  }
  if (!here.empty()) return median(here);
  return anywhere.empty() ? kGuessedGain : median(anywhere);
}

double Estimator::gain(const SweepItem& item, const ItemContext& context, const Decision& decision) const {
  if (decision.action == Action::fresh) return 0;
  if (decision.action == Action::retime) return kRetimeGain;
  const double searching = search_gain(item, context);
  bool stands = false, near = false;
  std::vector<double> again;  // what searching a second time gained over the winner that stood
  for (const SessionSummary* session : searches_of(item.kernel)) {
    if (!session->finished || session->winner.empty() || session->device_key != context.device_key) continue;
    const double distance = problem_distance(item.problem, session->problem);
    if (distance == 0) stands = true;
    else if (distance <= kNearCap) near = true;
    if (session->winner_us && session->standing_us && *session->standing_us > 0) again.push_back(std::clamp(1 - *session->winner_us / *session->standing_us, 0.0, 1.0));
  }
  if (stands) return again.size() >= kEnoughSearches ? std::max(median(again), kRetimeGain) : searching * kStaleShare;
  return near ? searching * kNearShare : searching;
}

Estimate Estimator::estimate(const SweepItem& item, const ItemContext& context, const Decision& decision, std::optional<std::uint64_t> space_size) const {
  if (decision.action == Action::fresh) return {0, 0, "nothing to do"};
  Estimate estimate = decision.action == Action::retime ? retime_seconds(item, context) : search_seconds(item, context, space_size);
  estimate.gain = gain(item, context, decision);
  if (decision.action == Action::go_on) {
    const auto& sessions = index_.of(item.kernel, item.problem, context.device_key);
    const auto unfinished = std::find_if(sessions.begin(), sessions.end(), [&](const SessionSummary* session) { return session->id == decision.session; });
    const double done = unfinished == sessions.end() ? 0 : static_cast<double>((*unfinished)->trials) / std::max(1.0, expected_trials(item, space_size));
    estimate.seconds *= std::max(kLeastLeft, 1 - done);
    estimate.basis += ", less what is done";
  }
  return estimate;
}

}  // namespace tunebook
