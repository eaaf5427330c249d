// matmul on the cpu device, through the program as its users run it.
#include <cstdint>
#include <string>

#include "cli/cli_support.h"
#include "core/template_folder.h"

namespace tunebook::test {
namespace {

const std::string kTemplates = TUNEBOOK_SOURCE_DIR "/templates";

class MatmulCpu : public CliTest {
 protected:
  // Right on the shape itself and on at least one more.
  void expect_ok(const std::string& preset, const std::string& shape) {
    SCOPED_TRACE(preset + " " + shape);
    const auto ran = run_json({"run", "matmul", "--templates", kTemplates, "--shape", shape, "--preset", preset, "--device", "cpu", "--json"});
    ASSERT_TRUE(ran.contains("outcome")) << ran.dump();
    EXPECT_EQ(ran["outcome"], "ok") << ran.dump();
    EXPECT_GE(ran["verified_problems"].get<int>(), 2) << ran.dump();
  }
};

TEST_F(MatmulCpu, TuneFindsNoWrongConfiguration) {
  const auto tuned = run_json({"tune", "matmul", "--templates", kTemplates, "--shape", "192,160,96", "--device", "cpu", "--budget", "12",
                               "--seed", "1", "--presets", "--json"});
  int all = 0;
  for (const auto& [outcome, count] : tuned["trials"].items()) {
    EXPECT_TRUE(outcome == "ok" || outcome == "abandoned") << tuned["trials"].dump();
    all += count.get<int>();
  }
  EXPECT_GE(all, 12);
  EXPECT_TRUE(tuned["winner"].is_object()) << tuned.dump();
}

// No size is a multiple of a tile; loads of VEC elements need n and k to be multiples of VEC.
TEST_F(MatmulCpu, EveryPresetIsRightOnARaggedShape) {
  const KernelTemplate matmul = load_template(kTemplates + "/matmul");
  for (const auto& [name, preset] : matmul.spec.presets) {
    if (name.starts_with("tensor_core") || name == "warpgroups") continue;  // there are none
    const bool wide = std::get<std::int64_t>(preset.at("VEC")) > 1;
    const bool few_rows = std::get<std::string>(preset.at("PATH")) == "few_rows";
    expect_ok(name, few_rows ? to_text(preset.at("TM")) + ",52,28"
                    : wide   ? "37,52,28"
                             : "37,53,29");
  }
}

TEST_F(MatmulCpu, TransposedInputsAndScalarsAreRight) {
  for (const char* preset : {"naive", "default"}) {
    for (const char* kept : {"ta=t,epilogue=alpha_beta", "tb=t,epilogue=none", "ta=t,tb=t,epilogue=alpha_beta"}) {
      expect_ok(preset, std::string("37,53,29,") + kept);
    }
  }
  for (const char* preset : {"register_tiled", "wide_threads", "split_k"}) expect_ok(preset, "36,52,28,ta=t,tb=t,epilogue=alpha_beta");
}

TEST_F(MatmulCpu, HalfIsRightOnARaggedShape) {
  for (const char* preset : {"default", "tiled"}) expect_ok(preset, "37,53,29,dtype=f16");
}

TEST_F(MatmulCpu, DoubleIsRightOnARaggedShape) {
  for (const char* preset : {"default", "tiled"}) expect_ok(preset, "37,53,29,dtype=f64");
}

}  // namespace
}  // namespace tunebook::test
