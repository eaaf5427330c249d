#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/spec.h"

namespace tunebook {

// A configuration as a mixed-radix number of its value indices, the first parameter most significant, so that keys compare as
// rows do. One 64-bit word while the Cartesian size fits, else several (most significant first, none split over a parameter).
class KeyLayout {
 public:
  struct Digit {
    std::size_t word = 0;
    std::uint64_t stride = 1;
    std::uint64_t size = 1;
  };

  KeyLayout() = default;
  // Throws InputError if a parameter has no values or more than 65,535.
  explicit KeyLayout(const std::vector<Parameter>& parameters);

  std::size_t words() const { return words_; }
  const Digit& digit(std::size_t parameter) const { return digits_[parameter]; }

  // `key` has words() elements, `row` one value index per parameter.
  void encode(std::span<const std::uint16_t> row, std::uint64_t* key) const;
  void decode(const std::uint64_t* key, std::span<std::uint16_t> row) const;

  // Sorts keys (a multiple of words() elements) ascending.
  void sort(std::vector<std::uint64_t>& keys) const;
  // Removes repeated keys of a sorted list.
  void remove_duplicates(std::vector<std::uint64_t>& keys) const;
  int compare(const std::uint64_t* x, const std::uint64_t* y) const;

 private:
  std::vector<Digit> digits_;
  std::size_t words_ = 1;
  std::uint64_t first_word_size_ = 1;  // keys of one word are below this
};

}  // namespace tunebook
