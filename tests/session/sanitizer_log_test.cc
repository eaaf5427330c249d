// Logs as compute-sanitizer and AddressSanitizer write them, whole, damaged and cut off.
#include "session/sanitizer_log.h"

#include <string>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

const std::string kSymbol = "_Z5scaleILi64EEvPfPKfx";

SanitizerLog parse(const std::string& text) { return parse_compute_sanitizer_log(text, {kSymbol}); }

const std::string kMemcheck =
    "========= COMPUTE-SANITIZER\n"
    "========= Invalid __global__ read of size 4 bytes\n"
    "=========     at _Z5scaleILi64EEvPfPKfx+0x80\n"
    "=========     by thread (63,0,0) in block (3,0,0)\n"
    "=========     Access to 0x74b834000ffc is out of bounds\n"
    "=========     and is 1 bytes after the nearest allocation at 0x74b834000000 of size 4,092 bytes\n"
    "=========     Saved host backtrace up to driver entry point at kernel launch time\n"
    "=========         Host Frame: main [0x8ae3] in tunebook-cuda-worker\n"
    "========= \n"
    "========= Program hit cudaErrorLaunchFailure (error 719) due to \"unspecified launch failure\" on CUDA API call to cudaFree.\n"
    "=========     Saved host backtrace up to driver entry point at error\n"
    "========= \n"
    "========= Target application returned an error\n"
    "========= ERROR SUMMARY: 2 errors\n";

TEST(SanitizerLog, AnInvalidReadIsToldInOneLine) {
  const SanitizerLog log = parse(kMemcheck);
  EXPECT_TRUE(log.complete);
  EXPECT_EQ(log.failure, "");
  ASSERT_EQ(log.findings.size(), 1u);
  EXPECT_EQ(log.findings.front(),
            "Invalid __global__ read of size 4 bytes at scale+0x80 by thread (63,0,0) in block (3,0,0); Access to 0x74b834000ffc is out "
            "of bounds and is 1 bytes after the nearest allocation at 0x74b834000000 of size 4,092 bytes");
}

TEST(SanitizerLog, CleanLogsOfAllTools) {
  for (const char* summary : {"========= ERROR SUMMARY: 0 errors\n", "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"}) {
    const SanitizerLog log = parse(std::string("========= COMPUTE-SANITIZER\n") + summary);
    EXPECT_TRUE(log.complete);
    EXPECT_TRUE(log.findings.empty());
  }
}

TEST(SanitizerLog, ARaceIsAFindingAWarningIsNot) {
  const SanitizerLog log = parse(
      "========= COMPUTE-SANITIZER\n"
      "========= Warning: Race reported between Read access at _Z5scaleILi64EEvPfPKfx+0x10 in kernel.cu:7\n"
      "=========     and Write access at _Z5scaleILi64EEvPfPKfx+0x20 in kernel.cu:9 [2 hazards]\n"
      "=========\n"
      "========= Error: Race reported between Write access at _Z5scaleILi64EEvPfPKfx+0x90 in kernel.cu:41\n"
      "========= and Read access at _Z5scaleILi64EEvPfPKfx+0x100 in kernel.cu:51 [508 hazards]\n"
      "=========\n"
      "========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)\n");
  EXPECT_TRUE(log.complete);
  ASSERT_EQ(log.findings.size(), 1u);
  EXPECT_EQ(log.findings.front(),
            "Race reported between Write access at scale+0x90 in kernel.cu:41 and Read access at scale+0x100 in kernel.cu:51 [508 hazards]");
}

TEST(SanitizerLog, AFunctionCalledByTheKernelIsTheKernelsFault) {
  const SanitizerLog log = parse(
      "========= COMPUTE-SANITIZER\n"
      "========= Barrier error detected. Invalid arguments.\n"
      "=========     at __syncwarp(unsigned int)+0xe0 in sm_30_intrinsics.hpp:110\n"
      "=========     by thread (0,0,0) in block (0,0,0)\n"
      "=========         Device Frame: void scale<(int)64>(float *, const float *, long long)+0xb0 in kernel.cu:12\n"
      "========= ERROR SUMMARY: 17 errors\n");
  ASSERT_EQ(log.findings.size(), 1u);
  EXPECT_NE(log.findings.front().find("Barrier error detected. Invalid arguments."), std::string::npos);
}

