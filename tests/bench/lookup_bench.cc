// Lookups in large books: bench_lookup [--benchmark_...]. The books are made at the first run, in the folder $TUNEBOOK_BENCH_BOOKS, where
// they stay, else in a temporary one that is removed at the end. $TUNEBOOK_BENCH_TRIALS: trials of the working book, 10,000,000 by
// default (about 3 GB).

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <stdlib.h>

#include "db/lookup_limits.h"
#include "db/store.h"
#include "model_book.h"
#include "support/synthetic_book.h"
#include "tunebook/lookup.h"

namespace {

using tunebook::Lookup;
using tunebook::Query;
using tunebook::testing::ModelBook;
using tunebook::testing::SyntheticBook;

constexpr SyntheticBook kPublished = {100, 10, 1000, 0, true};
constexpr SyntheticBook kShapes = {1, 1, 10'000, 0, true};

std::filesystem::path published_book, shapes_book, working_book, model_book;

Query question(int kernel, int device, int problem) {
  Query query;
  query.kernel = SyntheticBook::kernel_name(kernel);
  query.problem = SyntheticBook::problem(problem).items();
  query.device = tunebook::to_device_key(SyntheticBook::device(device));
  query.kernel_hash = "hash-1";
  return query;
}

void check(bool right, const char* what) {
  if (!right) {
    throw std::runtime_error(std::string("wrong answer: ") + what);
  }
}

bool is_tier(const std::shared_ptr<const tunebook::Answer>& answer, tunebook::Tier tier) {
  return answer != nullptr && answer->tier == tier;
}

// A new Lookup and its first exact answer, another one each time.
void open_and_first_exact(benchmark::State& state, const std::filesystem::path& book) {
  int i = 0;
  for (auto _ : state) {
    const Query query = question(i % kPublished.kernels, i % kPublished.devices, i * 37 % kPublished.problems);
    const Lookup lookup(book.string());
    check(is_tier(lookup.best(query), tunebook::Tier::exact), "exact");
    ++i;
  }
}

// Another exact answer each time of one Lookup that was opened before.
void next_exact(benchmark::State& state, const std::filesystem::path& book) {
  const Lookup lookup(book.string());
  int i = 0;
  for (auto _ : state) {
    const Query query = question(i % kPublished.kernels, i / 100 % kPublished.devices, i / 1000 % kPublished.problems);
    check(is_tier(lookup.best(query), tunebook::Tier::exact), "exact");
    ++i;
  }
}

std::unique_ptr<const Lookup> shared_lookup;

// Every thread repeats its own few questions.
void repeated(benchmark::State& state, const std::filesystem::path& book) {
  if (state.thread_index() == 0) {
    shared_lookup = std::make_unique<const Lookup>(book.string());
  }
  std::vector<Query> queries;
  for (int i = 0; i < state.range(0); ++i) {
    queries.push_back(question(i % kPublished.kernels, i % kPublished.devices, i * 37 % kPublished.problems));
  }
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(shared_lookup->best(queries[i]));
    i = i + 1 < queries.size() ? i + 1 : 0;
  }
  state.SetItemsProcessed(state.iterations());
}

// Opening, reading the snapshot, answering for a shape that nobody tuned.
void unknown_first(benchmark::State& state) {
  int i = kShapes.problems;
  for (auto _ : state) {
    const Query query = question(0, 0, i++);
    const Lookup lookup(shapes_book.string());
    check(is_tier(lookup.best(query), tunebook::Tier::near), "near");
  }
}

// Another such shape each time.
void unknown_next(benchmark::State& state) {
  const Lookup lookup(shapes_book.string());
  int i = kShapes.problems;
  std::vector<Query> queries;
  for (int q = 0; q < 20'000; ++q) {
    queries.push_back(question(0, 0, i++));
  }
  lookup.best(queries.back());
  std::size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(lookup.best(queries[at]));
    at = (at + 1) % queries.size();  // far more than are kept
  }
}

void unknown_repeated(benchmark::State& state) {
  const Lookup lookup(shapes_book.string());
  const Query query = question(0, 0, kShapes.problems + 5);
  check(is_tier(lookup.best(query), tunebook::Tier::near), "near");
  for (auto _ : state) {
    benchmark::DoNotOptimize(lookup.best(query));
  }
}

// The model's answer for a shape that nobody tuned: with opening and reading, then another shape each time.
void predicted_first(benchmark::State& state) {
  int i = 0;
  for (auto _ : state) {
    const Query query = ModelBook::question(i++);
    const Lookup lookup(model_book.string());
    check(is_tier(lookup.best(query), tunebook::Tier::predicted), "predicted");
  }
}

