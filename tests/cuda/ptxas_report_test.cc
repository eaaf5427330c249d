#include "cuda/ptxas_report.h"

#include <string>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

constexpr const char* kNew = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k2' for 'sm_90'
ptxas info    : Function properties for k2
ptxas         .     936 bytes stack frame, 864 bytes spill stores, 904 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 936 bytes cumulative stack size, 512 bytes smem
ptxas info    : Compile time = 22.265 ms
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers, 200 bytes cumulative stack size
ptxas info    : Function properties for _Z1ffi
ptxas         .     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
)";

// As older versions write it.
constexpr const char* kOld = R"(ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for k
    16 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, 16384 bytes smem, 380 bytes cmem[0]
)";

TEST(PtxasReport, TakesTheEntryAskedFor) {
  const Resources k2 = parse_ptxas_report(kNew, "k2");
  EXPECT_EQ(k2.registers, 32);
  EXPECT_EQ(k2.shared_static_bytes, 512);
  EXPECT_EQ(k2.spill_store_bytes, 864);
  EXPECT_EQ(k2.spill_load_bytes, 904);
  EXPECT_EQ(k2.stack_bytes, 936);
  const Resources k = parse_ptxas_report(kNew, "k");
  EXPECT_EQ(k.registers, 24);
  EXPECT_EQ(k.shared_static_bytes, 0);
  EXPECT_EQ(k.spill_store_bytes, 0);
  EXPECT_EQ(k.stack_bytes, 200);
  EXPECT_EQ(parse_ptxas_report(kNew, "absent").registers, -1);
  EXPECT_EQ(parse_ptxas_report("", "k").shared_static_bytes, -1);
}

TEST(PtxasReport, OlderForm) {
  const Resources k = parse_ptxas_report(kOld, "k");
  EXPECT_EQ(k.registers, 40);
  EXPECT_EQ(k.shared_static_bytes, 16384);
  EXPECT_EQ(k.stack_bytes, 16);
  EXPECT_EQ(k.spill_store_bytes, 4);
  EXPECT_EQ(k.spill_load_bytes, 12);
}

TEST(PtxasReport, CleanLogKeepsErrorsAndItsSize) {
  EXPECT_EQ(clean_log(kNew), "");
  EXPECT_EQ(clean_log(std::string("ptxas info    : 0 bytes gmem\nptxas error   : too much\n\0", 55)), "ptxas error   : too much");
  const std::string cut = clean_log("first" + std::string(100000, 'x') + "last");
  EXPECT_LE(cut.size(), 16384u);
  EXPECT_TRUE(cut.starts_with("first") && cut.ends_with("last"));
}

TEST(PtxasReport, CodeBytesOfWhatIsNoCubin) {
  EXPECT_EQ(code_bytes("", "k"), -1);
  EXPECT_EQ(code_bytes(std::string(500, '\x7f'), "k"), -1);
  EXPECT_EQ(code_bytes("\x7f" "ELF\x02" + std::string(200, '\xff'), "k"), -1);
}

}  // namespace
}  // namespace tunebook
