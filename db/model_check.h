#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tunebook {

// A row of the table `model`, and whether lookups can use it.
struct ModelCheck {
  std::string what;   // "matmul f32 on NVIDIA H200, cold/2"
  std::string fault;  // empty: it is sound; else why lookups pass it over, and the remedy
};

// Reads every model of a book as a lookup does; a book that is older than models has none. Throws as BookReader does.
std::vector<ModelCheck> check_models(const std::filesystem::path& book);

}  // namespace tunebook
