#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/baseline.h"
#include "core/ceiling.h"
#include "core/conditions.h"
#include "core/device.h"
#include "core/outcome.h"
#include "core/problem.h"

namespace tunebook {

// $TUNEBOOK_BOOK, else $XDG_DATA_HOME/tunebook/book.db, else ~/.local/share/tunebook/book.db; `option` (--book) wins.
std::filesystem::path default_book_path(const std::string& option);

// What makes two trials the same trial, besides problem and configuration.
struct TrialContext {
  std::string kernel;          // name
  std::string kernel_hash;
  nlohmann::ordered_json kernel_spec;  // normalised
  Device device;
  std::string toolchain;       // compiler, driver and options: part of the identity
  std::string method;          // "cold/1"
  nlohmann::json environment;  // not part of the identity
};

struct TrialRecord {
  std::int64_t order = 0;      // order of proposal within its session; presets and the standing winner come first
  std::string origin;          // "preset:naive", "standing_winner", "predicted", "from_book", "strategy"
  Configuration configuration;
  Outcome outcome = Outcome::ok;
  std::string message;
  Resources resources;
  std::optional<double> median_us;
  std::optional<double> min_us;
  std::optional<double> ci_low_us, ci_high_us;
  std::vector<double> samples_us;
  std::int64_t launches_per_sample = 1;
  double launch_us = 0;        // what launching costs; not in the times
  Conditions conditions;       // while timing
  std::optional<double> energy_j;  // of one launch
  std::int64_t verified_problems = 0;
  std::int64_t skipped_problems = 0;  // verify problems that the configuration's constraints exclude
  double verify_max_error = 0;
  double compile_seconds = 0, verify_seconds = 0, time_seconds = 0;
  bool reused = false;         // found in the book, not run in this session
};

struct SessionRecord {
  std::string id;              // 128-bit random, 32 hex digits
  Problem problem;
  std::string strategy;
  std::uint64_t seed = 0;
  std::string budget;
  std::vector<std::string> where;
  nlohmann::json identity;     // everything that determines the session; equal identity: the same session
  // What its first run read from the book: the standing winner's canonical configuration or "", or a JSON list of it (or null) and
  // of winners of other problems and devices.
  std::string standing_winner;
  bool finished = false;
  double wall_seconds = 0;     // summed over runs
  std::string started_utc;     // ISO 8601
};

struct FinalistRecord {
  Configuration configuration;
  std::vector<double> process_medians_us;
  double median_us = 0, ci_low_us = 0, ci_high_us = 0;
  bool in_tie_set = false;
  std::optional<double> energy_j;  // of one launch
  std::string sanitizer;       // "": not run; "clean"; else what was found
  std::int64_t registers = -1, shared_bytes = -1;
};

struct WinnerRecord {
  std::string session_id;
  Configuration configuration;
  std::string objective = "time";  // "time", "energy"
  double median_us = 0, ci_low_us = 0, ci_high_us = 0;
  std::optional<double> gflops, gbps;
  std::optional<double> energy_j;  // of one launch
  std::vector<FinalistRecord> finalists;  // the winner first
  std::int64_t tie_set_size() const;
};

// What people use now for the same work, timed together with a session's finalists.
struct BaselineRecord {
  std::string operation;       // "gemm"
  BaselineState state = BaselineState::ok;
  std::string name;            // "cuBLAS 13.0.2"; "" if not known
  std::string message;         // which of the library's algorithms; else what went wrong
  std::string method;
  std::vector<double> process_medians_us;  // paired with those of the finalists; none unless state is ok
  std::optional<double> median_us, ci_low_us, ci_high_us;
};

// What a profiler counted for a trial's kernel.
struct ProfileRecord {
  std::int64_t order = 0;      // of the trial in its session
  std::string tool;            // "ncu 2025.3.0"
  nlohmann::json metrics;      // name -> number
  std::string recorded_utc;    // set when read
};

// A model of time as the book keeps it (db/time_model.h has the body's format).
struct ModelRecord {
  std::int64_t kernel = 0, device = 0;  // rows of their tables
  std::string dtype;           // "" where the kernel has no such dimension
  std::string method;          // "cold/2"
  std::int64_t format = 0;     // TimeModel::kFormat
  std::string body;
  std::int64_t trials = 0;     // learned from
  std::int64_t problems = 0;   // that these were of
  std::string learned_from;    // identifies the trials and the way of learning: equal text, equal model
  std::string learned_utc;     // ISO 8601
  friend bool operator==(const ModelRecord&, const ModelRecord&) = default;
};

// The working book, read-write: WAL mode, created with its folder if missing. Every public call is one transaction, repeated
// as a whole while the book is busy (up to a minute). Throws InputError if the path cannot be written or holds something that
// is no Tunebook book or a newer one, EnvironmentError if the disk is full or the book stays locked.
class Store {
 public:
  explicit Store(const std::filesystem::path& path);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  const std::filesystem::path& path() const;

