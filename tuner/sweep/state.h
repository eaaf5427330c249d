#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "sweep/plan.h"

namespace tunebook {

// How far an item is.
enum class ItemStatus {
  pending,
  fresh,        // the book's answer was good: nothing was to be done
  done,         // its session is finished
  cut,          // its search was cut at its time limit; what was found is in the book, and the next sweep goes on with it
  interrupted,  // its session was asked to end before it had a winner: its trials are kept, and it goes on in the next run or sweep
  no_winner,    // it ended, and no configuration passed
  failed,       // it could not be run; `reason` says why
  no_time,      // its turn did not come before the deadline, or came too late
  no_device,    // its device cannot be used any more
  no_room,      // the disk was full
};
std::string_view item_status_name(ItemStatus status);

struct ItemState {
  ItemStatus status = ItemStatus::pending;
  int attempts = 0;             // sessions that ended neither well nor because they were asked to
  bool tune_instead = false;    // it was to be timed anew, but the winner that stood is gone
  std::string reason;           // of failed, interrupted, no_time, no_device, no_room; of pending, of the last attempt
  nlohmann::ordered_json result;  // of done, cut, no_winner: what `tune --json` said, shortened; else null
};

// What a device did in all runs of the sweep. Seconds.
struct DeviceWork {
  std::string name;          // "cuda:0", "cpu", "replay: NVIDIA A100"
  std::int64_t sessions = 0;
  double session_s = 0;      // of its sessions' processes
  double busy_s = 0;         // it had something to run
  double available_s = 0;    // from the start of its first session in a run of the sweep until its last one then ended
  std::string out_reason;    // why it cannot be used any more; "" if it can
};

// A sweep on its way, as kept on disk beside the book so that the same command goes on with it.
struct SweepState {
  std::string id;               // 32 hex digits, random
  std::string start_utc;        // ISO 8601, as the book has times
  double start = 0;             // the same, seconds since 1970
  std::optional<double> deadline;  // seconds since 1970
  FrozenPlan plan;
  std::vector<std::size_t> order;  // of work: indices of items
  std::vector<ItemState> items;    // as plan.items
  std::map<std::string, DeviceWork> devices;
  nlohmann::ordered_json regions;  // of a plan with regions: CoverPlanner::to_json(); else null
  double wall_s = 0;            // of its runs so far
  int runs = 0;
  bool ended = false;           // nothing is left that another run could do

  // A sweep of this plan that begins now. Fresh items are it from the start.
  static SweepState begin(FrozenPlan plan, std::vector<std::size_t> order, double now);

  nlohmann::ordered_json to_json() const;
  static SweepState from_json(const nlohmann::ordered_json& json, const std::string& where);  // throws InputError
  // Throws InputError for a damaged file.
  static SweepState load(const std::filesystem::path& file);
  void save(const std::filesystem::path& file) const;  // throws EnvironmentError
};

// Where a sweep keeps what it needs, by the book's path and the plan's name.
struct SweepFiles {
  std::filesystem::path state, lock, status, summary, slots;
};
SweepFiles sweep_files(const std::filesystem::path& book, const std::filesystem::path& plan_file);

// What a command finds when it starts.
enum class Resumption {
  none,        // a sweep begins
  go_on,       // the one in the file is taken up
  too_late,    // the one in the file is of this night, and its time is over: nothing can be run
};
// An unfinished sweep of an equal plan is taken up unless its deadline is over. Then a new one begins, but not if the deadline was a time of
// the day ("until 06:00") and it is still the same night, kSameNightSeconds from the start: a machine that comes back at noon must not
// begin the next night's work.
Resumption resumption(const SweepState& state, const std::string& plan_hash, double now);
inline constexpr double kSameNightSeconds = 20 * 3600.0;

// Of a sweep whose clock may have been set back since it began: never more than it was given. `given_s`: from its start to its deadline.
std::optional<double> time_left(const SweepState& state, double now);

// The right to run the sweep of a state file: one process at a time has it. Taken back by the operating system from a process that dies.
class SweepLock {
 public:
  // Throws InputError if another process has it, EnvironmentError if the file cannot be made.
  explicit SweepLock(const std::filesystem::path& file);
  ~SweepLock();
  SweepLock(const SweepLock&) = delete;
  SweepLock& operator=(const SweepLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace tunebook
