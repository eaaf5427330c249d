// What tune and run say about how far a configuration was verified: a kernel whose wide configurations exclude every small problem,
// and whose atomic ones add to zeros in any order.
#include <string>

#include "cli/cli_support.h"

namespace tunebook::test {
namespace {

const std::string kKernels = TUNEBOOK_SOURCE_DIR "/tests/data/verify_kernels";

class VerificationShown : public CliTest {
 protected:
  nlohmann::json run(const std::string& configuration) {
    return run_json({"run", "column_sums", "--templates", kKernels, "--shape", "300,256", "--config", configuration, "--device", "cpu", "--json"});
  }
};

TEST_F(VerificationShown, RunCountsWhatTheConstraintsExclude) {
  for (const char* atomic : {"0", "1"}) {
    const auto small = run(std::string("BLOCK=64,ATOMIC=") + atomic);
    EXPECT_EQ(small["outcome"], "ok") << small.dump();
    EXPECT_EQ(small["verified_problems"], 4);
    EXPECT_EQ(small["skipped_problems"], 0);
    EXPECT_EQ(small["verified_ragged"], true);
    const auto wide = run(std::string("BLOCK=128,ATOMIC=") + atomic);
    EXPECT_EQ(wide["outcome"], "ok") << wide.dump();
    EXPECT_EQ(wide["verified_problems"], 1);
    EXPECT_EQ(wide["skipped_problems"], 3);
    EXPECT_EQ(wide["verified_ragged"], false);
  }
}

TEST_F(VerificationShown, TuneMarksAWinnerThatNoRaggedProblemChecked) {
  for (const char* block : {"64", "128"}) {
    const auto tuned = run_json({"tune", "column_sums", "--templates", kKernels, "--shape", "300,256", "--device", "cpu", "--where",
                                 std::string("BLOCK == ") + block, "--finalist-processes", "1", "--json"});
    ASSERT_TRUE(tuned["winner"].is_object()) << tuned.dump();
    const auto& winner = tuned["winner"];
    // The preset, which is proposed whatever --where says, has BLOCK 64.
    const bool ragged = winner["configuration"]["BLOCK"] == 64;
    EXPECT_EQ(winner["verified_ragged"], ragged) << tuned.dump();
    EXPECT_EQ(winner["skipped_problems"], ragged ? 0 : 3);
    EXPECT_EQ(winner["verified_problems"], ragged ? 4 : 1);
  }
}

}  // namespace
}  // namespace tunebook::test
