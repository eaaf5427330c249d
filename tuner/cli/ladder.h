#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/ceiling.h"
#include "core/template_folder.h"
#include "session/binding.h"
#include "session/executor.h"
#include "session/tune.h"

namespace tunebook::cli {

// A preset of a session, or its winner, beside the one before it.
struct Rung {
  std::string name;
  bool winner = false;
  Configuration configuration;
  Outcome outcome = Outcome::ok;
  std::optional<double> time_us;
  std::optional<double> gain;        // the time of the last rung that has one, over this one's
  std::optional<double> gain_in_all; // the same of the first
  std::optional<Binding> binding;    // of those that have a time
};

struct LadderSource {
  const KernelTemplate* kernel = nullptr;  // null: a recording
  const TuneSubject* subject = nullptr;
  const ExecutorIdentity* place = nullptr;
  const std::vector<Ceiling>* ceilings = nullptr;
  // Counts what a configuration does, where that can be done: null otherwise. Asked only about rungs of which nothing else tells.
  std::function<nlohmann::json(const Configuration&)> counters;
};

// Presets in the spec's order, then the winner.
std::vector<Rung> build_ladder(const LadderSource& source, const TuneResult& result);
void print_ladder(const LadderSource& source, const std::vector<Rung>& ladder);
nlohmann::ordered_json ladder_json(const std::vector<Rung>& ladder);

}  // namespace tunebook::cli
