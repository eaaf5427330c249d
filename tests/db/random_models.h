#pragma once

#include <cstdint>
#include <filesystem>

namespace tunebook::testing {

// Random models of time for the kernels of a book, which have a dtype and sizes: for some devices, data types, methods and
// versions, with candidates that can run and others, and a few rows that no program can read.
void add_random_models(const std::filesystem::path& book, std::uint64_t seed);

}  // namespace tunebook::testing
