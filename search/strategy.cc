#include "search/strategy.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/json_text.h"
#include "search/auto_strategy.h"
#include "search/differential_evolution.h"
#include "search/genetic.h"
#include "search/local_search.h"
#include "search/random_order.h"
#include "search/surrogate.h"
#include "search/taken_set.h"

namespace tunebook {
namespace {

// The bookkeeping of strategies that go through the indices in an order of their own and learn nothing.
class OrderedStrategy : public Strategy {
 public:
  explicit OrderedStrategy(std::uint64_t size) : taken_(size) {}

  std::vector<std::uint64_t> ask(std::size_t count) override {
    std::vector<std::uint64_t> proposals;
    while (proposals.size() < count && taken_.remaining() > 0) {
      const std::uint64_t index = next();
      if (taken_.insert(index)) proposals.push_back(index);
    }
    return proposals;
  }
  void tell(std::uint64_t, const Observation&) override {}
  bool exhausted() const override { return taken_.remaining() == 0; }
  void exclude(std::uint64_t index) override {
    if (index >= taken_.size()) throw std::out_of_range("Strategy::exclude: no such configuration");
    taken_.insert(index);
  }

 protected:
  // The next index of the order, each once; not called more often than there are indices.
  virtual std::uint64_t next() = 0;

 private:
  TakenSet taken_;
};

class Exhaustive final : public OrderedStrategy {
 public:
  using OrderedStrategy::OrderedStrategy;

 private:
  std::uint64_t next() override { return cursor_++; }
  std::uint64_t cursor_ = 0;
};

class RandomSearch final : public OrderedStrategy {
 public:
  RandomSearch(std::uint64_t size, std::uint64_t seed) : OrderedStrategy(size), order_(size, seed) {}

 private:
  std::uint64_t next() override { return order_.next(); }
  RandomOrder order_;
};

// Settings of other strategies are passed over: one list serves several.
template <typename Settings>
Settings with_settings(Settings result, const std::string& strategy, const StrategySettings& settings) {
  const NamedSettings named = result.named();
  for (const auto& [key, value] : settings) {
    if (!key.starts_with(strategy + ".")) continue;
    const std::string name = key.substr(strategy.size() + 1);
    const auto found = std::find_if(named.begin(), named.end(), [&](const auto& setting) { return setting.first == name; });
    if (found == named.end()) {
      std::vector<std::string> names;
      for (const auto& setting : named) names.emplace_back(setting.first);
      throw InputError(fmt::format("strategy \"{}\" has no setting \"{}\"; it has: {}", strategy, name, fmt::join(names, ", ")));
    }
    *found->second = value;
  }
  return result;
}

}  // namespace

const std::vector<std::string>& strategy_names() {
  static const std::vector<std::string> names = {"auto", "exhaustive", "random", "local_search", "genetic", "differential_evolution", "surrogate"};
  return names;
}

void check_strategy_name(const std::string& name) {
  const std::vector<std::string>& names = strategy_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  const std::string nearest = nearest_word(name, names);
  throw InputError(fmt::format("unknown strategy \"{}\"{}; there are: {}", name,
                               nearest.empty() ? "" : fmt::format(", did you mean \"{}\"?", nearest), fmt::join(names, ", ")));
}

std::unique_ptr<Strategy> make_strategy(const std::string& name, const SearchSpace& space, std::uint64_t seed,
                                        const StrategySettings& settings) {
  check_strategy_name(name);
  if (name == "exhaustive") return std::make_unique<Exhaustive>(space.size());
  if (name == "random") return std::make_unique<RandomSearch>(space.size(), seed);
  if (name == "local_search") {
    return make_local_search(space, seed, with_settings(LocalSearchSettings{}, name, settings));
  }
  if (name == "genetic") return make_genetic(space, seed, with_settings(GeneticSettings{}, name, settings));
  if (name == "differential_evolution") {
    return make_differential_evolution(space, seed, with_settings(DifferentialEvolutionSettings{}, name, settings));
  }
  const SurrogateSettings surrogate = with_settings(SurrogateSettings{}, "surrogate", settings);
  if (name == "surrogate") return make_surrogate(space, seed, surrogate);
  return make_auto(space, seed, with_settings(AutoSettings{}, name, settings), surrogate,
                   with_settings(GeneticSettings{}, "genetic", settings));
}

}  // namespace tunebook
