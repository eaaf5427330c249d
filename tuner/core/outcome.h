#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace tunebook {

// How a trial ended. The names (outcome_name) are the words of the design and are stored in the book.
enum class Outcome {
  ok,
  invalid,           // violates a constraint (only for configurations given by hand)
  no_resources,      // launch limits or zero occupancy
  compile_error,
  compile_timeout,
  launch_error,
  run_timeout,
  fault,             // illegal access and other sticky errors
  divergent_barrier,
  wrong_result,
  nondeterministic,
  out_of_memory,
  worker_lost,
  abandoned,         // shown to be slower than the best, with what was measured
};

inline constexpr std::array<Outcome, 14> kOutcomes = {
    Outcome::ok, Outcome::invalid, Outcome::no_resources, Outcome::compile_error, Outcome::compile_timeout,
    Outcome::launch_error, Outcome::run_timeout, Outcome::fault, Outcome::divergent_barrier, Outcome::wrong_result,
    Outcome::nondeterministic, Outcome::out_of_memory, Outcome::worker_lost, Outcome::abandoned};

std::string_view outcome_name(Outcome outcome);
std::optional<Outcome> parse_outcome(std::string_view name);
// True for ok and abandoned: it ran, its result was right, and it has a time.
bool has_time(Outcome outcome);
// True if the device process cannot be used again after this outcome.
bool poisons_worker(Outcome outcome);

}  // namespace tunebook
