#include "sweep/coordinator.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "session/compile_slots.h"
#include "session/event_loop.h"
#include "sweep/session_command.h"
#include "sweep/session_outcome.h"
#include "sweep/session_process.h"
#include "sweep/status.h"
#include "sweep/time_division.h"

namespace tunebook {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kItemAttempts = 3;     // a session that crashes twice by chance is rare
constexpr int kDeviceAttempts = 3;   // in a row; a driver that is being restarted is back by then
constexpr double kRetrySeconds = 0.5;
constexpr double kDeviceRetrySeconds = 2;
constexpr double kTickSeconds = 0.1;
constexpr double kStatusSeconds = 2;
// A state that is behind costs looking into the book again, nothing else. That of a very long plan takes a while to write.
constexpr double kSaveSeconds = 1;
constexpr double kSaveShare = 20;    // so many times as long as writing it took passes until the next time
// Asked to end, a session kills its workers and closes the book.
constexpr double kStopSeconds = 20;
// Tools slow kernels down, and a session does not report how far they are.
constexpr double kSilentUnderTools = 4;
// The time limit of a session ends this long before the deadline: its estimate of the finalists may be short.
constexpr double kMarginSeconds = 1;
// Cut items are taken up again while there is time for one, and not for ever: a limit may be too short to get anywhere.
constexpr double kLeastAgainSeconds = 10;
constexpr int kMostTakenUp = 3;

double seconds_between(Clock::time_point from, Clock::time_point to) { return std::chrono::duration<double>(to - from).count(); }

class Coordinator {
 public:
  Coordinator(SweepState& state, const std::vector<LanePlan>& lanes, const SweepOptions& options, const SweepObserver& observer)
      : state_(state), options_(options), observer_(observer) {
    for (const LanePlan& plan : lanes) {
      lanes_.push_back(std::make_unique<Lane>());
      lanes_.back()->plan = plan;
      lanes_.back()->may_run.resize(state_.items.size());
      for (const std::size_t item : plan.items) lanes_.back()->may_run[item] = true;
      DeviceWork& work = state_.devices[plan.key];
      work.name = plan.name;
      work.out_reason.clear();  // it may be back
      lanes_.back()->available_before = work.available_s;
      if (!plan.missing.empty()) {
        lanes_.back()->failed_starts = kDeviceAttempts - 1;
        lanes_.back()->why_failed = plan.missing;
      }
    }
  }

  SweepEnd run() {
    begin();
    for (;;) {
      take_up_what_was_cut();
      if (over()) break;
      tick();
      woken_ = false;
      loop_.run_until([this] { return woken_; }, kTickSeconds);
    }
    return end();
  }

 private:
  struct Lane {
    LanePlan plan;
    std::vector<bool> may_run;       // by item: whether it is one of plan.items
    std::unique_ptr<SessionProcess> process;
    std::size_t running = 0;         // the item, while there is a process
    Clock::time_point since;         // when it was started
    Clock::time_point heard;         // when it said something last
    bool hung = false;               // it was killed because it said nothing
    std::optional<Clock::time_point> first;  // when the first of this run was
    LaneProgress progress;
    int failed_starts = 0;           // in a row, of the device
    std::string why_failed;          // the last one
    bool out = false;
    Clock::time_point not_before{};  // tried again then
    double available_before = 0;     // DeviceWork::available_s of earlier runs
  };
  struct Start {
    std::size_t item = 0;
    std::optional<double> limit_s;
  };

  void begin() {
    start_ = Clock::now();
    wall_before_ = state_.wall_s;
    ++state_.runs;
    for (ItemState& item : state_.items) {
      // What another run may do.
      const bool left = item.status == ItemStatus::interrupted || item.status == ItemStatus::no_time || item.status == ItemStatus::no_device ||
                        item.status == ItemStatus::no_room;
      if (left) item.status = ItemStatus::pending;
    }
    CompileSlots::create(options_.files.slots, options_.cores);
    changed();
  }

