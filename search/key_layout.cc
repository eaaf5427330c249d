#include "search/key_layout.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace tunebook {
namespace {

constexpr std::size_t kMaxDomain = std::numeric_limits<std::uint16_t>::max();

// Below this a comparison sort is as fast; above the other the second buffer of a radix sort would cost too much memory.
constexpr std::size_t kRadixFrom = 4096;
constexpr std::size_t kRadixTo = std::size_t{1} << 26;

// Least-significant-digit radix sort: construction is often bound by sorting, and keys have few significant bits.
void radix_sort(std::vector<std::uint64_t>& keys, std::uint64_t bound) {
  constexpr int kDigitBits = 11;
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kDigitBits) - 1;
  std::vector<std::uint64_t> other(keys.size());
  for (int shift = 0; shift < 64 && ((bound - 1) >> shift) != 0; shift += kDigitBits) {
    std::array<std::size_t, kMask + 1> position{};
    for (const std::uint64_t key : keys) ++position[(key >> shift) & kMask];
    std::size_t sum = 0;
    for (std::size_t& entry : position) sum += std::exchange(entry, sum);
    for (const std::uint64_t key : keys) other[position[(key >> shift) & kMask]++] = key;
    keys.swap(other);
  }
}

}  // namespace

KeyLayout::KeyLayout(const std::vector<Parameter>& parameters) : digits_(parameters.size()) {
  std::uint64_t product = 1;
  std::size_t word = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::size_t size = parameters[i].values.size();
    if (size == 0) throw InputError(fmt::format("parameter {} has no values: give it at least one", parameters[i].name));
    if (size > kMaxDomain) {
      throw InputError(fmt::format("parameter {} has {} values: at most {} are supported", parameters[i].name, size, kMaxDomain));
    }
    if (product > std::numeric_limits<std::uint64_t>::max() / size) {
      ++word;
      product = 1;
    }
    product *= size;
    if (word == 0) first_word_size_ = product;
    digits_[i].word = word;
    digits_[i].size = size;
  }
  words_ = word + 1;
  std::uint64_t stride = 1;
  for (std::size_t i = digits_.size(); i-- > 0;) {
    if (i + 1 < digits_.size() && digits_[i + 1].word != digits_[i].word) stride = 1;
    digits_[i].stride = stride;
    stride *= digits_[i].size;
  }
}

void KeyLayout::encode(std::span<const std::uint16_t> row, std::uint64_t* key) const {
  std::fill_n(key, words_, std::uint64_t{0});
  for (std::size_t i = 0; i < digits_.size(); ++i) key[digits_[i].word] += digits_[i].stride * row[i];
}

void KeyLayout::decode(const std::uint64_t* key, std::span<std::uint16_t> row) const {
  std::size_t word = 0;
  std::uint64_t rest = key[0];
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    const Digit& digit = digits_[i];
    if (digit.word != word) {
      word = digit.word;
      rest = key[word];
    }
    const std::uint64_t index = rest / digit.stride;
    rest -= index * digit.stride;
    row[i] = static_cast<std::uint16_t>(index);
  }
}

int KeyLayout::compare(const std::uint64_t* x, const std::uint64_t* y) const {
  for (std::size_t w = 0; w < words_; ++w) {
    if (x[w] != y[w]) return x[w] < y[w] ? -1 : 1;
  }
  return 0;
}

void KeyLayout::sort(std::vector<std::uint64_t>& keys) const {
  if (words_ == 1) {
    if (std::is_sorted(keys.begin(), keys.end())) return;
    if (keys.size() >= kRadixFrom && keys.size() <= kRadixTo) {
      radix_sort(keys, first_word_size_);
    } else {
      std::sort(keys.begin(), keys.end());
    }
    return;
  }
  std::vector<std::size_t> order(keys.size() / words_);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    return compare(keys.data() + x * words_, keys.data() + y * words_) < 0;
  });
  std::vector<std::uint64_t> sorted;
  sorted.reserve(keys.size());
  for (const std::size_t i : order) {
    for (std::size_t w = 0; w < words_; ++w) sorted.push_back(keys[i * words_ + w]);
  }
  keys.swap(sorted);
}

void KeyLayout::remove_duplicates(std::vector<std::uint64_t>& keys) const {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < keys.size() / words_; ++i) {
    if (kept > 0 && compare(keys.data() + i * words_, keys.data() + (kept - 1) * words_) == 0) continue;
    std::copy_n(keys.data() + i * words_, words_, keys.data() + kept * words_);
    ++kept;
  }
  keys.resize(kept * words_);
}

}  // namespace tunebook
