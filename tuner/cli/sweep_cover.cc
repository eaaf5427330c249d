#include "cli/sweep_cover.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "cli/terminal.h"
#include "core/error.h"
#include "db/session_history.h"
#include "learn/adviser.h"
#include "session/device_listing.h"
#include "sweep/kernel_catalog.h"
#include "worker/method.h"

namespace tunebook::cli {
namespace {

// Candidates whose loss is predicted for a question: what is best on it is nearly always among the
// 64 that were timed most often and are valid, and all questions then take half a second.
constexpr std::size_t kCandidates = 64;

class Source {
 public:
  Source(const SweepPlan& plan, std::filesystem::path book, LearnPurpose purpose,
         std::function<void(const std::string&)> note)
      : catalog_(plan.templates),
        book_(std::move(book)),
        purpose_(purpose),
        note_(std::move(note)) {}

  CoverKnowledge of(const CoverRegion& region, const std::vector<CoverQuestion>& questions) {
    CoverKnowledge knowledge;
    const std::optional<Device>& device = device_of(region.item.device);
    if (!device) return knowledge;
    const KernelTemplate& kernel = catalog_.find_template(region.item.kernel);
    const CacheMode cache =
        region.item.settings.cache == "warm" ? CacheMode::warm : CacheMode::cold;
    const std::string method =
        timing_method(device->kind, cache, region.item.settings.lock_clocks_mhz);
    add_winners(knowledge, region, kernel, *device, method);
    if (region.item.settings.objective != Objective::time) return knowledge;
    const Value* dtype = region.item.problem.find("dtype");
    // A dry run on a machine without a book.
    if (!std::filesystem::exists(book_)) return knowledge;
    const auto learned = learned_model({book_, kernel.spec.name, kernel.hash, *device,
                                        dtype != nullptr ? to_text(*dtype) : "", method},
                                       purpose_);
    if (!learned) return knowledge;
    knowledge.loss = learned->model.loss;
    add_predictions(knowledge, region, questions, *learned, *device);
    return knowledge;
  }

 private:
  const std::optional<Device>& device_of(const std::string& text) {
    const auto [found, is_new] = devices_.try_emplace(text);
    if (!is_new) return found->second;
    const DeviceListing listing = probe_device(DeviceChoice::parse(text));
    if (listing.hello && listing.hello->device)
      found->second = *listing.hello->device;
    else
      note_(fmt::format(
          "device {} cannot be asked what it is ({}): its regions are taken for unknown", text,
          listing.error));
    return found->second;
  }

  // Problems in the region's categories that have a winner of this kernel version.
  void add_winners(CoverKnowledge& knowledge, const CoverRegion& region,
                   const KernelTemplate& kernel, const Device& device,
                   const std::string& method) const {
    const std::string key = device.key(), objective(objective_name(region.item.settings.objective));
    for (const SessionSummary& session : read_session_history(book_, {kernel.spec.name}).sessions) {
      const bool counts = session.finished && !session.winner.empty() &&
                          session.kernel_hash == kernel.hash && session.device_key == key &&
                          session.method == method && session.objective == objective;
      if (counts) add_tuned(knowledge, region, session.problem);
    }
  }

  static void add_tuned(CoverKnowledge& knowledge, const CoverRegion& region,
                        const Problem& problem) {
    std::vector<std::int64_t> sizes;
    for (const auto& [name, value] : region.item.problem.items()) {
      const Value* found = problem.find(name);
      if (found == nullptr || found->index() != value.index()) return;
      if (const auto* size = std::get_if<std::int64_t>(found))
        sizes.push_back(*size);
      else if (!(*found == value))
        return;
    }
    if (std::find(knowledge.tuned.begin(), knowledge.tuned.end(), sizes) == knowledge.tuned.end()) {
      knowledge.tuned.push_back(std::move(sizes));
    }
  }

  static void add_predictions(CoverKnowledge& knowledge, const CoverRegion& region,
                              const std::vector<CoverQuestion>& questions,
                              const LearnedTimes& learned, const Device& device) {
    const auto predicted = [&](const std::vector<std::int64_t>& sizes) {
      learn::Adviser adviser(learned.model, learned.spec, region.item_for(sizes).problem, device);
      return adviser.least_predicted_loss(kCandidates);
    };
    for (const CoverQuestion& question : questions) {
      knowledge.least_predicted.push_back(predicted(question.sizes).value_or(-1));
    }
    double sum = 0;
    int count = 0;
    for (const auto& sizes : knowledge.tuned) {
      const auto loss = predicted(sizes);
      sum += loss.value_or(0);
      count += loss ? 1 : 0;
    }
    knowledge.usual_prediction = count > 0 ? sum / count : 0;
  }

  KernelCatalog catalog_;
  std::filesystem::path book_;
  LearnPurpose purpose_;
  std::function<void(const std::string&)> note_;
  std::map<std::string, std::optional<Device>> devices_;
};

}  // namespace

CoverSource cover_source(const SweepPlan& plan, const std::filesystem::path& book,
                         LearnPurpose purpose, std::function<void(const std::string&)> note) {
  auto source = std::make_shared<Source>(plan, book, purpose, std::move(note));
  return [source](const CoverRegion& region, const std::vector<CoverQuestion>& questions) {
    return source->of(region, questions);
  };
}

nlohmann::ordered_json preview_regions(CoverPlanner& planner) {
  std::vector<CoverDecision> decisions = planner.next(kShownChoices, {});
  if (decisions.size() > kShownChoices) decisions.resize(kShownChoices);
  nlohmann::ordered_json regions = nlohmann::ordered_json::array();
  for (const RegionProgress& one : planner.progress()) {
    regions.push_back({{"region", one.region},
                       {"questions", one.questions},
                       {"target_loss", one.target_loss},
                       {"expected_loss", one.now},
                       {"model", one.model},
                       {"covered", one.covered},
                       {"first", nlohmann::ordered_json::array()}});
  }
  for (const CoverDecision& decision : decisions) {
    regions[decision.region]["first"].push_back({{"id", decision.item.id()},
                                                 {"problem", decision.item.problem.to_json()},
                                                 {"device", decision.item.device},
                                                 {"reason", decision.reason}});
  }
  return regions;
}

void print_regions(const nlohmann::ordered_json& preview) {
  for (const auto& region : preview) {
    fmt::print(
        "region {}: {} questions, expected loss {:.2f} %{}, target {:g} %{}\n",
        region["region"].get<std::string>(), region["questions"].get<std::size_t>(),
        100 * region["expected_loss"].get<double>(),
        region["model"].get<bool>() ? "" : " (by distances alone: there is no model of time yet)",
        100 * region["target_loss"].get<double>(),
        region["covered"].get<bool>() ? ": covered" : "");
    TextTable table;
    table.header = {"would be tuned", "why"};
    for (const auto& first : region["first"]) {
      const Problem problem = Problem::from_json(first["problem"], "problem");
      table.rows.push_back({problem.display(), first["reason"].get<std::string>()});
    }
    if (!table.rows.empty()) fmt::print("{}\n", terminal_text(table));
  }
}

void refuse_regions(const SweepPlan& plan) {
  if (plan.regions.empty()) return;
  throw InputError(
      fmt::format("{}: {}: \"cover\" cannot be frozen for --slurm: what is tuned next depends on "
                  "what was learned before; run the plan "
                  "with tunebook sweep on one machine, or list \"shapes\"",
                  plan.file, plan.regions.front().path));
}

}  // namespace tunebook::cli
