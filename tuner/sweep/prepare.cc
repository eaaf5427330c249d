#include "sweep/prepare.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "db/session_history.h"
#include "search/space.h"
#include "search/strategy.h"
#include "session/device_executor.h"
#include "session/subject.h"
#include "sweep/estimate.h"
#include "sweep/freshness.h"
#include "sweep/kernel_catalog.h"
#include "sweep/night_comparison.h"
#include "sweep/session_index.h"
#include "worker/method.h"

namespace tunebook {
namespace {

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// The largest space that is worth building for an estimate.
constexpr std::uint64_t kMostConfigurations = 100'000'000;

class Preparation {
 public:
  Preparation(const SweepPlan& plan, const PrepareOptions& options)
      : plan_(plan), options_(options), catalog_(plan.templates), history_(read_session_history(options.book, kernels_of(plan))), index_(history_),
        estimator_(history_, index_) {}

  PreparedPlan run() {
    FrozenPlan& frozen = prepared_.plan;
    frozen.plan_hash = plan_.hash();
    frozen.name = plan_.name;
    frozen.frozen_at = options_.sweep_start;
    frozen.time = plan_.time;
    for (const SweepItem& item : plan_.items) frozen.items.push_back(prepare_one(item));
    frozen.shards = divide(frozen.items, options_.shards);
    return std::move(prepared_);
  }

 private:
  static std::set<std::string> kernels_of(const SweepPlan& plan) {
    std::set<std::string> kernels;
    for (const SweepItem& item : plan.items) kernels.insert(item.kernel);
    return kernels;
  }

  FrozenItem prepare_one(const SweepItem& item) {
    const auto [hash, place] = hash_and_place(item);
    const ItemContext context{hash, place.device.kind.empty() ? "" : place.device.key(), place.toolchain, place.method};
    FrozenItem frozen;
    frozen.item = item;
    frozen.decision = decide(item, context, index_, options_.now, options_.sweep_start);
    frozen.estimate = estimator_.estimate(item, context, frozen.decision, space_size(item, place.device));
    frozen.noise = night_noise(item, context, index_, options_.sweep_start);
    return frozen;
  }

  std::pair<std::string, MeasuringPlace> hash_and_place(const SweepItem& item) {
    if (item.is_replay()) {
      const KernelCatalog::Recorded& recorded = catalog_.recordings(item.replay_path()).front();
      return {recorded.hash, {recorded.device, recorded.toolchain, recorded.method}};
    }
    const KernelTemplate& kernel = catalog_.find_template(item.kernel);
    MeasuringPlace place = device_place(item.device, kernel);
    const CacheMode cache = item.settings.cache == "warm" ? CacheMode::warm : CacheMode::cold;
    place.method = timing_method(place.device.kind, cache, item.settings.lock_clocks_mhz);
    return {kernel.hash, std::move(place)};
  }

  // Without its method. Asked once: the toolchain is the same for every kernel.
  MeasuringPlace device_place(const std::string& device, const KernelTemplate& kernel) {
    if (const auto known = places_.find(device); known != places_.end()) return known->second;
    return places_[device] = options_.ask_devices ? asked_place(device, kernel) : remembered_place(device, "");
  }

  MeasuringPlace asked_place(const std::string& device, const KernelTemplate& kernel) {
    DeviceExecutorOptions executor_options;
    executor_options.device = DeviceChoice::parse(device);
    executor_options.compile_workers = 1;
    try {
      const DeviceExecutor executor(kernel, executor_options);
      return {executor.identity().device, executor.identity().toolchain, ""};
    } catch (const InputError& error) {
      return remembered_place(device, one_line(error.what()));
    } catch (const EnvironmentError& error) {
      return remembered_place(device, one_line(error.what()));
    }
  }

