#include "core/outcome.h"

namespace tunebook {

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok: return "ok";
    case Outcome::invalid: return "invalid";
    case Outcome::no_resources: return "no_resources";
    case Outcome::compile_error: return "compile_error";
    case Outcome::compile_timeout: return "compile_timeout";
    case Outcome::launch_error: return "launch_error";
    case Outcome::run_timeout: return "run_timeout";
    case Outcome::fault: return "fault";
    case Outcome::divergent_barrier: return "divergent_barrier";
    case Outcome::wrong_result: return "wrong_result";
    case Outcome::nondeterministic: return "nondeterministic";
    case Outcome::out_of_memory: return "out_of_memory";
    case Outcome::worker_lost: return "worker_lost";
    case Outcome::abandoned: return "abandoned";
  }
  return "?";
}

std::optional<Outcome> parse_outcome(std::string_view name) {
  for (const Outcome outcome : kOutcomes) {
    if (outcome_name(outcome) == name) return outcome;
  }
  return std::nullopt;
}

bool has_time(Outcome outcome) { return outcome == Outcome::ok || outcome == Outcome::abandoned; }

bool poisons_worker(Outcome outcome) {
  switch (outcome) {
    case Outcome::run_timeout:        // the kernel is still running
    case Outcome::fault:              // no kernel can run in this process again, not even after a context reset
    case Outcome::divergent_barrier:  // threads are stuck in the kernel
    case Outcome::worker_lost: return true;
    default: return false;
  }
}

}  // namespace tunebook
