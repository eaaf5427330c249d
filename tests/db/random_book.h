#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lookup_model.h"

namespace tunebook::testing {

// Random numbers that are the same everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 1) {}
  std::int64_t below(std::int64_t count) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(count));
  }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(below(static_cast<std::int64_t>(choices.size())))];
  }

 private:
  std::uint64_t state_;
};

// A random book of winners of the kernel of kModelSpec, and what the model knows of it.
ModelBook random_book(Dice& dice, const std::filesystem::path& path);
// Finishing times with ties, written behind the store's back.
void set_times(Dice& dice, const std::filesystem::path& path, ModelBook& book);
// Models of time for some of the book's versions and devices, put into the book behind the store's back.
void add_random_models(Dice& dice, const std::filesystem::path& path, ModelBook& book);
Query random_query(Dice& dice, const ModelBook& book);

std::string describe(const Query& query);
std::string describe(const std::optional<ModelAnswer>& answer);
std::optional<ModelAnswer> as_model(const std::shared_ptr<const Answer>& answer);

}  // namespace tunebook::testing
