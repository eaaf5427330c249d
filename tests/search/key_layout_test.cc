#include "search/key_layout.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/random.h"
#include "search_fixtures.h"

namespace tunebook {
namespace {

std::vector<Parameter> domains(const std::vector<std::int64_t>& sizes) {
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i < sizes.size(); ++i) parameters.push_back(test::counting(fmt::format("p{}", i), sizes[i]));
  return parameters;
}

// Random rows come back from their keys, and sorting keys sorts rows.
void expect_order_of_rows(const std::vector<std::int64_t>& sizes, std::size_t words, std::size_t count) {
  const KeyLayout layout(domains(sizes));
  ASSERT_EQ(layout.words(), words);
  Random random(7);
  std::vector<std::vector<std::uint16_t>> rows;
  std::vector<std::uint64_t> keys;
  for (std::size_t n = 0; n < count; ++n) {
    std::vector<std::uint16_t>& row = rows.emplace_back();
    for (const std::int64_t size : sizes) {
      row.push_back(static_cast<std::uint16_t>(random.below(static_cast<std::uint64_t>(size))));
    }
    keys.resize(keys.size() + words);
    layout.encode(row, keys.data() + n * words);
  }
  std::sort(rows.begin(), rows.end());
  layout.sort(keys);
  std::vector<std::uint16_t> row(sizes.size());
  for (std::size_t n = 0; n < count; ++n) {
    layout.decode(keys.data() + n * words, row);
    ASSERT_EQ(row, rows[n]) << n;
  }
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  layout.remove_duplicates(keys);
  EXPECT_EQ(keys.size(), rows.size() * words);
}

TEST(KeyLayout, OneWord) {
  expect_order_of_rows({3, 1, 5, 2}, 1, 200);
  expect_order_of_rows({3, 1, 300, 200, 11}, 1, 20'000);  // the radix sort
}

TEST(KeyLayout, AnAlmostFullWord) {
  // 2^64 - 1 = 3 5 17 257 641 65537 6700417; the largest factor that a domain can have replaces the last two.
  expect_order_of_rows({3, 5, 17, 257, 641, 65535, 65534}, 1, 5'000);
  expect_order_of_rows(std::vector<std::int64_t>(63, 2), 1, 5'000);
}

TEST(KeyLayout, SeveralWords) {
  expect_order_of_rows(std::vector<std::int64_t>(65, 2), 2, 500);
  expect_order_of_rows({60000, 60000, 60000, 60000, 60000, 60000, 60000, 60000, 60000}, 3, 5'000);
}

TEST(KeyLayout, NoParametersAreOneEmptyRow) {
  const KeyLayout layout{std::vector<Parameter>{}};
  EXPECT_EQ(layout.words(), 1u);
}

TEST(KeyLayout, RejectsImpossibleDomains) {
  EXPECT_THROW(KeyLayout(domains({3, 0})), InputError);
  EXPECT_THROW(KeyLayout(domains({65536})), InputError);
}

}  // namespace
}  // namespace tunebook
