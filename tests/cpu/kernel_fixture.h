#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cpu/cpu_compiler.h"
#include "cpu/cpu_runner.h"
#include "cpu/grid_runner.h"
#include "cpu/kernel_library.h"

namespace tunebook::test {

// One compiler for the whole test program, with a cache of its own in a temporary folder.
CpuCompiler& compiler();

CompileRequest compile_request(const std::string& source, const std::string& name_expression,
                               std::vector<std::pair<std::string, std::string>> defines = {});
// Path of the shared object; a test failure with the compiler's message if it does not compile.
std::string compile(const std::string& source, const std::string& name_expression,
                    std::vector<std::pair<std::string, std::string>> defines = {});

LaunchShape shape(std::array<std::int64_t, 3> grid, std::array<std::int64_t, 3> block, std::int64_t shared_bytes = 0);

// Compiles and runs a kernel on two threads with the given arguments (pointers into the test's own memory, or scalars).
template <class... A>
LaunchResult launch(const std::string& source, const std::string& name_expression, const LaunchShape& launch_shape, A... arguments) {
  const KernelLibrary library(compile(source, name_expression), kCpuEntrySymbol);
  void* pointers[] = {static_cast<void*>(&arguments)..., nullptr};
  GridLaunch grid;
  grid.entry = library.entry();
  grid.arguments = pointers;
  grid.shape = launch_shape;
  grid.static_shared = library.static_shared_ranges();
  WorkerThreads threads(2);
  return run_grid(threads, grid);
}

// Small numbers that sums of products represent exactly in f32.
std::vector<float> small_integers(std::size_t count, std::uint64_t seed);

}  // namespace tunebook::test
