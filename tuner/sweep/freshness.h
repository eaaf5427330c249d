#pragma once

#include "sweep/decision.h"
#include "sweep/item.h"
#include "sweep/session_index.h"

namespace tunebook {

// Whether an item must run. Times are seconds since 1970. `sweep_start`: when this sweep began (of one that is taken up after a crash: when
// it first began); what ended since then is its own work and fresh, whatever the rule says.
//
// An item's searches are the finished sessions of its kernel, problem, device, method, objective, strategy, budget and where (not seed).
// In this order:
//   an unfinished session of the context, the settings and the seed, younger than the newest search of the context    go_on
//   no search in the context (kernel hash, device, toolchain)                                                         tune
//   the newest one ended longer ago than retune_after_days                                                            tune, remeasure
//   it found no winner                                                                                                fresh
//   its problem was last timed in the context (by whatever session) longer ago than retime_after_days                 retime
//   else                                                                                                              fresh
// A driver or kernel that is as it was at an earlier search finds that search again.
Decision decide(const SweepItem& item, const ItemContext& context, const SessionIndex& index, double now, double sweep_start);

// "3 minutes", "5 h", "12 days".
std::string age_text(double seconds);
// What differs between two toolchains as ExecutorIdentity has them: "the driver changed (580.1 -> 590.2)".
std::string toolchain_change(const std::string& before, const std::string& now);

}  // namespace tunebook