TEST(SanitizerLog, OtherKernelsAndHostCallsAreNoFindings) {
  const SanitizerLog log = parse(
      "========= COMPUTE-SANITIZER\n"
      "noise of the program\n"
      "========= Uninitialized __global__ memory read of size 4 bytes\n"
      "=========     at _ZN8tunebook12fill_kernelEPf+0x20\n"
      "=========     by thread (0,0,0) in block (0,0,0)\n"
      "========= Invalid __global__ read of size 4 bytes\n"
      "=========     at upscale+0x80\n"
      "========= Program hit cudaErrorInvalidValue (error 1) due to \"invalid argument\" on CUDA API call to cudaFuncSetAttribute.\n"
      "========= ERROR SUMMARY: 3 errors\n"
      "========= ERROR SUMMARY: 1 errors were not printed. Use --print-limit option to adjust the number of printed errors\n");
  EXPECT_TRUE(log.complete);
  EXPECT_TRUE(log.findings.empty());
}

TEST(SanitizerLog, WithoutASummaryTheToolSaysWhy) {
  const SanitizerLog log = parse(
      "========= COMPUTE-SANITIZER\n"
      "========= Error: process didn't terminate successfully\n"
      "=========     The application may have hit an error when dereferencing Unified Memory from the host.\n"
      "========= Error: Target application terminated before first instrumented API call\n");
  EXPECT_FALSE(log.complete);
  EXPECT_EQ(log.failure, "Error: process didn't terminate successfully");
  EXPECT_TRUE(log.findings.empty());
}

TEST(SanitizerLog, EveryPrefixAndEveryDamageIsRead) {
  for (std::size_t length = 0; length < kMemcheck.size(); ++length) {
    const SanitizerLog log = parse(kMemcheck.substr(0, length));
    EXPECT_EQ(log.complete, length >= kMemcheck.find("SUMMARY: ") + 10);
    EXPECT_LE(log.findings.size(), 1u);
  }
  std::string damaged = kMemcheck;
  for (std::size_t i = 0; i < damaged.size(); i += 7) damaged[i] = static_cast<char>(i * 31);
  EXPECT_LE(parse(damaged).findings.size(), 20u);
  EXPECT_FALSE(parse(std::string(1 << 20, '=')).complete);
}

TEST(SanitizerLog, NamesOfFunctions) {
  EXPECT_EQ(function_name("_Z5scaleILi64EEvPfPKfx"), "scale");
  EXPECT_EQ(function_name("_ZN2my6matmulIfLi3EEEvPT_"), "matmul");
  EXPECT_EQ(function_name("_Z3addPfi"), "add");
  EXPECT_EQ(function_name("plain_c"), "plain_c");
}

const std::string kAsan =
    "a line that the kernel printed\n"
    "=================================================================\n"
    "==1234==ERROR: AddressSanitizer: stack-buffer-overflow on address 0x7f1c at pc 0x7f2d bp 0x7ffd sp 0x7ffe\n"
    "WRITE of size 4 at 0x7f1c thread T1\n"
    "    #0 0x7f2d in void overrun<4>(float*, long long) /tmp/tunebook-cpu-77-abc/s/s/s/s/kernel.cu:12:7\n"
    "    #1 0x7f2e in tunebook_cpu_entry (/cache/ab/k.so+0x1234)\n"
    "\n"
    "Address 0x7f1c is located in stack of thread T1 at offset 48 in frame\n"
    "    #0 0x7f2d in void overrun<4>(float*, long long) kernel.cu:3\n"
    "\n"
    "  This frame has 1 object(s):\n"
    "    [32, 48) 'local.i' (line 5) <== Memory access at offset 48 overflows this variable\n"
    "HINT: this may be a false positive if your program uses some custom stack unwind mechanism, swapcontext or vfork\n"
    "SUMMARY: AddressSanitizer: stack-buffer-overflow kernel.cu:12:7 in void overrun<4>(float*, long long)\n";

TEST(AsanReport, SaysWhatWhereAndWhichVariable) {
  EXPECT_EQ(parse_asan_report(kAsan), "stack-buffer-overflow: WRITE of size 4 at kernel.cu:12; 'local' (line 5) is overrun");
}

TEST(AsanReport, WithoutSymbolsOrWithoutReport) {
  EXPECT_EQ(parse_asan_report("==1==ERROR: AddressSanitizer: use-after-poison on address 0x1 at pc 0x2\n"
                              "READ of size 8 at 0x1 thread T2\n    #0 0x7f (/cache/k.so+0x12)\n"),
            "use-after-poison: READ of size 8; outside of a shared array or a buffer");
  EXPECT_EQ(parse_asan_report("nothing of the kind\n"), "");
  EXPECT_EQ(parse_asan_report(""), "");
  for (std::size_t length = 0; length < kAsan.size(); ++length) {
    const std::string finding = parse_asan_report(kAsan.substr(0, length));
    EXPECT_EQ(finding.empty(), length < kAsan.find("Sanitizer: ") + 12) << length << finding;
  }
}

}  // namespace
}  // namespace tunebook
