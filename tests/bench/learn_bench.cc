// Learning a model of time: bench_learn [--benchmark_...]. The argument is the number of trials;
// times are elapsed, with two threads.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/random.h"
#include "learn/learn_model.h"
#include "simulated_kernel.h"

namespace {

using namespace tunebook;

// As many problems as give so many trials, 60 configurations drawn for each.
TrainingGroup group_of(std::size_t trials) {
  Random random(1);
  std::map<std::string, Problem> problems;
  while (problems.size() * 35 < trials) {
    const Problem one = testing::SimulatedKernel::random_problem(random);
    problems.emplace(one.canonical(), one);
  }
  std::vector<Problem> list;
  for (const auto& [text, one] : problems) list.push_back(one);
  TrainingGroup group = testing::simulated_group(list, 60, random, 0.02);
  if (group.trials.size() > trials) group.trials.resize(trials);
  return group;
}

void learn(benchmark::State& state) {
  const TrainingGroup group = group_of(static_cast<std::size_t>(state.range(0)));
  learn::LearnSettings settings;
  settings.learned_utc = "2026-12-01T00:00:00.000000Z";
  std::size_t bytes = 0;
  for ([[maybe_unused]] const auto iteration : state)
    bytes = learn::learn_model(group, settings).model->encode().size();
  state.counters["trials"] = static_cast<double>(group.trials.size());
  state.counters["model_bytes"] = static_cast<double>(bytes);
}
BENCHMARK(learn)
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Unit(benchmark::kSecond)
    ->Iterations(1)
    ->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