  void tick() {
    if (!ending_ && options_.stop && options_.stop()) begin_to_end(SweepEnd::interrupted);
    if (!ending_ && left_s() <= 0) begin_to_end(SweepEnd::deadline);
    if (ending_ && seconds_between(ending_since_, Clock::now()) > kStopSeconds) {
      for (const auto& lane : lanes_) {
        if (lane->process) lane->process->kill();
      }
    }
    if (!ending_) {
      for (const auto& lane : lanes_) {
        end_if_hung(*lane);
        start_next(*lane);
      }
    }
    const Clock::time_point now = Clock::now();
    if (unsaved_ && seconds_between(saved_, now) > std::max(kSaveSeconds, kSaveShare * save_s_)) save();
    if (seconds_between(status_written_, now) > kStatusSeconds) write_status();
    if (observer_.live) observer_.live(live_text());
  }

  // Estimates may have been too long: what is left of the time when all had their turn goes to searches that were cut.
  void take_up_what_was_cut() {
    if (ending_ || !options_.time_left_s || left_s() < kLeastAgainSeconds) return;
    if (std::any_of(lanes_.begin(), lanes_.end(), [this](const auto& lane) { return lane->process || next_of(*lane).has_value(); })) return;
    for (const std::size_t index : state_.order) {
      ItemState& item = state_.items[index];
      if (item.status != ItemStatus::cut || taken_up_[index] >= kMostTakenUp) continue;
      ++taken_up_[index];
      item.status = ItemStatus::pending;
      changed();
    }
  }

