// What is read from the text of a kernel.
#include "session/kernel_source.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tunebook::test {
namespace {

KernelSource source(const std::string& text) { return KernelSource({"kernel.cu", text, {}}); }

std::vector<std::string> names(const EntrySource& entry) {
  std::vector<std::string> all;
  for (const auto& parameter : entry.parameters) all.push_back(parameter.name);
  return all;
}

std::vector<bool> uses(const EntrySource& entry) {
  std::vector<bool> all;
  for (const auto& parameter : entry.parameters) all.push_back(parameter.used);
  return all;
}

TEST(KernelSource, TemplateParametersByName) {
  const auto entry = source(R"(
template <typename T>
__global__ void other(T* y) { y[0] = 1; }
/* template <int WRONG> */
template <typename T, int BLOCK, unsigned = 3, bool (*F)(int) = nullptr, std::size_t BYTES = (4 > 3 ? 1 : 2), class... Rest>
__global__ void kernel(T* y) {
  y[BLOCK] = BYTES;
}
)").find_entry("kernel");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->line, 6);
  EXPECT_EQ(entry->template_line, 5);
  ASSERT_EQ(entry->parameters.size(), 6U);
  EXPECT_EQ(names(*entry)[0], "T");
  EXPECT_EQ(names(*entry)[1], "BLOCK");
  EXPECT_EQ(names(*entry)[2], "");
  EXPECT_EQ(names(*entry)[4], "BYTES");
  EXPECT_EQ(names(*entry)[5], "Rest");
  EXPECT_TRUE(uses(*entry)[0]);
  EXPECT_TRUE(uses(*entry)[1]);
  EXPECT_FALSE(uses(*entry)[2]);
  EXPECT_TRUE(uses(*entry)[4]);
  EXPECT_FALSE(uses(*entry)[5]);
}

TEST(KernelSource, CommentsAndStaticAssertsAreNoUse) {
  const auto entry = source(R"(
template <int A, int B, int C, int D, int E>
__global__ void __launch_bounds__(A * 32, 1) kernel(float* y) {
  static_assert(B > 0 && (C > 0), "B");
  // C
#pragma unroll D
  for (int i = 0; i < 4; ++i) y[i] = 0;  /* E */
}
__global__ void later(int E, int C) {}
)").find_entry("kernel");
  ASSERT_TRUE(entry);
  EXPECT_EQ(uses(*entry), (std::vector<bool>{true, false, false, true, false}));
}

TEST(KernelSource, LaunchBounds) {
  EXPECT_EQ(source("__global__ void __launch_bounds__(256) kernel(int* y) {}").find_entry("kernel")->launch_bounds, "256");
  EXPECT_EQ(source("template <int B> __launch_bounds__(max(B, 32), 2) __global__ void kernel(int* y) {}").find_entry("kernel")->launch_bounds,
            "max(B,32)");
  EXPECT_EQ(source("extern \"C\" __global__ __launch_bounds__(B / 2) void kernel(int* y) {}").find_entry("kernel")->launch_bounds, "B/2");
  EXPECT_EQ(source("extern \"C\" __global__ void kernel(int* y) {}").find_entry("kernel")->launch_bounds, "");
  EXPECT_EQ(source("template <int B> __launch_bounds__(B) __global__ void kernel(int* y) { y[B] = 0; }").find_entry("kernel")->parameters.size(), 1U);
}

TEST(KernelSource, WhatIsNoEntry) {
  EXPECT_FALSE(source("__device__ void kernel(int* y) {}").find_entry("kernel"));
  EXPECT_FALSE(source("__global__ void kernels(int* y) {}").find_entry("kernel"));
  EXPECT_FALSE(source("#define KERNEL __global__ void kernel(int* y)\nKERNEL {}").find_entry("kernel"));
  // Damaged text ends nothing.
  for (const char* text : {"__global__", "template <", "template <int A __global__ void kernel(", "> __global__ void kernel(int", ") __global__ void kernel(",
                           "template <int A> __global__ void __launch_bounds__( kernel(", "#define", "constexpr", "constexpr int x ="}) {
    const KernelSource damaged = source(text);
    (void)damaged.find_entry("kernel");
  }
}

TEST(KernelSource, Constants) {
  const KernelSource constants = source(R"(
#define THREADS 256
#define CALL(x) 3
#define TWICE 1
constexpr int kWarps = THREADS / 32;
static constexpr unsigned long kBytes = sizeof(float) * (4 + 4);
void f() { constexpr int TWICE = 2; int kNone = 3; }
)");
  EXPECT_EQ(constants.constant("THREADS"), "256");
  EXPECT_EQ(constants.constant("kWarps"), "THREADS/32");
  EXPECT_EQ(constants.constant("kBytes"), "sizeof(float)*(4+4)");
  EXPECT_FALSE(constants.constant("CALL"));
  EXPECT_FALSE(constants.constant("TWICE"));
  EXPECT_FALSE(constants.constant("kNone"));
  EXPECT_TRUE(constants.mentions("CALL"));
  EXPECT_FALSE(constants.mentions("CAL"));
}

}  // namespace
}  // namespace tunebook::test
