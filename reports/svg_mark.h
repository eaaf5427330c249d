#pragma once

#include <string>
#include <string_view>

#include "core/outcome.h"

namespace tunebook::reports::page {

// How a trial is drawn: by the kind of its outcome, so that kinds are told apart without colour.
enum class MarkKind { timed, abandoned, best, compile, resources, launch, fault, wrong, timeout, lost, invalid };

MarkKind mark_kind(Outcome outcome);
std::string_view mark_name(MarkKind kind);  // "compile", "wrong result", ...
// The mark at a place, as SVG.
std::string mark_svg(MarkKind kind, double x, double y);

}  // namespace tunebook::reports::page
