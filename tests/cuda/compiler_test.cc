#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "compile_support.h"

namespace tunebook {
namespace {

constexpr const char* kVectorAdd = R"(
template <typename T, int BLOCK, int ITEMS>
__global__ void vector_add(T* c, const T* a, const T* b, long long n) {
  static_assert(BLOCK % 32 == 0, "BLOCK must be a multiple of the warp size");
  __shared__ T tile[BLOCK];
  for (int item = 0; item < ITEMS; ++item) {
    const long long i = (static_cast<long long>(blockIdx.x) * ITEMS + item) * BLOCK + threadIdx.x;
    tile[threadIdx.x ^ 1] = i < n ? a[i] : T(0);
    __syncthreads();
    if (i < n) c[i] = tile[threadIdx.x ^ 1] + b[i];
    __syncthreads();
  }
}
)";

class Compiler : public ::testing::Test {
 protected:
  CompileReply compile(const CompileRequest& request) { return backend_->compile(request); }
  CompileReply compile(const std::string& text, const std::string& entry) { return compile(compile_request(text, entry)); }

  PrivateCache cache_;
  std::unique_ptr<CompilerBackend> backend_ = make_cuda_compiler();
};

std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST_F(Compiler, HelloNamesTheCompilerWithoutADevice) {
  const Hello hello = backend_->hello();
  EXPECT_EQ(hello.error, "");
  EXPECT_EQ(hello.role, WorkerRole::compiler);
  EXPECT_TRUE(hello.toolchain.starts_with("nvrtc 1")) << hello.toolchain;
  EXPECT_FALSE(hello.device.has_value());
}

TEST_F(Compiler, ReportsResourcesForEachArchitecture) {
  for (const char* arch : {"sm_80", "sm_90", "sm_120"}) {
    const CompileReply reply = compile(compile_request(kVectorAdd, "vector_add<float, 128, 2>", arch));
    ASSERT_EQ(reply.outcome, Outcome::ok) << arch << ": " << reply.message;
    EXPECT_EQ(reply.id, 7);
    EXPECT_EQ(reply.symbol.find("_Z10vector_addIfLi128ELi2EE"), 0u) << reply.symbol;
    EXPECT_GT(reply.resources.registers, 5);
    EXPECT_LT(reply.resources.registers, 64);
    // From sm_100 on the compiler keeps 1 KiB of its own in every block that uses shared memory.
    EXPECT_EQ(reply.resources.shared_static_bytes % 1024, 128 * 4) << arch;
    EXPECT_EQ(reply.resources.spill_load_bytes, 0);
    EXPECT_EQ(reply.resources.spill_store_bytes, 0);
    EXPECT_EQ(reply.resources.stack_bytes, 0);
    EXPECT_GT(reply.resources.code_bytes, 100);
    EXPECT_EQ(content(reply.artifact).substr(1, 3), "ELF");
    EXPECT_GT(reply.seconds, 0);
    EXPECT_NE(reply.options.find(std::string("--gpu-architecture=") + arch), std::string::npos);
  }
}

TEST_F(Compiler, ReportsSpillsAndStackOfTheEntryAskedFor) {
  const std::string text = R"(
    extern "C" __global__ void plain(float* c) { c[threadIdx.x] += 1; }
    extern "C" __global__ void __launch_bounds__(1024, 2) spilling(float* c) {
      float v[80];
      for (int i = 0; i < 80; ++i) v[i] = c[i * threadIdx.x];
      __syncthreads();
      for (int i = 0; i < 80; ++i) c[i * threadIdx.x] = v[i] * v[79 - i];
    })";
  const CompileReply plain = compile(text, "plain");
  ASSERT_EQ(plain.outcome, Outcome::ok) << plain.message;
  EXPECT_EQ(plain.symbol, "plain");
  EXPECT_EQ(plain.resources.spill_store_bytes, 0);
  EXPECT_EQ(plain.resources.stack_bytes, 0);
  const CompileReply spilling = compile(text, "spilling");
  ASSERT_EQ(spilling.outcome, Outcome::ok) << spilling.message;
  EXPECT_EQ(spilling.resources.registers, 32);
  EXPECT_GT(spilling.resources.spill_store_bytes, 0);
  EXPECT_GT(spilling.resources.spill_load_bytes, 0);
  EXPECT_GT(spilling.resources.stack_bytes, 0);
  EXPECT_GT(spilling.resources.code_bytes, plain.resources.code_bytes);
}

TEST_F(Compiler, MacrosAndPlainFunctions) {
  const std::string text = R"(
    __global__ void fill(TYPE* c) { __shared__ TYPE tile[TILE][TILE]; tile[0][threadIdx.x] = c[0]; __syncthreads(); c[threadIdx.x] = tile[0][threadIdx.x ^ 1]; })";
  CompileRequest request = compile_request(text, "fill");
  request.instantiation.defines = {{"TYPE", "unsigned int"}, {"TILE", "16"}};
  CompileReply reply = compile(request);
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  EXPECT_EQ(reply.symbol, "_Z4fillPj");
  EXPECT_EQ(reply.resources.shared_static_bytes, 16 * 16 * 4);
  request.instantiation.defines[1].second = "32";
  reply = compile(request);
  EXPECT_EQ(reply.resources.shared_static_bytes, 32 * 32 * 4);
  EXPECT_FALSE(reply.cached);
}

