#pragma once

#include <cstddef>

#include "db/session_history.h"
#include "sweep/state.h"

namespace tunebook {

// Items whose session is not among those of the book, which was removed or replaced while the sweep ran: they become failed, and say so.
// Returns how many.
std::size_t note_lost_results(SweepState& state, const SessionHistory& book);

}  // namespace tunebook
