// What a proposal costs: bench_strategy [--benchmark_...]. Spaces of 10^4 to 10^9 configurations; per iteration one run of 200
// proposals, each asked and told by itself. The counter time_per_proposal is what to look at.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "search/space_file.h"
#include "search/strategy.h"

namespace {

using namespace tunebook;

// Twelve parameters that look like a kernel's; the constraint keeps some 60 % of the combinations.
SearchSpace kernel_space(int blocks, int flags) {
  Names names;
  std::vector<Parameter> parameters;
  const auto add = [&](std::string name, std::vector<std::int64_t> values) {
    Parameter& parameter = parameters.emplace_back();
    parameter.name = std::move(name);
    for (const std::int64_t value : values) parameter.values.emplace_back(value);
  };
  std::vector<std::int64_t> block;
  for (int i = 1; i <= blocks; ++i) block.push_back(16 * i);
  add("block_x", block);
  add("block_y", {1, 2, 4, 8, 16, 32});
  add("tile_x", {1, 2, 3, 4, 5, 6, 7, 8});
  add("tile_y", {1, 2, 3, 4, 5, 6, 7, 8});
  add("unroll", {0, 1, 2, 4, 8});
  for (int i = 0; i < flags; ++i) add("flag" + std::to_string(i), {0, 1});
  SpaceDefinition definition = define_space(std::move(parameters), {}, names);
  definition.constraints.push_back(Expression::compile("32 <= block_x * block_y <= 1024", names));
  return SearchSpace::build(std::move(definition));
}

double time_of(const SearchSpace& space, std::uint64_t index) {
  std::vector<std::uint16_t> row(space.parameter_count());
  space.row(index, row);
  double time = 10;
  for (std::size_t p = 0; p < row.size(); ++p) {
    const double position = static_cast<double>(row[p]) / static_cast<double>(space.domain_size(p));
    time += (position - 0.37) * (position - 0.37) * static_cast<double>(p + 1) + (row[p] % 3 == 1 ? 0.2 : 0);
  }
  return time;
}

void propose(benchmark::State& state, const std::string& name, const SearchSpace& space) {
  constexpr int kProposals = 200;
  std::uint64_t seed = 0;
  for (auto _ : state) {
    const auto strategy = make_strategy(name, space, seed++);
    for (int n = 0; n < kProposals; ++n) {
      for (const std::uint64_t index : strategy->ask(1)) strategy->tell(index, {Outcome::ok, time_of(space, index)});
    }
  }
  state.counters["configurations"] = static_cast<double>(space.size());
  state.counters["time_per_proposal"] =
      benchmark::Counter(kProposals, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::vector<SearchSpace> spaces = [] {
    std::vector<SearchSpace> built;
    built.push_back(kernel_space(8, 0));
    built.push_back(kernel_space(24, 6));
    built.push_back(kernel_space(24, 17));
    return built;
  }();
  for (const SearchSpace& space : spaces) {
    for (const std::string& name : strategy_names()) {
      benchmark::RegisterBenchmark((name + "/" + std::to_string(space.size())).c_str(),
                                   [&space, name](benchmark::State& state) { propose(state, name, space); })
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
