// Nothing is asserted about times here: they are printed, to see what the fibres and the compiler cost.

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernel_fixture.h"

namespace tunebook::test {
namespace {

void print_line(const std::string& text) { fmt::print("[     speed ] {}\n", text); }

TEST(Speed, BarrierAndCompile) {
  const std::string source = R"(
__global__ void barriers(int* out, int n) {
  int x = threadIdx.x;
  for (int i = 0; i < n; ++i) { __syncthreads(); x += i; }
  out[threadIdx.x] = x;
})";
  const CompileReply reply = compiler().compile(compile_request(source, "barriers"));
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  print_line(fmt::format("compile of a small kernel: {:.0f} ms", reply.seconds * 1e3));
  std::vector<int> out(256);
  const int barriers = 2000;
  const LaunchResult result = launch(source, "barriers", shape({1, 1, 1}, {256, 1, 1}), out.data(), barriers);
  ASSERT_FALSE(result.failure);
  EXPECT_EQ(out[1], 1 + barriers * (barriers - 1) / 2);
  print_line(fmt::format("barrier, per thread that waits: {:.1f} ns", result.total_cpu_us * 1e3 / (256.0 * barriers)));
}

}  // namespace
}  // namespace tunebook::test
