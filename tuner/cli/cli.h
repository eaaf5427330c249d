#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/shell_word.h"

namespace tunebook::cli {

enum ExitCode { kDone = 0, kFailed = 1, kBadInput = 2, kNo = 3 };

// What verbs share: when the program started and the exit code that the chosen verb sets.
struct Invocation {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  int argc = 0;
  char** argv = nullptr;
  int exit_code = kDone;
  // The command line as typed, quoted for a shell: for "resume with: ...".
  std::string command_line() const;
};

// Each verb has one file: add_<verb> declares options and installs the callback.
void add_devices(CLI::App& app, Invocation& invocation);
void add_calibrate(CLI::App& app, Invocation& invocation);
void add_list(CLI::App& app, Invocation& invocation);
void add_check(CLI::App& app, Invocation& invocation);
void add_space(CLI::App& app, Invocation& invocation);
void add_tune(CLI::App& app, Invocation& invocation);
void add_run(CLI::App& app, Invocation& invocation);
void add_emit(CLI::App& app, Invocation& invocation);
void add_best(CLI::App& app, Invocation& invocation);
void add_sweep(CLI::App& app, Invocation& invocation);
void add_learn(CLI::App& app, Invocation& invocation);
void add_portfolio(CLI::App& app, Invocation& invocation);
void add_publish(CLI::App& app, Invocation& invocation);
void add_quality(CLI::App& app, Invocation& invocation);
void add_merge(CLI::App& app, Invocation& invocation);
void add_export(CLI::App& app, Invocation& invocation);
void add_replay(CLI::App& app, Invocation& invocation);
void add_report(CLI::App& app, Invocation& invocation);
void add_compare(CLI::App& app, Invocation& invocation);
void add_doctor(CLI::App& app, Invocation& invocation);

// Options that many verbs have, declared alike everywhere.
void add_json_option(CLI::App& verb, bool& json);
void add_book_option(CLI::App& verb, std::string& book);
void add_templates_option(CLI::App& verb, std::vector<std::string>& templates);
void add_device_option(CLI::App& verb, std::string& device);

// What --arch names: "cpu" or a GPU architecture such as sm_90 or sm_90a. Throws InputError for anything else.
void check_architecture(const std::string& arch);
// Throws InputError if `message`, a compiler's for this --arch, says that it knows no such architecture.
void check_architecture_compiled(const std::string& arch, const std::string& message);

// An option in seconds: a number from a millisecond to a week.
void add_seconds_option(CLI::App& verb, const std::string& name, double& seconds, const std::string& description);
// --lock-clocks MHZ, the only way in which clocks of a GPU are changed.
void add_lock_clocks_option(CLI::App& verb, int& mhz);
void add_seed_option(CLI::App& verb, std::uint64_t& seed, const std::string& description);

// One JSON object on one line of stdout.
void print_json(const nlohmann::ordered_json& json);

}  // namespace tunebook::cli
