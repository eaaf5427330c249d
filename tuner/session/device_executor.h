#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/template_folder.h"
#include "session/device_choice.h"
#include "session/executor.h"
#include "session/profiler_report.h"
#include "worker/message.h"

namespace tunebook {

struct DeviceExecutorOptions {
  DeviceChoice device;
  int compile_workers = 0;        // 0: as many as cores, bounded by memory
  double compile_timeout_s = 60;
  double run_timeout_s = 10;      // for each step of a trial: a launch, a timing
  CacheMode cache = CacheMode::cold;
  std::uint64_t seed = 0;         // of the inputs
  int lock_clocks_mhz = 0;        // hold the GPU's SM clock there while this lives; 0: leave clocks alone
  std::vector<std::string> sanitizers;  // of compute_sanitizer_tools(), for sanitize(); none given: all
  bool energy = false;            // measure the energy of every trial too: a second each
};

// What happened to one configuration outside a session (`run`, `check`).
struct Examination {
  TrialRecord trial;
  std::vector<PlannedLaunch> launches;  // on the tuned problem; none if they cannot be computed
  std::string compile_options;
  std::int64_t skipped_problems = 0;  // verify problems that the configuration's constraints exclude
};

// A real device: a pool of compile workers and one runner, both killable child processes. The device is opened by the
// constructor (throws EnvironmentError or, for a device that does not exist, InputError).
class DeviceExecutor : public Executor {
 public:
  DeviceExecutor(const KernelTemplate& kernel, const DeviceExecutorOptions& options);
  ~DeviceExecutor() override;

  // Before the first proposal: the problem that is tuned. Its buffers and reference are set up while candidates compile.
  void set_problem(const Problem& problem);

  const ExecutorIdentity& identity() const override;
  void on_done(Done done) override;
  void submit(Proposal proposal) override;
  void closing() override;
  bool foresees() const override;
  void foresee(const Configuration& configuration, std::function<void(const Foresight&)> done) override;
  void set_best(double median_us) override;
  bool run_until(const std::function<bool()>& finished, double deadline_seconds) override;
  void cancel() override;
  SanitizerChoice sanitizer() const override;
  std::vector<SanitizerVerdict> sanitize(const std::vector<Configuration>& candidates, const std::function<bool()>& stop) override;
  std::vector<Finalist> time_finalists(const std::vector<Configuration>& candidates, const FinalistPlan& finalist_plan) override;
  std::optional<BaselineRecord> baseline() const override;

  // One configuration, with all detail; never abandoned.
  Examination examine(const Configuration& configuration);
  // What Nsight Compute counts for it on the tuned problem, or why it cannot. After it no more trials, only further profiles.
  ProfileReport profile(const Configuration& configuration);
  int compile_workers() const;
  // How long the runner had nothing to do between its first trial and its last one of the first pass. Seconds.
  double idle_seconds() const override;
  // Whether the device counts energy.
  bool counts_energy() const;
  // What the compile workers have to tell the user, such as a cache that cannot be written.
  std::set<std::string> notes() const;
  // Why an automatic choice did not take the GPU; empty if it did, or if the device was named.
  const std::string& fallback_reason() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tunebook
