// Construction of search spaces: bench_space [--benchmark_...] [FOLDER | FILE.json ...]; without paths, those in
// $TUNEBOOK_BENCH_SPACES (a folder).

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "search/space_file.h"

namespace {

void construct(benchmark::State& state, const std::string& file) {
  const tunebook::SpaceFile space_file = tunebook::load_space_file(file);
  std::uint64_t size = 0;
  double cartesian = 0;
  for (auto _ : state) {
    const tunebook::SearchSpace space = tunebook::SearchSpace::build(space_file.definition);
    size = space.size();
    cartesian = space.cartesian_size();
  }
  state.counters["valid"] = static_cast<double>(size);
  state.counters["cartesian"] = cartesian;
}

std::vector<std::string> space_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::vector<std::string> paths(argv + 1, argv + argc);
  const char* folder = std::getenv("TUNEBOOK_BENCH_SPACES");
  if (paths.empty() && folder != nullptr) paths.emplace_back(folder);
  try {
    for (const std::string& file : space_files(paths)) {
      const std::string name = "construct/" + std::filesystem::path(file).stem().string();
      benchmark::RegisterBenchmark(name.c_str(), [file](benchmark::State& state) { construct(state, file); })
          ->Unit(benchmark::kMillisecond);
    }
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
  return 0;
}
