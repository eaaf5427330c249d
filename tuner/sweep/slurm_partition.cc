#include "sweep/slurm_partition.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sweep/prepare.h"

namespace tunebook {
namespace {

// An item without any expectation still takes a while: else all of them would be one part's.
constexpr double kLeastSeconds = 1;

// In the order in which they were given.
std::vector<SlurmOption> options_for(const std::set<std::string>& devices, const std::vector<SlurmOption>& options) {
  std::vector<SlurmOption> result;
  for (const SlurmOption& option : options) {
    if (option.scope.empty() || devices.contains(option.scope)) result.push_back(option);
  }
  return result;
}

std::string text_of(const std::vector<SlurmOption>& options) {
  std::string text;
  for (const SlurmOption& option : options) text += option.argument() + "\n";
  return text;
}

struct Group {
  std::vector<std::size_t> items;
  std::vector<double> seconds;
  double total = 0;
  std::size_t parts = 1;
};

// One part each, and then one after the other to the group whose parts are the longest.
void give_parts(std::map<std::string, Group>& groups, std::size_t parts) {
  for (std::size_t given = groups.size(); given < parts; ++given) {
    Group* longest = nullptr;
    for (auto& [text, group] : groups) {
      if (group.parts == group.items.size()) continue;
      if (longest == nullptr || group.total / static_cast<double>(group.parts) > longest->total / static_cast<double>(longest->parts)) longest = &group;
    }
    if (longest == nullptr) return;
    ++longest->parts;
  }
}

}  // namespace

void divide_for_slurm(FrozenPlan& plan, const std::vector<SlurmOption>& options, std::size_t shards) {
  std::map<std::string, Group> groups;  // by the options
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    if (plan.items[i].decision.action == Action::fresh) continue;
    Group& group = groups[text_of(options_for({plan.items[i].item.device}, options))];
    group.items.push_back(i);
    group.seconds.push_back(std::max(plan.items[i].estimate.seconds, kLeastSeconds));
    group.total += group.seconds.back();
  }
  give_parts(groups, shards);
  plan.shards.clear();
  for (const auto& [text, group] : groups) {
    for (std::vector<std::size_t>& part : balanced_partition(group.seconds, group.parts)) {
      for (std::size_t& index : part) index = group.items[index];
      plan.shards.push_back(work_order(plan.items, std::move(part)));
    }
  }
}

std::vector<SlurmArray> arrays_for(const FrozenPlan& plan, const std::vector<SlurmOption>& options, const std::vector<std::size_t>& shards) {
  std::vector<SlurmArray> arrays;
  for (const std::size_t shard : shards) {
    std::set<std::string> devices;
    for (const std::size_t item : plan.shards.at(shard)) devices.insert(plan.items[item].item.device);
    std::vector<SlurmOption> own = options_for(devices, options);
    const auto same = std::find_if(arrays.begin(), arrays.end(), [&](const SlurmArray& array) { return text_of(array.options) == text_of(own); });
    if (same != arrays.end()) same->shards.push_back(shard);
    else arrays.push_back({{shard}, std::move(own)});
  }
  return arrays;
}

std::vector<SlurmOption> merge_options_of(const std::vector<SlurmOption>& options) { return options_for({"merge"}, options); }

}  // namespace tunebook
