#include "session/book_seeds.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

namespace tunebook {
namespace {

double squared_distance(const Problem& x, const Problem& y) {
  constexpr double kOtherCategory = 100;  // like a size 2^10 times as large
  double sum = 0;
  for (const auto& [name, value] : x.items()) {
    const Value* other = y.find(name);
    const std::int64_t* a = std::get_if<std::int64_t>(&value);
    const std::int64_t* b = other == nullptr ? nullptr : std::get_if<std::int64_t>(other);
    if (a != nullptr && b != nullptr && *a > 0 && *b > 0) {
      const double difference = std::log2(static_cast<double>(*a)) - std::log2(static_cast<double>(*b));
      sum += difference * difference;
    } else if (other == nullptr || !(*other == value)) {
      sum += kOtherCategory;
    }
  }
  return sum;
}

}  // namespace

std::string BookSeeds::to_text() const {
  if (others.empty()) return standing_winner ? standing_winner->canonical() : "";
  nlohmann::json list = nlohmann::json::array();
  list.push_back(standing_winner ? nlohmann::json::parse(standing_winner->canonical()) : nlohmann::json(nullptr));
  for (const Configuration& configuration : others) list.push_back(nlohmann::json::parse(configuration.canonical()));
  return list.dump();
}

BookSeeds BookSeeds::from_text(const std::string& text) {
  BookSeeds seeds;
  if (text.empty()) return seeds;
  const auto json = nlohmann::ordered_json::parse(text);
  if (!json.is_array()) {
    seeds.standing_winner = Configuration::from_json(json, "standing winner");
    return seeds;
  }
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (i > 0) {
      seeds.others.push_back(Configuration::from_json(json[i], "winner of another problem"));
    } else if (!json[i].is_null()) {
      seeds.standing_winner = Configuration::from_json(json[i], "standing winner");
    }
  }
  return seeds;
}

std::vector<Configuration> related_winners(const Store& store, const TrialContext& context, const Problem& problem, const SearchSpace& space,
                                           const std::string& objective, const std::string& other_devices_before_utc,
                                           std::size_t limit) {
  struct Candidate {
    bool other_device = false;
    double distance = 0;
    Configuration configuration;
  };
  const std::string device = context.device.key();
  std::vector<Candidate> candidates;
  std::optional<Store::OtherDevices> others;
  if (!other_devices_before_utc.empty()) others = {device, other_devices_before_utc};
  for (Store::KernelWinner& winner : store.kernel_winners(context.kernel, objective, others)) {
    const bool other_device = winner.device_key != device;
    if (!other_device && winner.problem == problem) continue;  // the standing winner, or one measured otherwise
    candidates.push_back({other_device, squared_distance(problem, winner.problem), std::move(winner.configuration)});
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& x, const Candidate& y) {
    return x.other_device != y.other_device ? y.other_device : x.distance < y.distance;
  });
  std::vector<Configuration> chosen;
  for (Candidate& candidate : candidates) {
    if (chosen.size() == limit) break;
    if (!declared(space, candidate.configuration) || !space.find(candidate.configuration)) continue;
    if (std::find(chosen.begin(), chosen.end(), candidate.configuration) == chosen.end()) chosen.push_back(std::move(candidate.configuration));
  }
  return chosen;
}

bool declared(const SearchSpace& space, const Configuration& configuration) {
  const std::vector<Parameter>& parameters = space.parameters();
  return configuration.items().size() == parameters.size() &&
         std::all_of(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
           const Value* value = configuration.find(parameter.name);
           return value != nullptr && std::find(parameter.values.begin(), parameter.values.end(), *value) != parameter.values.end();
         });
}

}  // namespace tunebook
