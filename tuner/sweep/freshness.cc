#include "sweep/freshness.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace tunebook {
namespace {

constexpr double kDay = 24 * 3600.0;
constexpr std::string_view kDriver = "; driver ";  // between compiler and driver in ExecutorIdentity::toolchain

std::pair<std::string, std::string> compiler_and_driver(const std::string& toolchain) {
  const std::size_t at = toolchain.rfind(kDriver);
  if (at == std::string::npos) return {toolchain, ""};
  return {toolchain.substr(0, at), toolchain.substr(at + kDriver.size())};
}

bool in_context(const SessionSummary& session, const ItemContext& context) {
  return session.kernel_hash == context.kernel_hash && session.toolchain == context.toolchain;
}

bool as_planned(const SessionSummary& session, const SessionSettings& settings) {
  return session.strategy == settings.strategy && session.budget == settings.budget && session.where == settings.where;
}

// What the book holds about one item.
struct Standing {
  const SessionSummary* search = nullptr;         // the newest one in the context
  const SessionSummary* other_search = nullptr;   // the newest one as planned, in another context
  const SessionSummary* unplanned = nullptr;      // the newest finished search with other settings
  const SessionSummary* unfinished = nullptr;     // the newest in the context, with the settings and the seed
  const SessionSummary* timed = nullptr;          // the newest in the context that has a winner
  const SessionSummary* winner = nullptr;         // the newest of this kernel hash that has one: what a lookup answers with
};

// Of two that ended at one moment the smaller id counts, as in lookups.
void take_newest(const SessionSummary*& newest, const SessionSummary& session) {
  const double time = session.finished.value_or(session.started);
  const double newest_time = newest == nullptr ? 0 : newest->finished.value_or(newest->started);
  if (newest == nullptr || time > newest_time || (time == newest_time && session.id < newest->id)) newest = &session;
}

Standing standing_of(const SweepItem& item, const ItemContext& context, const SessionIndex& index) {
  Standing standing;
  for (const SessionSummary* session : index.of(item.kernel, item.problem, context.device_key)) {
    if (!measures(*session, context.method, item.settings.objective)) continue;
    const bool planned = as_planned(*session, item.settings);
    const bool current = in_context(*session, context);
    if (!session->finished) {
      if (planned && current && session->seed == item.settings.seed) take_newest(standing.unfinished, *session);
      continue;
    }
    if (!session->winner.empty()) {
      if (current) take_newest(standing.timed, *session);
      if (session->kernel_hash == context.kernel_hash) take_newest(standing.winner, *session);
    }
    if (!is_search(*session)) continue;
    if (!planned) take_newest(standing.unplanned, *session);
    else take_newest(current ? standing.search : standing.other_search, *session);
  }
  return standing;
}

std::string reason_to_search(const Standing& standing, const ItemContext& context) {
  if (const SessionSummary* other = standing.other_search) {
    if (other->kernel_hash != context.kernel_hash) return "the kernel changed since it was tuned";
    return toolchain_change(other->toolchain, context.toolchain);
  }
  if (const SessionSummary* other = standing.unplanned) {
    return fmt::format("tuned only with other settings than the plan's (strategy {}, budget {})", other->strategy, other->budget);
  }
  return "never tuned";
}

// Of something that lies `age` seconds back. A clock that was set back makes ages negative: nothing is old then.
bool is_older(double age, const std::optional<double>& days) { return days && age >= *days * kDay && age >= 0; }

Decision decide_standing(const SweepItem& item, const Standing& standing, double now, double sweep_start) {
  Decision decision;
  const SessionSummary& search = *standing.search;
  const double age = now - *search.finished;
  const FreshnessRule& rule = item.settings.freshness;
  if (*search.finished < sweep_start && is_older(age, rule.retune_after_days)) {
    decision.action = Action::tune;
    decision.remeasure = true;
    decision.reason = fmt::format("tuned {} ago, the plan tunes again after {:g} days", age_text(age), *rule.retune_after_days);
    return decision;
  }
  decision.action = Action::fresh;
  if (standing.timed == nullptr) {
    decision.reason = fmt::format("searched {} ago: no configuration passed", age_text(age));
    return decision;
  }
  const double timed_age = now - *standing.timed->finished;
  const std::string timed = fmt::format("{} {} ago", standing.timed == &search ? "tuned" : "timed", age_text(timed_age));
  if (*standing.timed->finished >= sweep_start) {
    decision.reason = timed + ", in this sweep";
  } else if (is_older(timed_age, rule.retime_after_days)) {
    decision.action = Action::retime;
    decision.session = standing.winner->id;
    decision.reason = timed + (*rule.retime_after_days > 0 ? fmt::format(", the plan times again after {:g} days", *rule.retime_after_days)
                                                           : ", the plan times again in every sweep");
  } else {
    decision.reason = timed;
  }
  return decision;
}

}  // namespace

std::string age_text(double seconds) {
  seconds = std::max(0.0, seconds);
  const auto text = [](double count, const char* unit) {
    const auto rounded = static_cast<long long>(count);
    return fmt::format("{} {}{}", rounded, unit, rounded == 1 ? "" : "s");
  };
  if (seconds < 60) return text(seconds, "second");
  if (seconds < 3600) return text(seconds / 60, "minute");
  if (seconds < 2 * kDay) return text(seconds / 3600, "hour");
  return text(seconds / kDay, "day");
}

std::string toolchain_change(const std::string& before, const std::string& now) {
  const auto [compiler_before, driver_before] = compiler_and_driver(before);
  const auto [compiler_now, driver_now] = compiler_and_driver(now);
  if (compiler_before == compiler_now) return fmt::format("the driver changed ({} -> {})", driver_before, driver_now);
  const std::string text = fmt::format("the toolkit changed ({} -> {})", compiler_before, compiler_now);
  return driver_before == driver_now ? text : fmt::format("{} and the driver ({} -> {})", text, driver_before, driver_now);
}

Decision decide(const SweepItem& item, const ItemContext& context, const SessionIndex& index, double now, double sweep_start) {
  const Standing standing = standing_of(item, context, index);
  Decision decision;
  const bool newer = standing.unfinished && (!standing.search || standing.unfinished->started > *standing.search->finished);
  if (newer) {
    decision.action = Action::go_on;
    decision.session = standing.unfinished->id;
    decision.remeasure = standing.search != nullptr;
    decision.reason = fmt::format("interrupted {} ago after {} trials", age_text(now - standing.unfinished->started), standing.unfinished->trials);
  } else if (standing.search == nullptr) {
    decision.action = Action::tune;
    decision.reason = reason_to_search(standing, context);
  } else {
    decision = decide_standing(item, standing, now, sweep_start);
  }
  if (standing.winner != nullptr) decision.standing_winner = standing.winner->winner;
  return decision;
}

}  // namespace tunebook
