#include "cpu/guarded_buffer.h"

#include <cstdint>
#include <cstring>
#include <optional>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

TEST(GuardedBuffer, StartsAlignedAndEndsAtTheGuard) {
  for (const std::size_t bytes : {0u, 1u, 16u, 17u, 4095u, 4096u, 4097u, 100000u}) {
    const GuardedBuffer buffer(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 16, 0u);
    std::memset(buffer.data(), 0, bytes);
    EXPECT_FALSE(buffer.damage()) << bytes;
    const char* const end = static_cast<char*>(buffer.data()) + (bytes + 15) / 16 * 16;
    EXPECT_EQ(buffer.guard_offset(end), end - static_cast<char*>(buffer.data()));
  }
}

TEST(GuardedBuffer, DamageIsFoundAndRepaired) {
  GuardedBuffer buffer(33);
  char* const data = static_cast<char*>(buffer.data());
  data[33] = 1;
  EXPECT_EQ(buffer.damage(), 33);
  data[-2] = 1;
  EXPECT_EQ(buffer.damage(), -2);
  buffer.repair();
  EXPECT_EQ(buffer.damage(), std::nullopt);
}

}  // namespace
}  // namespace tunebook