TEST_F(Compiler, HeadersOfTheTemplateOfTheToolkitAndBuiltIn) {
  CompileRequest request = compile_request(R"(
    #include <cuda_runtime.h>
    #include <cuda_fp16.h>
    #include <cuda_bf16.h>
    #include <mma.h>
    #include <cstdint>
    #include <stdint.h>
    #include <cstddef>
    #include <cmath>
    #include <climits>
    #include <cfloat>
    #include <cstdio>
    #include <cassert>
    #include "outer.h"
    template <typename T> __global__ void k(T* c, std::uint32_t n, uint64_t m, std::size_t s) {
      assert(n < UINT32_MAX);
      c[n] = T(two()) + T(float(m)) + T(std::sqrt(FLT_MAX)) + T(float(s));
    })",
                                           "k<__nv_bfloat16>");
  request.source.headers = {{"outer.h", "#pragma once\n#include \"inner.h\"\n"}, {"inner.h", "__device__ inline float two() { return 2; }\n"}};
  EXPECT_EQ(compile(request).outcome, Outcome::ok) << compile(request).message;
  request.instantiation.name_expression = "k<__half>";
  EXPECT_EQ(compile(request).outcome, Outcome::ok) << compile(request).message;
  request.instantiation.name_expression = "k<double>";
  const CompileReply reply = compile(request);
  EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
  request.source.headers[1].second = "__device__ inline float two() { return 3; }\n";
  const CompileReply changed = compile(request);
  EXPECT_FALSE(changed.cached) << "a changed header is another kernel";
  EXPECT_NE(changed.artifact, reply.artifact);
}

TEST_F(Compiler, LibcudacxxBesideTheBuiltInHeaders) {
  const CompileReply reply = compile(R"(
    #include <cstdint>
    #include <cuda/std/cstdint>
    extern "C" __global__ void k(cuda::std::int64_t* c, std::int64_t n) { c[n] = n; })", "k");
  EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
}

TEST_F(Compiler, ErrorsKeepTheCompilersWords) {
  const auto expect_error = [&](const CompileReply& reply, Outcome outcome, const std::string& words) {
    EXPECT_EQ(reply.outcome, outcome) << reply.message;
    EXPECT_NE(reply.message.find(words), std::string::npos) << reply.message;
    EXPECT_EQ(reply.message.find("ptxas info"), std::string::npos) << reply.message;
    EXPECT_EQ(reply.message.find("/tmp/"), std::string::npos) << reply.message;
    EXPECT_EQ(reply.artifact, "");
    EXPECT_LE(reply.message.size(), 16384u);
  };
  expect_error(compile("extern \"C\" __global__ void k(float* c) { c[0] = 1 }", "k"), Outcome::compile_error, "kernel.cu(1): error: expected a \";\"");
  expect_error(compile(kVectorAdd, "vector_sub<float, 128, 2>"), Outcome::compile_error, "\"vector_sub\" is undefined");
  expect_error(compile(kVectorAdd, "vector_add<float, 33, 1>"), Outcome::compile_error, "BLOCK must be a multiple of the warp size");
  expect_error(compile("extern \"C\" __global__ void k(float* c) {\n __shared__ float s[40000];\n s[threadIdx.x] = c[0];\n __syncthreads();\n"
                       " c[threadIdx.x] = s[threadIdx.x ^ 1];\n}", "k"),
               Outcome::no_resources, "uses too much shared data");
  expect_error(compile(compile_request(kVectorAdd, "vector_add<float, 32, 1>", "sm_999")), Outcome::compile_error, "--gpu-architecture");
  expect_error(compile("extern \"C\" __device__ int k(int c) { return c; }", "k"), Outcome::compile_error, "non-__global__ function");
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "__device__ unknown_type_with_a_long_name f" + std::to_string(i) + "();\n";
  expect_error(compile(many, "k"), Outcome::compile_error, "unknown_type_with_a_long_name");
}

TEST_F(Compiler, FeaturesThatMinimalModeLacksStillCompile) {
  const std::string text = "extern \"C\" __global__ void k(float* c, cudaTextureObject_t t) { c[0] = tex1Dfetch<float>(t, 3); }";
  EXPECT_EQ(compile(text, "k").outcome, Outcome::ok);
}

TEST_F(Compiler, SecondTimeFromTheCache) {
  const CompileRequest request = compile_request(kVectorAdd, "vector_add<float, 64, 2>");
  const CompileReply first = compile(request);
  ASSERT_EQ(first.outcome, Outcome::ok);
  EXPECT_FALSE(first.cached);
  backend_ = make_cuda_compiler();
  const CompileReply second = compile(request);
  EXPECT_TRUE(second.cached);
  EXPECT_EQ(second.seconds, 0);
  EXPECT_EQ(second.artifact, first.artifact);
  EXPECT_EQ(second.symbol, first.symbol);
  EXPECT_EQ(second.resources.to_json(), first.resources.to_json());
  EXPECT_EQ(second.options, first.options);

  CompileRequest other = request;
  other.arch = "sm_80";
  EXPECT_FALSE(compile(other).cached);
  other = request;
  other.instantiation.options = {"--use_fast_math"};
  EXPECT_FALSE(compile(other).cached);
  other = request;
  other.source.text += "// changed\n";
  EXPECT_FALSE(compile(other).cached);
}

