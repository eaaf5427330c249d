#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "session/tune.h"

namespace tunebook {

// Whether the session times the kernel's baseline beside its finalists.
bool times_baseline(const TuneSubject& subject, const TuneOptions& options);

// How its finalists are timed. Refers to `options`.
FinalistPlan finalist_plan(const TuneSubject& subject, const TuneOptions& options);

// A session as it is proposed to the book, but for what it reads from there first. `sanitizer`: the name of the one that it uses, or "".
SessionRecord proposed_session(const TuneSubject& subject, const SearchSpace& space, const TuneOptions& options, const std::string& sanitizer);

// The session that holds the finalists of one that a time limit cut: one for each number of trials that it may have been cut at.
SessionRecord finalists_session(const SessionRecord& cut, std::int64_t trials);

}  // namespace tunebook