  // Begins the session, or takes up the unfinished one of equal identity. A finished one of equal identity is returned as it
  // is (finished = true) unless `remeasure`; then, too, if it is the newest and finished since `answer_since_utc` (ISO 8601; "": never).
  SessionRecord open_session(const TrialContext& context, const SessionRecord& proposed, bool remeasure,
                             const std::string& answer_since_utc = "");
  // The newest session of equal identity, if any; changes nothing.
  std::optional<SessionRecord> find_session(const TrialContext& context, const nlohmann::json& identity) const;
  void finish_session(const std::string& session_id, double wall_seconds);
  void add_wall_seconds(const std::string& session_id, double wall_seconds);  // of an interrupted run

  // The newest trial of this context, problem and configuration (any session). Failures that deserve a retry (worker_lost,
  // run_timeout and compile_timeout seen once) are not an answer.
  std::optional<TrialRecord> find_trial(const TrialContext& context, const Problem& problem,
                                        const Configuration& configuration) const;
  void record_trial(const std::string& session_id, const TrialContext& context, const Problem& problem,
                    const TrialRecord& trial);
  // A session of trials that something else than `tune` has timed, finished and without a winner: no lookup is answered
  // from it. `session.id` (32 hex digits) and all times are given, so that the same one added to several books stays one. In one
  // transaction; false, and nothing changes, if the book has the session already.
  bool add_learned_session(const TrialContext& context, const SessionRecord& session, const std::vector<TrialRecord>& trials);
  // The declaration of a kernel's version, and the device of a key with its limits, as the book has them.
  std::optional<nlohmann::ordered_json> kernel_spec(const std::string& kernel, const std::string& hash) const;
  std::optional<Device> find_device(const std::string& key) const;
  // True if the session holds a trial of this order and configuration.
  bool has_proposal(const std::string& session_id, std::int64_t order, const Configuration& configuration) const;
  void record_winner(const TrialContext& context, const Problem& problem, const WinnerRecord& winner);

  std::vector<TrialRecord> session_trials(const std::string& session_id) const;       // by order
  std::vector<std::pair<Outcome, std::int64_t>> session_outcomes(const std::string& session_id) const;
  std::optional<WinnerRecord> session_winner(const std::string& session_id) const;
  // The winner that a lookup would give for exactly this context's kernel hash, device, method and problem.
  std::optional<WinnerRecord> standing_winner(const TrialContext& context, const Problem& problem,
                                              const std::string& objective = "time") const;

  // The newest finished winner for this kernel's name (of any hash), device, method and problem, of other sessions than these.
  std::optional<WinnerRecord> previous_winner(const TrialContext& context, const Problem& problem, const std::string& objective,
                                              const std::vector<std::string>& other_than) const;

  // The last winner of each problem and device that finished sessions of a kernel of this name hold, whatever its hash; the newest
  // first, at most `limit`.
  struct KernelWinner {
    Problem problem;
    std::string device_key;
    Configuration configuration;
  };
  // Limits the winners of other devices than this one to those that stood before a time (ISO 8601, UTC).
  struct OtherDevices {
    std::string than_device_key;
    std::string before_utc;
  };
  std::vector<KernelWinner> kernel_winners(const std::string& kernel, const std::string& objective,
                                           const std::optional<OtherDevices>& others = {}, std::int64_t limit = 1000) const;
  void record_baseline(const std::string& session_id, const BaselineRecord& baseline);
  std::optional<BaselineRecord> session_baseline(const std::string& session_id) const;  // the newest

  // Of the session's newest trial of `profile.order`; throws InputError if it has none.
  void record_profile(const std::string& session_id, const ProfileRecord& profile);
  std::vector<ProfileRecord> session_profiles(const std::string& session_id) const;  // by order, then time

  // One calibration of a device. Reading gives the newest of each (what, bytes, method), bandwidths by size.
  void record_ceilings(const Device& device, const nlohmann::json& environment, const std::vector<Ceiling>& ceilings);
  std::vector<Ceiling> ceilings(const Device& device) const;
  // The same of a book that is only read; none if there is no book at `path` or it is older than ceilings. Throws InputError if what
  // is there is no book.
  static std::vector<Ceiling> ceilings_in_file(const std::filesystem::path& path, const Device& device);

  // Models of time: those learned take the place of the ones of the same kernel, device, data type and method, and the outdated ones go
  // (their bodies do not count), all in one transaction. Throws InputError if the book has no such kernel or device.
  void replace_models(const std::vector<ModelRecord>& learned, const std::vector<ModelRecord>& outdated = {});
  std::vector<ModelRecord> models() const;  // by kernel, device, data type and method
  // The same of a book that is only read; none of an older version than models. Throws InputError if there is no book at `path`.
  static std::vector<ModelRecord> models_in_file(const std::filesystem::path& path);

  // PRAGMA integrity_check, foreign keys, counts; for `doctor`. Empty problems: sound.
  struct Health {
    std::vector<std::string> problems;
    std::int64_t kernels = 0, devices = 0, sessions = 0, trials = 0, winners = 0;
  };
  Health check() const;
  // The same of a book that is only read: nothing is made, migrated or changed, and it may be read-only. Throws InputError if
  // there is no book at `path`.
  static Health check_file(const std::filesystem::path& path);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tunebook
