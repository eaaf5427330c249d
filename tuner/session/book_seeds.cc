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

constexpr const char* kPredicted = "predicted";

}  // namespace

std::string BookSeeds::to_text() const {
  if (others.empty()) return standing_winner ? standing_winner->canonical() : "";
  nlohmann::json list = nlohmann::json::array();
  list.push_back(standing_winner ? nlohmann::json::parse(standing_winner->canonical()) : nlohmann::json(nullptr));
  for (const BookSeed& seed : others) {
    nlohmann::json configuration = nlohmann::json::parse(seed.configuration.canonical());
    // No value of a configuration is an object, so this one is told from a parameter of that name.
    if (seed.predicted)
      list.push_back({{kPredicted, std::move(configuration)}});
    else
      list.push_back(std::move(configuration));
  }
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
      const bool predicted =
          json[i].is_object() && json[i].contains(kPredicted) && json[i][kPredicted].is_object();
      seeds.others.push_back({Configuration::from_json(predicted ? json[i][kPredicted] : json[i],
                                                       "proposal from the book"),
                              predicted});
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

std::vector<BookSeed> mixed_seeds(const std::vector<Configuration>& predicted,
                                  const std::vector<Configuration>& winners, std::size_t limit) {
  // What a model puts first loses less than the winners of near problems, but these are right where
  // the model is wrong.
  constexpr std::size_t kTurn = 3;
  std::vector<BookSeed> seeds;
  std::size_t next_predicted = 0, next_winner = 0;
  while (seeds.size() < limit && next_predicted + next_winner < predicted.size() + winners.size()) {
    const bool winners_turn = (next_predicted + next_winner) % kTurn == kTurn - 1;
    const bool take_winner =
        next_winner < winners.size() && (winners_turn || next_predicted == predicted.size());
    BookSeed seed{take_winner ? winners[next_winner++] : predicted[next_predicted++], !take_winner};
    const bool known = std::any_of(seeds.begin(), seeds.end(), [&](const BookSeed& earlier) {
      return earlier.configuration == seed.configuration;
    });
    if (!known) seeds.push_back(std::move(seed));
  }
  return seeds;
}

std::size_t predicted_trials(std::uint64_t trials) {
  constexpr std::uint64_t kTenths = 3, kLeast = 3, kMost = 24;
  return static_cast<std::size_t>(
      std::clamp(trials / 10 * kTenths + trials % 10 * kTenths / 10, kLeast, kMost));
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