  // What the book's newest session on a device of this kind says; `why`: why it was not asked.
  MeasuringPlace remembered_place(const std::string& device, const std::string& why) {
    const std::string kind = device.substr(0, device.find(':'));
    const std::string reason = why.empty() ? fmt::format("{} was not asked what it is", device) : why;
    for (auto session = history_.sessions.rbegin(); session != history_.sessions.rend(); ++session) {
      if (session->device.kind != kind) continue;
      prepared_.notes.push_back(fmt::format("{}; it is taken to be the device of the book's newest session: {}, {}", reason, session->device.name, session->toolchain));
      return {session->device, session->toolchain, ""};
    }
    prepared_.notes.push_back(fmt::format("{}; the book knows no device of this kind either", reason));
    MeasuringPlace place;
    place.device.kind = "";
    return place;
  }

  // Only budgets that are a share of the space need it. Sizes change it little: the first problem of each combination of categories stands for
  // the others. A space that cannot be built is the session's own fault, told when it runs.
  std::optional<std::uint64_t> space_size(const SweepItem& item, const Device& device) {
    if (item.is_replay() || device.kind.empty() || !Budget::parse(item.settings.budget).share) return std::nullopt;
    std::string key = item.kernel + '\n' + item.device;
    for (const auto& [name, value] : item.problem.items()) {
      if (const auto* category = std::get_if<std::string>(&value)) key += '\n' + *category;
    }
    for (const std::string& constraint : item.settings.where) key += '\n' + constraint;
    const auto [found, is_new] = space_sizes_.try_emplace(key);
    if (!is_new) return found->second;
    try {
      const KernelSpec& spec = catalog_.find_template(item.kernel).spec;
      found->second = SearchSpace::build(template_space(spec, item.problem, device, item.settings.where), kMostConfigurations).size();
    } catch (const InputError&) {
      // Stays unknown.
    }
    return found->second;
  }

  const SweepPlan& plan_;
  const PrepareOptions& options_;
  KernelCatalog catalog_;
  SessionHistory history_;
  SessionIndex index_;
  Estimator estimator_;
  std::map<std::string, MeasuringPlace> places_;
  std::map<std::string, std::optional<std::uint64_t>> space_sizes_;
  PreparedPlan prepared_;
};

}  // namespace

std::vector<std::size_t> work_order(const std::vector<FrozenItem>& items, std::vector<std::size_t> which) {
  std::stable_sort(which.begin(), which.end(), [&](std::size_t x, std::size_t y) {
    // What was begun is finished first: its trials are paid for.
    const bool x_begun = items[x].decision.action == Action::go_on;
    const bool y_begun = items[y].decision.action == Action::go_on;
    if (x_begun != y_begun) return x_begun;
    return worth(items[x].item, items[x].estimate) > worth(items[y].item, items[y].estimate);
  });
  return which;
}

std::vector<std::vector<std::size_t>> divide(const std::vector<FrozenItem>& items, std::size_t shards) {
  std::vector<std::size_t> work;
  std::vector<double> seconds;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].decision.action == Action::fresh) continue;
    work.push_back(i);
    seconds.push_back(items[i].estimate.seconds);
  }
  std::vector<std::vector<std::size_t>> parts = balanced_partition(seconds, shards);
  for (std::vector<std::size_t>& part : parts) {
    for (std::size_t& index : part) index = work[index];
    part = work_order(items, std::move(part));
  }
  return parts;
}

PreparedPlan prepare(const SweepPlan& plan, const PrepareOptions& options) { return Preparation(plan, options).run(); }

FrozenItem prepare_item(const SweepItem& item, const std::string& kernel_hash, const MeasuringPlace& place, const PrepareOptions& options) {
  const SessionHistory history = read_session_history(options.book, {item.kernel});
  const SessionIndex index(history);
  const ItemContext context{kernel_hash, place.device.key(), place.toolchain, place.method};
  FrozenItem frozen;
  frozen.item = item;
  frozen.decision = decide(item, context, index, options.now, options.sweep_start);
  frozen.estimate = Estimator(history, index).estimate(item, context, frozen.decision);
  frozen.noise = night_noise(item, context, index, options.sweep_start);
  return frozen;
}

}  // namespace tunebook