TEST_F(Compiler, DamagedEntriesAreCompiledAgain) {
  const CompileRequest request = compile_request(kVectorAdd, "vector_add<float, 64, 1>");
  const CompileReply first = compile(request);
  const std::string cubin = content(first.artifact);
  std::ofstream(first.artifact, std::ios::binary | std::ios::in).seekp(100) << "damage";
  const CompileReply second = compile(request);
  EXPECT_FALSE(second.cached);
  EXPECT_EQ(content(second.artifact), cubin) << "the same compile gives the same bytes";
  EXPECT_TRUE(compile(request).cached);
}

TEST_F(Compiler, OptionsThatSaveTimeDoNotChangeTheCode) {
  // A kernel with textures switches minimal mode off for the process; the cubin compiled before must equal the one compiled after.
  const CompileRequest request = compile_request(std::string("#include <cuda/std/cstdint>\n#include <cuda_fp16.h>\n") + kVectorAdd, "vector_add<__half, 64, 4>");
  const std::string before = content(compile(request).artifact);
  ASSERT_EQ(compile("extern \"C\" __global__ void k(float* c, cudaTextureObject_t t) { c[0] = tex1Dfetch<float>(t, 3); }", "k").outcome, Outcome::ok);
  std::filesystem::remove_all(cache_.folder() / "cache" / "cubin");
  const CompileReply after = compile(request);
  EXPECT_FALSE(after.cached);
  EXPECT_EQ(content(after.artifact), before);
  // A macro, even one that is not used, makes precompiled headers useless: without them.
  CompileRequest plain = request;
  plain.instantiation.defines = {{"UNUSED", "1"}};
  EXPECT_EQ(content(compile(plain).artifact), before);
}

TEST_F(Compiler, EmitGivesPtxAndOptions) {
  CompileRequest request = compile_request(kVectorAdd, "vector_add<float, 64, 8>");
  request.emit = true;
  compile(request);
  const CompileReply reply = compile(request);
  ASSERT_EQ(reply.outcome, Outcome::ok);
  const auto find = [&](const std::string& name) {
    const auto found = std::find_if(reply.emitted.begin(), reply.emitted.end(), [&](const auto& file) { return file.first == name; });
    return found == reply.emitted.end() ? std::string() : found->second;
  };
  EXPECT_NE(find("kernel.ptx").find(".entry " + reply.symbol), std::string::npos);
  EXPECT_NE(find("options.txt").find("-std=c++20"), std::string::npos);
}

// The cubin without the number that each compile gives to names of internal linkage: "_INTERNAL_00000000_9_kernel_cu_1aa733b9_...".
std::string comparable(std::string cubin) {
  const std::string before = "_kernel_cu_";
  for (std::size_t at = 0; (at = cubin.find(before, at)) != std::string::npos; at += before.size()) {
    for (std::size_t i = at + before.size(); i < std::min(at + before.size() + 8, cubin.size()); ++i) cubin[i] = '0';
  }
  return cubin;
}

// As in a compile worker with two threads: each has a compiler of its own, the second made while the first compiles. Some with
// precompiled headers; the cubins must be those that one thread gives.
TEST_F(Compiler, TwoOnTwoThreadsGiveTheSameCode) {
  std::vector<CompileRequest> requests;
  for (const std::string items : {"1", "2", "4", "8"}) {
    requests.push_back(compile_request(kVectorAdd, "vector_add<float, 64, " + items + ">"));
    requests.push_back(compile_request(std::string("#include <cooperative_groups.h>\n") + kVectorAdd, "vector_add<double, 64, " + items + ">"));
  }
  std::vector<std::string> expected;
  for (const CompileRequest& request : requests) expected.push_back(comparable(content(compile(request).artifact)));
  std::filesystem::remove_all(cache_.folder() / "cache" / "cubin");

  std::vector<std::string> found(requests.size());
  const auto compile_every_second = [&](CompilerBackend& backend, std::size_t first) {
    for (std::size_t i = first; i < requests.size(); i += 2) {
      const CompileReply reply = backend.compile(requests[i ^ (i >> 2 & 1)]);  // both threads meet both kinds
      found[i ^ (i >> 2 & 1)] = reply.outcome == Outcome::ok ? comparable(content(reply.artifact)) : reply.message;
    }
  };
  std::thread second([&] { compile_every_second(*make_cuda_compiler(), 1); });
  compile_every_second(*backend_, 0);
  second.join();
  for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_TRUE(found[i] == expected[i]) << requests[i].instantiation.name_expression;
}

}  // namespace
}  // namespace tunebook
