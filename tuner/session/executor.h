#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/problem.h"
#include "db/store.h"
#include "search/strategy.h"
#include "session/sanitizer.h"

namespace tunebook {

// A configuration whose interval lies above this multiple of the best median is abandoned.
inline constexpr double kAbandonMultiple = 1.25;

// One proposal on its way to an outcome.
struct Proposal {
  std::int64_t order = 0;     // order of proposal; lower ones are compiled and run first
  std::string origin;         // as in TrialRecord
  Configuration configuration;
  bool may_abandon = true;
};

// What identifies and describes the place where trials run.
struct ExecutorIdentity {
  Device device;
  std::string toolchain;      // compiler, options and driver
  std::string method;         // "cold/1"
  nlohmann::json environment;
};

// How the finalists are measured once more.
struct FinalistPlan {
  int processes = 5;              // fresh ones, one after the other
  enum class Energy { none, last_process, every_process };
  Energy energy = Energy::none;   // in which of them energy is measured too; it takes a second for each candidate
  bool baseline = true;           // the kernel's baseline, where it has one, is timed with them
  std::function<bool()> stop;     // asked several times a second: ends early, with what there is. May be empty.
  // No process after the first is begun that would not end within so many seconds if it took as long as the longest before it.
  std::optional<double> seconds = {};
};

struct Finalist {
  Configuration configuration;
  std::vector<double> process_medians_us = {};
  std::vector<double> process_energies_j = {};  // of one launch
};

// Turns proposals into trial records, many in flight. Two kinds: real devices (compile pool and runner) and replay.
class Executor {
 public:
  using Done = std::function<void(TrialRecord)>;
  virtual ~Executor() = default;

  virtual const ExecutorIdentity& identity() const = 0;
  // Called with each finished trial, in any order, from within run_until().
  virtual void on_done(Done done) = 0;
  virtual void submit(Proposal proposal) = 0;
  // No further proposals will follow: those left may be compiled in whatever order ends soonest.
  virtual void closing() = 0;
  // Whether foresee() is of use: there is a compiler that reports resources, and compiling ahead does not disturb what is measured.
  virtual bool foresees() const { return false; }
  // Compiles the configuration without running it. `done` is called once from within run_until(), unless cancel() comes before.
  virtual void foresee(const Configuration&, std::function<void(const Foresight&)>) {}
  // The best median so far; slower candidates may be abandoned.
  virtual void set_best(double median_us) = 0;
  // Serves events until `finished()` says so; `deadline_seconds` from now at most (negative: no limit).
  // Returns false at the deadline. Throws EnvironmentError when the device cannot be used any more.
  virtual bool run_until(const std::function<bool()>& finished, double deadline_seconds) = 0;
  // Forgets everything submitted that has not finished; kills what runs.
  virtual void cancel() = 0;
  // What sanitize() uses; without a name there is none, and a reason.
  virtual SanitizerChoice sanitizer() const { return {"", "", "this device runs no kernels"}; }
  // Verifies the candidates under it, as the finalists that they are to be: no trial runs after it. Fewer verdicts than candidates
  // when `stop` said so.
  virtual std::vector<SanitizerVerdict> sanitize(const std::vector<Configuration>&, const std::function<bool()>&) { return {}; }
  // Times the candidates interleaved in fresh processes. Empty medians where a candidate failed.
  // A replay executor returns one median each: the recorded time.
  virtual std::vector<Finalist> time_finalists(const std::vector<Configuration>& candidates, const FinalistPlan& plan) = 0;
  // Proposals asked for and not yet told, at most. A constant of the kind of device, not the number of cores: a strategy's choices
  // depend on what it knew when asked, and the same seed must give the same session on every machine. Strategies that learn allow fewer.
  virtual std::size_t proposals_in_flight() const { return 64; }
  // How the kernel's baseline fared beside the last finalists: times of each process, no interval yet. Nothing if it has none or the plan
  // did not ask for it.
  virtual std::optional<BaselineRecord> baseline() const { return std::nullopt; }
  // Seconds for which the device had nothing to do between its first and its last first-pass trial.
  virtual double idle_seconds() const { return 0; }
};

}  // namespace tunebook
