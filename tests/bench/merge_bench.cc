// Merging large books: bench_merge [--benchmark_...]. The books are made at the first run in a temporary folder that is removed at the end.
// $TUNEBOOK_BENCH_TRIALS: trials of a source, 500,000 by default; each has ten samples. Rates are trials per second of processor time of
// the merging thread; the time of a row is elapsed.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>

#include <benchmark/benchmark.h>
#include <stdlib.h>

#include "db/merge.h"
#include "db/sqlite.h"
#include "support/synthetic_book.h"

namespace {

using tunebook::MergeOptions;
using tunebook::testing::SyntheticBook;

std::filesystem::path folder, source, other_source;

std::int64_t trials() {
  const char* const text = std::getenv("TUNEBOOK_BENCH_TRIALS");
  return text != nullptr ? std::stoll(text) : 500'000;
}

void remove_book(const std::filesystem::path& path) {
  for (const char* const suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(path.string() + suffix);
  }
}

void merge(const std::filesystem::path& target, std::int64_t rows_per_transaction, std::int64_t expected) {
  MergeOptions options;
  options.rows_per_transaction = rows_per_transaction;
  if (tunebook::merge_books({source}, target, options).added.trials != expected) {
    throw std::runtime_error("the merge added another number of trials");
  }
}

void into_new_book(benchmark::State& state) {
  const std::filesystem::path target = folder / "target.db";
  for (auto _ : state) {
    state.PauseTiming();
    remove_book(target);
    state.ResumeTiming();
    merge(target, state.range(0), trials());
  }
  state.SetItemsProcessed(state.iterations() * trials());
}

// Into one that has as many trials of other sessions: the index of trial keys is written in random places of what is there.
void into_large_book(benchmark::State& state) {
  const std::filesystem::path target = folder / "target.db";
  for (auto _ : state) {
    state.PauseTiming();
    remove_book(target);
    std::filesystem::copy_file(other_source, target);
    state.ResumeTiming();
    merge(target, state.range(0), trials());
  }
  state.SetItemsProcessed(state.iterations() * trials());
}

// Everything is there already: each trial is compared.
void again(benchmark::State& state) {
  const std::filesystem::path target = folder / "target.db";
  remove_book(target);
  std::filesystem::copy_file(source, target);
  for (auto _ : state) {
    merge(target, state.range(0), 0);
  }
  state.SetItemsProcessed(state.iterations() * trials());
}

void make_books() {
  source = folder / "source.db";
  other_source = folder / "other.db";
  SyntheticBook{10, 2, 50, trials(), false}.write(source);
  std::filesystem::copy_file(source, other_source);
  tunebook::sqlite::Database other(other_source, tunebook::sqlite::Database::Mode::read_write);
  other.execute("UPDATE session SET uid = printf('%032x', id); UPDATE trial SET key = randomblob(16); PRAGMA wal_checkpoint(TRUNCATE)");
}

}  // namespace

BENCHMARK(into_new_book)->Arg(1'000)->Arg(20'000)->Unit(benchmark::kMillisecond);
BENCHMARK(into_large_book)->Arg(1'000)->Arg(20'000)->Unit(benchmark::kMillisecond);
BENCHMARK(again)->Arg(20'000)->Unit(benchmark::kMillisecond);

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::string pattern = (std::filesystem::temp_directory_path() / "tunebook-bench-XXXXXX").string();
  int exit_code = 0;
  try {
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("no temporary folder can be made");
    }
    folder = pattern;
    make_books();
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    exit_code = 2;
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return exit_code;
}