  bool over() const {
    const bool running = std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane->process != nullptr; });
    if (running) return false;
    return ending_ || std::none_of(lanes_.begin(), lanes_.end(), [this](const auto& lane) { return next_of(*lane).has_value(); });
  }

  void begin_to_end(SweepEnd why) {
    ending_ = why;
    ending_since_ = Clock::now();
    for (const auto& lane : lanes_) {
      if (lane->process) lane->process->stop();
    }
  }

  SweepEnd end() {
    SweepEnd result = ending_.value_or(SweepEnd::complete);
    // The time was over before all attempts were: what its device did not run is not for want of time.
    for (const auto& lane : lanes_) {
      if (!lane->out && lane->failed_starts > 0) give_up(*lane);
    }
    for (std::size_t i = 0; i < state_.items.size(); ++i) {
      ItemState& item = state_.items[i];
      if (item.status != ItemStatus::pending) continue;
      const Lane* out = lane_out_of(i);
      if (result == SweepEnd::no_room) {
        item.status = ItemStatus::no_room;
      } else if (out != nullptr && result != SweepEnd::interrupted) {
        item.status = ItemStatus::no_device;
        item.reason = state_.devices[out->plan.key].out_reason;
      } else if (result != SweepEnd::interrupted) {
        item.status = ItemStatus::no_time;
        result = SweepEnd::deadline;
      }
    }
    changed();
    if (options_.conclude) options_.conclude(result);
    state_.ended = result == SweepEnd::complete || result == SweepEnd::deadline;
    save();
    write_status(sweep_end_name(result));
    return result;
  }

  // ---- what is next

  double left_s() const {
    return options_.time_left_s ? *options_.time_left_s - seconds_between(start_, Clock::now()) : std::numeric_limits<double>::infinity();
  }

  bool pending(std::size_t item) const {
    return state_.items[item].status == ItemStatus::pending &&
           std::none_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) { return lane->process && lane->running == item; });
  }

  TimeClaim claim(std::size_t item) const {
    const FrozenItem& frozen = state_.plan.items[item];
    return {frozen.estimate.seconds, frozen.estimate.gain * frozen.item.settings.priority};
  }

  // The lane's first item that is left, with its share of the time; nothing if there is none, or no time for any.
  std::optional<Start> next_of(const Lane& lane) const {
    if (lane.out) return std::nullopt;
    if (!options_.time_left_s) {
      const auto found = std::find_if(lane.plan.items.begin(), lane.plan.items.end(), [&](std::size_t item) { return pending(item); });
      return found == lane.plan.items.end() ? std::nullopt : std::optional(Start{*found, std::nullopt});
    }
    std::vector<std::size_t> items;
    std::vector<TimeClaim> claims;
    for (const std::size_t item : state_.order) {
      if (!pending(item) || !claims_time_with(lane, item)) continue;
      items.push_back(item);
      claims.push_back(claim(item));
    }
    const double left = left_s() - kMarginSeconds;
    const std::vector<double> limits = divide_time((left - kept_for_alone(lane, left)) * lanes_with(lane), claims);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (limits[i] > 0 && lane.may_run[items[i]]) {
        return Start{items[i], std::min(limits[i], left)};
      }
    }
    return std::nullopt;
  }

  // Lanes that share items share their time, too.
  bool claims_time_with(const Lane& lane, std::size_t item) const {
    return std::any_of(lanes_.begin(), lanes_.end(), [&](const auto& other) {
      const bool together = other.get() == &lane || (lane.plan.shares && other->plan.shares && !other->out);
      return together && other->may_run[item];
    });
  }
  double lanes_with(const Lane& lane) const {
    if (!lane.plan.shares) return 1;
    return static_cast<double>(std::count_if(lanes_.begin(), lanes_.end(), [](const auto& other) { return other->plan.shares && !other->out; }));
  }

  // Seconds that the others leave to a lane that measures alone: what it is expected to take, but no more than its worth among all.
  double kept_for_alone(const Lane& lane, double left) const {
    if (lane.plan.alone) return 0;
    double alone_s = 0, alone_worth = 0, worth = 0;
    for (const auto& other : lanes_) {
      for (const std::size_t item : other->plan.items) {
        if (other->out || !pending(item)) continue;
        const TimeClaim what = claim(item);
        worth += what.worth;
        if (other->plan.alone) {
          alone_s += what.seconds;
          alone_worth += what.worth;
        }
      }
    }
    return worth > 0 ? std::min(alone_s, left * alone_worth / worth) : 0;
  }

  bool others_have_work(const Lane& lane) const {
    return std::any_of(lanes_.begin(), lanes_.end(),
                       [&](const auto& other) { return other.get() != &lane && (other->process || next_of(*other).has_value()); });
  }

  // ---- sessions

  void start_next(Lane& lane) {
    if (lane.process || lane.out || Clock::now() < lane.not_before) return;
    const std::optional<Start> next = next_of(lane);
    if (!next || (lane.plan.alone && others_have_work(lane))) return;
    start_session(lane, *next);
  }

  void start_session(Lane& lane, const Start& next) {
    const FrozenItem& frozen = state_.plan.items[next.item];
    ItemState& item = state_.items[next.item];
    SessionTerms terms;
    terms.program = options_.program;
    terms.book = options_.book;
    terms.device = lane.plan.device.empty() ? frozen.item.device : lane.plan.device;
    terms.retime = frozen.decision.action == Action::retime && !item.tune_instead;
    terms.remeasure = frozen.decision.remeasure;
    terms.time_limit_s = next.limit_s;
    terms.compile_workers = compile_workers();
    std::vector<std::string> command = session_command(frozen.item, terms);
    command.insert(command.end(), {"--sweep-start", state_.start_utc});
    event(fmt::format("{}: {} {}: {}{}", lane.plan.name, action_name(item.tune_instead ? Action::tune : frozen.decision.action), frozen.item.display(),
                      frozen.decision.reason, item.attempts > 0 ? fmt::format(" (attempt {})", item.attempts + 1) : ""));
    lane.running = next.item;
    lane.since = Clock::now();
    if (!lane.first) lane.first = lane.since;
    lane.heard = lane.since;
    lane.hung = false;
    lane.progress = {};
    lane.process = std::make_unique<SessionProcess>(
        loop_, std::move(command), std::vector<std::pair<std::string, std::string>>{{"TUNEBOOK_COMPILE_SLOTS", options_.files.slots.string()}},
        SessionProcess::Callbacks{[&lane](const nlohmann::json& line) {
                                    lane.heard = Clock::now();
                                    lane.progress.take(line);
                                  },
                                  [this, &lane](SessionExit exit) { session_ended(lane, std::move(exit)); }});
    status_written_ = {};
  }

  // A session keeps time limits of its own for all that it does; what still hangs is a fault in it, or a file system that does not answer.
  double most_silence_s(const SweepItem& item) const {
    const double own_limits = 2 * (item.settings.run_timeout_s + item.settings.compile_timeout_s);
    return options_.silent_s * (item.settings.sanitize ? kSilentUnderTools : 1) + own_limits;
  }
  void end_if_hung(Lane& lane) {
    if (!lane.process || lane.hung) return;
    if (seconds_between(lane.heard, Clock::now()) <= most_silence_s(state_.plan.items[lane.running].item)) return;
    lane.hung = true;
    lane.process->kill();
  }

  // Twice its share of the cores: whoever has something to compile may use what the others leave, and the slots bound all together.
  int compile_workers() const {
    const auto lanes = static_cast<int>(std::max<std::size_t>(lanes_.size(), 1));
    return lanes == 1 ? 0 : std::clamp(2 * options_.cores / lanes, 1, options_.cores);
  }

  void session_ended(Lane& lane, SessionExit exit) {
    const Clock::time_point now = Clock::now();
    lane.process.reset();
    woken_ = true;
    DeviceWork& work = state_.devices[lane.plan.key];
    ++work.sessions;
    work.session_s += seconds_between(lane.since, now);
    work.available_s = lane.available_before + seconds_between(*lane.first, now);
    ItemState& item = state_.items[lane.running];
    SessionOutcome outcome = session_outcome(exit, options_.book);
    if (lane.hung) outcome.message = fmt::format("it said nothing for {} and was killed", duration_text(seconds_between(lane.heard, now)));
    using Kind = SessionOutcome::Kind;
    if (outcome.kind == Kind::finished) {
      lane.failed_starts = 0;
      work.busy_s += busy_seconds(outcome.result);
      finish_item(lane, item, outcome.result);
    } else if (ending_) {
      item.status = ItemStatus::interrupted;
      item.reason = fmt::format("asked to end after {}; its trials are kept", duration_text(seconds_between(lane.since, now)));
    } else if (outcome.kind == Kind::nothing_stands) {
      item.tune_instead = true;
    } else {
      session_failed(lane, item, outcome);
    }
    changed();
  }

  void finish_item(const Lane& lane, ItemState& item, const nlohmann::ordered_json& result) {
    item.result = shortened(result);
    item.result["device"] = lane.plan.name;
    item.reason.clear();
    const bool cut = result.value("cut", false);
    item.status = cut ? ItemStatus::cut : result.at("winner").is_null() ? ItemStatus::no_winner : ItemStatus::done;
    if (item.status == ItemStatus::no_winner) item.reason = "no configuration passed";
    std::string found = "no configuration passed";
    if (result.at("winner").is_object()) found = fmt::format("{:.4g} us", result["winner"].value("median_us", 0.0));
    event(fmt::format("{}: {} {}: {} in {}", lane.plan.name, cut ? "cut" : "done", state_.plan.items[lane.running].item.display(), found,
                      duration_text(seconds_between(lane.since, Clock::now()))));
  }

  void session_failed(Lane& lane, ItemState& item, const SessionOutcome& outcome) {
    using Kind = SessionOutcome::Kind;
    const std::string name = state_.plan.items[lane.running].item.display();
    item.reason = outcome.message;
    const auto wait = [&](double seconds) { lane.not_before = Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds)); };
    event(fmt::format("{}: {} did not end well: {}", lane.plan.name, name, outcome.message));
    if (outcome.kind == Kind::no_room) {
      begin_to_end(SweepEnd::no_room);
    } else if (outcome.kind == Kind::no_device) {
      lane.why_failed = outcome.message;
      if (++lane.failed_starts < kDeviceAttempts) return wait(kDeviceRetrySeconds);
      give_up(lane);
      event(fmt::format("{}: it cannot be used any more; the rest of the plan goes on without it", lane.plan.name));
    } else {
      ++item.attempts;
      if (outcome.kind == Kind::bad_input || item.attempts >= kItemAttempts) item.status = ItemStatus::failed;
      else wait(kRetrySeconds);
    }
  }

  void give_up(Lane& lane) {
    lane.out = true;
    state_.devices[lane.plan.key].out_reason = lane.why_failed;
  }

  // The lane that an item has to do without; null if there is one that could run it.
  const Lane* lane_out_of(std::size_t item) const {
    const Lane* out = nullptr;
    for (const auto& lane : lanes_) {
      if (!lane->may_run[item]) continue;
      if (!lane->out) return nullptr;
      out = lane.get();
    }
    return out;
  }

  // ---- telling

  void event(const std::string& text) const {
    if (observer_.event) observer_.event(text);
  }

  void changed() {
    unsaved_ = true;
    state_.wall_s = wall_before_ + seconds_between(start_, Clock::now());
    status_written_ = {};
  }

  // A state that cannot be written is told once: the sweep goes on, and the book holds what counts.
  void save() {
    unsaved_ = false;
    const Clock::time_point begun = Clock::now();
    write("state", [this] { state_.save(options_.files.state); });
    saved_ = Clock::now();
    save_s_ = seconds_between(begun, saved_);
  }

  void write_status(std::string_view ended = "") {
    status_written_ = Clock::now();
    SweepStatus status;
    status.ended = ended;
    status.remaining_s = remaining_s();
    status.resume_command = options_.resume_command;
    for (const auto& lane : lanes_) {
      LaneStatus entry{lane->plan.name, lane->out ? "out" : lane->process ? "running" : "idle", "", {}, 0};
      if (lane->process) {
        entry.item = state_.plan.items[lane->running].item.display();
        entry.progress = lane->progress;
        entry.seconds = seconds_between(lane->since, Clock::now());
      }
      status.lanes.push_back(std::move(entry));
    }
    write("status", [&] { status.save(state_, options_.files.status); });
  }

  template <class Action>
  void write(const std::string& what, Action&& action) {
    try {
      action();
    } catch (const EnvironmentError& error) {
      if (told_.insert(what).second) event(fmt::format("the {} of the sweep is not kept: {}", what, error.what()));
    }
  }

  // By the estimates, corrected by how long the sessions of this run took.
  double remaining_s() const {
    double expected = 0, taken = 0;
    for (std::size_t i = 0; i < state_.items.size(); ++i) {
      const auto& result = state_.items[i].result;
      if (!result.is_object() || !result.contains("wall_s")) continue;
      expected += state_.plan.items[i].estimate.seconds;
      taken += result["wall_s"].get<double>();
    }
    const double factor = expected > 0 && taken > 0 ? std::clamp(taken / expected, 0.1, 10.0) : 1;
    double longest = 0, alone = 0;
    for (const auto& lane : lanes_) {
      double seconds = 0;
      if (lane->process) {
        seconds += std::max(0.0, factor * state_.plan.items[lane->running].estimate.seconds - seconds_between(lane->since, Clock::now()));
      }
      for (const std::size_t item : lane->plan.items) {
        const bool shared = lane->plan.shares && state_.plan.items[item].item.device != lane->plan.device;
        if (!lane->out && pending(item)) seconds += factor * state_.plan.items[item].estimate.seconds / (shared ? lanes_with(*lane) : 1);
      }
      (lane->plan.alone ? alone : longest) = std::max(lane->plan.alone ? alone : longest, seconds);
    }
    return std::min(longest + alone, std::max(0.0, left_s()));
  }

  std::string live_text() const {
    const auto counts = count_items(state_);
    const auto count = [&](ItemStatus status) { return counts.contains(status) ? counts.at(status) : 0; };
    const std::size_t finished = count(ItemStatus::done) + count(ItemStatus::cut) + count(ItemStatus::no_winner) + count(ItemStatus::failed);
    std::string text = fmt::format("{}/{} sessions", finished, state_.order.size());
    if (count(ItemStatus::failed) > 0) text += fmt::format(", {} failed", count(ItemStatus::failed));
    text += fmt::format(", about {} left", duration_text(remaining_s()));
    for (const auto& lane : lanes_) {
      if (!lane->process) continue;
      text += fmt::format("; {}: {} {}", lane->plan.name, state_.plan.items[lane->running].item.kernel, lane->progress.text());
    }
    return text;
  }

  SweepState& state_;
  const SweepOptions& options_;
  const SweepObserver& observer_;
  EventLoop loop_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // their processes end before the loop does
  Clock::time_point start_;
  double wall_before_ = 0;
  std::optional<SweepEnd> ending_;
  Clock::time_point ending_since_;
  bool woken_ = false;
  bool unsaved_ = false;
  double save_s_ = 0;  // that writing the state took
  Clock::time_point saved_{}, status_written_{};
  std::set<std::string> told_;
  std::map<std::size_t, int> taken_up_;  // how often a cut item was
};

}  // namespace

SweepEnd run_sweep(SweepState& state, const std::vector<LanePlan>& lanes, const SweepOptions& options, const SweepObserver& observer) {
  return Coordinator(state, lanes, options, observer).run();
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::max(0.0, seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace tunebook
