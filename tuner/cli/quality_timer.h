#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "learn/quality.h"

namespace tunebook::cli {

// How `quality --measure` times answers.
struct QualityTimerOptions {
  bool measure = false;
  std::string device;  // cuda:N or cpu; "": cuda:0 or cpu, as the group's
  std::vector<std::string> templates;
  int processes = 4;
  double run_timeout_s = 10, compile_timeout_s = 60;
};

// --measure and what goes with it: --device, --processes, --templates, --run-timeout.
void add_quality_timer_options(CLI::App& verb, QualityTimerOptions& options);

// Times each question's answer beside its tuned configuration, interleaved in the same fresh
// processes, after proving both right. An answer that is the tuned configuration has the share 1
// without being timed. What cannot be timed has a note saying why. Returns false if it was
// interrupted. Throws InputError if something was to be timed, but nothing could be.
bool time_answers(std::vector<learn::QualityGroup>& groups, const QualityTimerOptions& options);

}  // namespace tunebook::cli