void predicted_next(benchmark::State& state) {
  const Lookup lookup(model_book.string());
  std::vector<Query> queries;
  for (int q = 0; q < 20'000; ++q) {
    queries.push_back(ModelBook::question(q));
  }
  lookup.best(queries.back());
  std::size_t at = 0;
  for (auto _ : state) {
    check(is_tier(lookup.best(queries[at]), tunebook::Tier::predicted), "predicted");
    at = (at + 1) % queries.size();
  }
}

void ranked(benchmark::State& state) {
  const Lookup lookup(model_book.string());
  lookup.best(ModelBook::question(0));
  int i = 1;
  for (auto _ : state) {
    check(!lookup.ranked(ModelBook::question(i++), 3).empty(), "ranked");
  }
}

template <class Book>
std::filesystem::path make_book(const std::filesystem::path& folder, const std::string& name, const Book& book) {
  const std::filesystem::path path = folder / name;
  if (!std::filesystem::exists(path)) {
    const auto start = std::chrono::steady_clock::now();
    const std::filesystem::path unfinished = path.string() + ".new";
    std::filesystem::remove(unfinished);
    book.write(unfinished);
    std::filesystem::rename(unfinished, path);
    std::cerr << name << ": " << std::filesystem::file_size(path) / 1000 << " kB, made in "
              << std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() << " s\n";
    // A file that was changed just now is not yet taken for settled.
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  }
  return path;
}

void add_benchmarks() {
  using benchmark::RegisterBenchmark;
  using benchmark::kMicrosecond;
  RegisterBenchmark("open_and_first_exact/published", [](benchmark::State& state) { open_and_first_exact(state, published_book); })->Unit(kMicrosecond);
  RegisterBenchmark("open_and_first_exact/working", [](benchmark::State& state) { open_and_first_exact(state, working_book); })->Unit(kMicrosecond);
  RegisterBenchmark("open_and_first_exact/working_with_writer", [](benchmark::State& state) {
    const tunebook::Store writer(working_book);  // its -wal file is there: read under locks
    open_and_first_exact(state, working_book);
  })->Unit(kMicrosecond);
  RegisterBenchmark("next_exact/published", [](benchmark::State& state) { next_exact(state, published_book); })->Unit(kMicrosecond);
  RegisterBenchmark("next_exact/working", [](benchmark::State& state) { next_exact(state, working_book); })->Unit(kMicrosecond);
  for (const int threads : {1, 2, 8}) {
    RegisterBenchmark("repeated", [](benchmark::State& state) { repeated(state, published_book); })
        ->Arg(1)->Arg(64)->Threads(threads)->UseRealTime();
  }
  RegisterBenchmark("unknown_shape/first", unknown_first)->Unit(kMicrosecond);
  RegisterBenchmark("unknown_shape/next", unknown_next)->Unit(kMicrosecond);
  RegisterBenchmark("unknown_shape/repeated", unknown_repeated);
  RegisterBenchmark("predicted/first", predicted_first)->Unit(kMicrosecond);
  RegisterBenchmark("predicted/next", predicted_next)->Unit(kMicrosecond);
  RegisterBenchmark("ranked", ranked)->Unit(kMicrosecond);
}

std::int64_t trials() {
  const char* const text = std::getenv("TUNEBOOK_BENCH_TRIALS");
  return text != nullptr ? std::stoll(text) : 10'000'000;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const char* const kept = std::getenv("TUNEBOOK_BENCH_BOOKS");
  std::string folder = kept != nullptr ? kept : (std::filesystem::temp_directory_path() / "tunebook-bench-XXXXXX").string();
  int exit_code = 0;
  try {
    if (kept != nullptr) {
      std::filesystem::create_directories(folder);
    } else if (mkdtemp(folder.data()) == nullptr) {
      throw std::runtime_error("no temporary folder can be made");
    }
    published_book = make_book(folder, "published.db", kPublished);
    model_book = make_book(folder, "model.db", ModelBook());
    shapes_book = make_book(folder, "shapes.db", kShapes);
    working_book = make_book(folder, "working.db",
                             SyntheticBook{kPublished.kernels, kPublished.devices, kPublished.problems, trials(), false});
    add_benchmarks();
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    exit_code = 2;
  }
  shared_lookup.reset();
  if (kept == nullptr) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  return exit_code;
}
