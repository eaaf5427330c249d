#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "cpu/cpu_compiler.h"
#include "cpu/host_compiler.h"
#include "kernel_fixture.h"

namespace tunebook::test {
namespace {

#define EXPECT_MESSAGE(reply, text) EXPECT_NE((reply).message.find(text), std::string::npos) << (reply).message

TEST(Compiler, HelloDescribesTheDevice) {
  const Hello hello = compiler().hello();
  ASSERT_EQ(hello.error, "");
  ASSERT_TRUE(hello.device);
  EXPECT_EQ(hello.device->kind, "cpu");
  EXPECT_EQ(hello.native_arch, "cpu");
  EXPECT_GE(hello.device->sm_count, 1);
  EXPECT_EQ(hello.device->host_compiler, hello.toolchain);
  EXPECT_TRUE(hello.toolchain.starts_with("clang ") || hello.toolchain.starts_with("gcc ")) << hello.toolchain;
}

TEST(Compiler, ErrorsKeepFileAndLine) {
  const CompileReply reply =
      compiler().compile(compile_request("__global__ void k(int* p) {\n  __shared__ int s[4];\n  *p = no_such_name;\n}\n", "k"));
  EXPECT_EQ(reply.outcome, Outcome::compile_error);
  EXPECT_TRUE(reply.message.starts_with("kernel.cu:")) << reply.message;
  EXPECT_MESSAGE(reply, "kernel.cu:3:");
  EXPECT_MESSAGE(reply, "no_such_name");
  EXPECT_EQ(reply.message.find("/tmp"), std::string::npos) << reply.message;
}

TEST(Compiler, ErrorsInHeadersNameTheHeader) {
  CompileRequest request = compile_request("#include \"part/x.cuh\"\n__global__ void k() {}\n", "k");
  request.source.headers = {{"part/x.cuh", "#include \"../y.cuh\"\n"}, {"y.cuh", "\nint f() { return wrong; }\n"}};
  const CompileReply reply = compiler().compile(request);
  EXPECT_EQ(reply.outcome, Outcome::compile_error);
  EXPECT_MESSAGE(reply, "y.cuh:2:");
}

TEST(Compiler, StaticAssertAndMissingEntry) {
  const std::string source = "template <int N> __global__ void k(int* p) { static_assert(N % 2 == 0, \"N must be even\"); *p = N; }";
  const CompileReply odd = compiler().compile(compile_request(source, "k<3>"));
  EXPECT_EQ(odd.outcome, Outcome::compile_error);
  EXPECT_MESSAGE(odd, "N must be even");
  const CompileReply missing = compiler().compile(compile_request(source, "absent"));
  EXPECT_EQ(missing.outcome, Outcome::compile_error);
  EXPECT_MESSAGE(missing, "instantiation of absent:1");
}

TEST(Compiler, PtxIsRefusedOnlyWhereItIsUsed) {
  const std::string source =
      "__device__ void ptx() {\n  asm volatile(\"bar.sync 0;\");\n}\n"
      "template <bool USE> __global__ void k(int* p) { if constexpr (USE) ptx(); *p = 1; }\n";
  EXPECT_EQ(compiler().compile(compile_request(source, "k<false>")).outcome, Outcome::ok);
  const CompileReply used = compiler().compile(compile_request(source, "k<true>"));
  EXPECT_EQ(used.outcome, Outcome::compile_error);
  EXPECT_EQ(used.message, "kernel.cu:2: uses PTX (inline asm); the cpu device cannot run it");
}

TEST(Compiler, SecondTimeComesFromTheCache) {
  const CompileRequest request = compile_request("__global__ void cached(int* p) { *p = VALUE; }", "cached", {{"VALUE", "5"}});
  const CompileReply first = compiler().compile(request);
  ASSERT_EQ(first.outcome, Outcome::ok) << first.message;
  EXPECT_FALSE(first.cached);
  const CompileReply second = compiler().compile(request);
  EXPECT_TRUE(second.cached);
  EXPECT_EQ(second.artifact, first.artifact);
  EXPECT_EQ(second.options, first.options);
  CompileRequest other = request;
  other.instantiation.defines[0].second = "6";
  const CompileReply different = compiler().compile(other);
  EXPECT_FALSE(different.cached);
  EXPECT_NE(different.artifact, first.artifact);
}

TEST(Compiler, FoldersOfKilledWorkersAreRemovedAndOthersAreNot) {
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
  const auto folder = [](pid_t owner) {
    return std::filesystem::temp_directory_path() / ("tunebook-cpu-" + std::to_string(owner) + "-x1y2z3");
  };
  for (const pid_t owner : {dead, ::getpid()}) {
    std::filesystem::create_directories(folder(owner));
    std::ofstream(folder(owner) / "kernel.cu") << "x";
  }
  const CpuCompiler next;
  EXPECT_FALSE(std::filesystem::exists(folder(dead)));
  EXPECT_TRUE(std::filesystem::exists(folder(::getpid())));
  std::filesystem::remove_all(folder(::getpid()));
}

TEST(Compiler, MacrosReachTheKernelAndNotTheDeviceHeaders) {
  const std::string source = "#include <cuda_fp16.h>\n__global__ void k(T* p) { p[threadIdx.x] = N * value + bits; }";
  std::vector<float> out(4, 0);
  const KernelLibrary library(compile(source, "k", {{"T", "float"}, {"N", "4"}, {"value", "2"}, {"bits", "1"}}), kCpuEntrySymbol);
  float* pointer = out.data();
  void* arguments[] = {&pointer};
  GridLaunch grid;
  grid.entry = library.entry();
  grid.arguments = arguments;
  grid.shape = shape({1, 1, 1}, {4, 1, 1});
  WorkerThreads threads(1);
  ASSERT_FALSE(run_grid(threads, grid).failure);
  EXPECT_EQ(out, (std::vector<float>{9, 9, 9, 9}));
}

TEST(Compiler, EmitGivesSourceAndAssembly) {
  CompileRequest request = compile_request("__global__ void emitted(int* p) {\n#pragma unroll\n  *p = 1;\n}", "emitted");
  request.emit = true;
  const CompileReply reply = compiler().compile(request);
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  ASSERT_EQ(reply.emitted.size(), 3u);
  EXPECT_EQ(reply.emitted[0].first, "kernel.cu");
  EXPECT_EQ(reply.emitted[0].second, "__global__ void emitted(int* p) {\n\n  *p = 1;\n}");
  EXPECT_NE(reply.emitted[2].second.find("tunebook_cpu_entry"), std::string::npos);
}

class HostCompilerVariable : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv("TUNEBOOK_HOST_COMPILER"); }
};

