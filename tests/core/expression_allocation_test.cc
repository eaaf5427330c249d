// A program of its own, because it replaces the global operator new to count.
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "core/expression.h"

namespace {
std::size_t allocations = 0;
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tunebook {
namespace {

TEST(ExpressionAllocation, EvaluatingAllocatesNothing) {
  Names names;
  for (const char* name : {"a", "b", "T"}) names.add(name);
  const std::vector<Scalar> values = {Scalar::integer(64), Scalar::integer(7), Scalar::text("f16")};
  for (const char* text : {"a * b <= 1024", "32 <= a * b <= 1024 and a in [32, 64] or b > 2", "a / b * b == a", "sizeof(T) * a if T != 'f32' else 1",
                           "max(ceil_div(a, b), round_up(a, b), a ** 2) % (a / b + 1)", "log2(a) + abs(-b) + is_pow2(b)"}) {
    const Expression expression = Expression::compile(text, names);
    const std::size_t before = allocations;
    expression.evaluate(values);
    EXPECT_EQ(allocations, before) << text;
  }
  EXPECT_GT(allocations, 0U);
}

}  // namespace
}  // namespace tunebook