TEST_F(HostCompilerVariable, ANonCompilerIsAClearError) {
  ::setenv("TUNEBOOK_HOST_COMPILER", "/bin/false", 1);
  const Hello hello = CpuCompiler().hello();
  EXPECT_NE(hello.error.find("TUNEBOOK_HOST_COMPILER is \"/bin/false\""), std::string::npos) << hello.error;
}

TEST_F(HostCompilerVariable, GccCompilesKernelsToo) {
  ::setenv("TUNEBOOK_HOST_COMPILER", "g++", 1);
  compiler();  // sets the cache up
  CpuCompiler gcc;
  if (!gcc.hello().error.empty()) GTEST_SKIP() << gcc.hello().error;
  const std::string source = R"(
#include <cuda_fp16.h>
#include <cuda_bf16.h>
template <int N> __global__ void k(__half* p) {
  __shared__ float s[N];
  extern __shared__ float d[];
  s[threadIdx.x] = d[threadIdx.x] = threadIdx.x;
  __syncthreads();
  p[threadIdx.x] = s[N - 1 - threadIdx.x] + __shfl_xor_sync(0xffffffffu, d[threadIdx.x], 1);
})";
  const CompileReply reply = gcc.compile(compile_request(source, "k<64>"));
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  const CompileReply wrong = gcc.compile(compile_request("\n__global__ void k() { x; }", "k"));
  EXPECT_MESSAGE(wrong, "kernel.cu:2:");
  const CompileReply ptx = gcc.compile(compile_request("__global__ void k() {\n asm(\"x\"); }", "k"));
  EXPECT_EQ(ptx.message, "kernel.cu:2: uses PTX (inline asm); the cpu device cannot run it");
}

// Stands for a compiler that crashes: answers the probe, then ends itself.
TEST_F(HostCompilerVariable, ACrashingCompilerIsACompileError) {
  compiler();
  const std::filesystem::path script = std::filesystem::temp_directory_path() / ("tunebook-crash-" + std::to_string(::getpid()));
  {
    std::ofstream file(script);
    file << "#!/bin/sh\nfor a in \"$@\"; do [ \"$a\" = -dM ] && exec c++ \"$@\"; done\nkill -SEGV $$\n";
  }
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  ::setenv("TUNEBOOK_HOST_COMPILER", script.c_str(), 1);
  CpuCompiler crashing;
  const CompileReply reply = crashing.compile(compile_request("__global__ void crash() {}", "crash"));
  std::filesystem::remove(script);
  EXPECT_EQ(reply.outcome, Outcome::compile_error);
  EXPECT_MESSAGE(reply, "crashed: signal 11");
}

}  // namespace
}  // namespace tunebook::test
