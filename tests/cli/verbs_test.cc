// Each verb does its work, and says it in JSON on one line.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli_support.h"
#include "db/sqlite.h"
#include "db/store.h"

namespace tunebook::test {
namespace {

using Words = std::vector<std::string>;
const Words kVerbs = {"devices", "calibrate", "list", "check", "space", "tune", "run", "emit", "best", "portfolio", "publish", "export", "replay", "report", "compare", "doctor"};

class Verbs : public CliTest {
 protected:
  Words vector_add(const std::string& verb, Words more = {}) {
    Words words = {verb, "vector_add", "--templates", user_kernels(), "--shape", "4096", "--device", "cpu"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(Verbs, VersionAndHelp) {
  const ProgramResult version = run({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_TRUE(version.out.starts_with("tunebook ")) << version.out;
  const ProgramResult help = run({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const std::string& verb : kVerbs) {
    EXPECT_NE(help.out.find("\n  " + verb), std::string::npos) << verb;
    const ProgramResult verb_help = run({verb, "--help"});
    EXPECT_EQ(verb_help.exit_code, 0);
    EXPECT_NE(verb_help.out.find("Example:  tunebook " + verb), std::string::npos) << verb_help.out;
    EXPECT_NE(verb_help.out.find("--json"), std::string::npos) << verb;
  }
  EXPECT_FALSE(std::filesystem::exists(book()));
}

TEST_F(Verbs, List) {
  const auto json = run_json({"list", "--templates", user_kernels(), "--json"});
  std::vector<std::string> names;
  for (const auto& kernel : json["kernels"]) names.push_back(kernel["kernel"]);
  for (const char* name : {"convolution_2d", "kt_matmul", "matmul_tiled", "smooth", "vector_add"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
  EXPECT_NE(run({"list", "--templates", user_kernels()}).out.find("as in a first CUDA tutorial"), std::string::npos);
}

TEST_F(Verbs, Devices) {
  const auto json = run_json({"devices", "--json"});
  bool cpu = false;
  for (const auto& device : json["devices"]) cpu = cpu || (device["id"] == "cpu" && device["usable"] == true);
  EXPECT_TRUE(cpu) << json.dump();
}

TEST_F(Verbs, CalibrateFillsTheBookAndSummariesReferToIt) {
  const auto words = vector_add("run", {"--preset", "default", "--book", book().string()});
  const ProgramResult before = run(words);
  EXPECT_NE(before.err.find("hint: tunebook calibrate --device cpu"), std::string::npos) << before.err;
  EXPECT_FALSE(std::filesystem::exists(book()));  // run only reads it

  const auto json = run_json({"calibrate", "--device", "cpu", "--book", book().string(), "--json"});
  EXPECT_EQ(json["device"]["kind"], "cpu");
  for (const auto& ceiling : json["ceilings"]) {
    EXPECT_GT(ceiling["rate"], 0) << ceiling.dump();
    EXPECT_EQ(ceiling["unit"], ceiling["bytes"] == 0 ? "GFLOP/s" : "GB/s");
    EXPECT_EQ(ceiling["method"], "cold/cpu1");
  }
  EXPECT_EQ(json["ceilings"].size(), 3U * 7U + 2U);  // 64 KiB to 256 MiB, f32 and f64

  Words for_json = words;
  for_json.push_back("--json");
  const auto examined = run_json(for_json);
  EXPECT_GT(examined["ceiling"]["percent"], 0);
  EXPECT_TRUE(examined["ceiling"]["binds"].is_string());
  const ProgramResult after = run(words);
  EXPECT_EQ(after.err.find("hint:"), std::string::npos) << after.err;
  EXPECT_NE(after.out.find(" % of what "), std::string::npos) << after.out;
  const auto tuned = run_json(vector_add("tune", {"--budget", "2", "--book", book().string(), "--finalists", "2", "--finalist-processes", "1", "--json"}));
  EXPECT_GT(tuned["ceiling"]["percent"], 0);
}

TEST_F(Verbs, SpaceOfAKernelAndOfAFile) {
  const auto kernel = run_json({"space", "vector_add", "--templates", user_kernels(), "--shape", "4096", "--json"});
  EXPECT_EQ(kernel["cartesian"], "24");
  EXPECT_EQ(kernel["valid"], 24);
  const auto narrowed = run_json({"space", "vector_add", "--templates", user_kernels(), "--where", "BLOCK_SIZE * ITEMS_PER_THREAD == 512", "--json"});
  EXPECT_EQ(narrowed["valid"], 4);
  const auto file = run_json({"space", TUNEBOOK_SOURCE_DIR "/tests/data/spaces/gemm.json", "--json"});
  EXPECT_EQ(file["cartesian"], "663552");
  EXPECT_EQ(file["valid"], 116928);
}

// a <= b <= ... over 60 values each: 340 billion coupled combinations.
TEST_F(Verbs, SpacesThatAreTooLargeToListAreCounted) {
  nlohmann::ordered_json space = {{"parameters", nlohmann::ordered_json::object()}, {"constraints", nlohmann::ordered_json::array()}};
  nlohmann::ordered_json values = nlohmann::ordered_json::array();
  for (int v = 0; v < 60; ++v) values.push_back(v);
  for (char name = 'a'; name <= 'j'; ++name) {
    space["parameters"][std::string(1, name)] = values;
    if (name > 'a') space["constraints"].push_back(std::string(1, static_cast<char>(name - 1)) + " <= " + name);
  }
  const std::string file = (folder() / "large.json").string();
  std::ofstream(file) << space.dump();
  const auto json = run_json({"space", file, "--json"});
  EXPECT_EQ(json["valid"], 340'032'449'328);
  EXPECT_EQ(json["valid_exact"], true);
  EXPECT_EQ(json["can_be_searched"], false);
  EXPECT_EQ(json["constraints"].size(), 9u);
  const ProgramResult text = run({"space", file});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("340032449328 valid"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("too many to search: narrow it with --where"), std::string::npos) << text.out;
  EXPECT_EQ(run_json({"space", file, "--where", "j <= 5", "--json"})["can_be_searched"], true);
}

TEST_F(Verbs, Check) {
  EXPECT_EQ(run_json({"check", "--templates", user_kernels(), "vector_add", "matmul_tiled", "smooth", "--json"})["passed"], true);
  const auto compiled = run_json({"check", "vector_add", "--templates", user_kernels(), "--arch", "cpu", "--samples", "1", "--json"});
  EXPECT_EQ(compiled["passed"], true);
  EXPECT_EQ(compiled["samples"].size(), 3U);  // reference, preset, one pick
}

TEST_F(Verbs, CheckOfOneCategory) {
  const auto all = run_json({"check", "reduce", "--templates", TUNEBOOK_SOURCE_DIR "/templates", "--arch", "cpu", "--samples", "1", "--json"});
  const auto one = run_json({"check", "reduce", "--templates", TUNEBOOK_SOURCE_DIR "/templates", "--arch", "cpu", "--samples", "1", "--only", "dtype=f16", "--only", "operation=max", "--json"});
  ASSERT_GT(one["samples"].size(), 0U);
  std::size_t those = 0;
  for (const auto& sample : all["samples"]) those += sample["dtype"] == "max f16";
  EXPECT_EQ(one["samples"].size(), those);
  for (const auto& sample : one["samples"]) EXPECT_EQ(sample["dtype"], "max f16");
}

TEST_F(Verbs, CheckFindsWhatDoesNotCompile) {
  const ProgramResult result = run({"check", "does_not_compile", "--templates", fault_kernels(), "--arch", "cpu", "--samples", "200", "--json"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(parse_one_line(result.out)["passed"], false);
}

TEST_F(Verbs, CheckCompilesForArchitecturesWithoutAGpu) {
  if (!no_cuda_compiler().empty()) GTEST_SKIP() << no_cuda_compiler();
  const auto json = run_json({"check", "vector_add", "matmul_tiled", "smooth", "--templates", user_kernels(), "--arch", "sm_80,sm_90,sm_120", "--samples", "1", "--json"});
  EXPECT_EQ(json["passed"], true);
  int candidates = 0;
  for (const auto& sample : json["samples"]) {
    if (sample["sample"] == "reference") continue;
    ++candidates;
    EXPECT_GT(sample["resources"]["registers"], 0) << sample.dump();
    EXPECT_TRUE(sample["resources"].contains("shared_static_bytes")) << sample.dump();
    EXPECT_TRUE(sample["resources"].contains("spill_store_bytes")) << sample.dump();
  }
  EXPECT_GE(candidates, 9);
}

TEST_F(Verbs, CheckCompilesForTheCpuAndAGpuTogether) {
  if (!no_cuda_compiler().empty()) GTEST_SKIP() << no_cuda_compiler();
  const auto json = run_json({"check", "vector_add", "--templates", user_kernels(), "--arch", "cpu,sm_90", "--samples", "0", "--json"});
  EXPECT_EQ(json["passed"], true);
  ASSERT_EQ(json["samples"].size(), 4U);  // reference and preset of each
  for (const auto& sample : json["samples"]) {
    const bool gpu_code = sample["resources"].contains("registers") && sample["resources"]["registers"] > 0;
    EXPECT_EQ(gpu_code, sample["arch"] == "sm_90") << sample.dump();
  }
}

TEST_F(Verbs, EmitForTheCpu) {
  const std::string output = (folder() / "emitted").string();
  const auto json = run_json({"emit", "vector_add", "--templates", user_kernels(), "--device", "cpu", "--output", output, "--json"});
  EXPECT_EQ(json["arch"], "cpu");
  std::vector<std::string> names;
  for (const auto& file : json["files"]) {
    EXPECT_TRUE(std::filesystem::is_regular_file(file.get<std::string>())) << file;
    names.push_back(std::filesystem::path(file.get<std::string>()).filename());
  }
  for (const char* name : {"kernel.cu", "options.txt", "commands.txt", "vector_add.so"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
  EXPECT_EQ(read_file(output + "/commands.txt"),
            "tunebook run vector_add --shape n=4194304 --config BLOCK_SIZE=256,ITEMS_PER_THREAD=1 --templates " + user_kernels() +
                " --device cpu\n");
}

TEST_F(Verbs, EmitForAGpuWithoutOne) {
  if (!no_cuda_compiler().empty()) GTEST_SKIP() << no_cuda_compiler();
  const std::string output = (folder() / "emitted").string();
  const auto json = run_json({"emit", "vector_add", "--templates", user_kernels(), "--device", "cuda:0", "--arch", "sm_90", "--output", output, "--json"});
  EXPECT_EQ(json["arch"], "sm_90");
  EXPECT_TRUE(std::filesystem::exists(output + "/vector_add.cubin"));
  const std::string commands = read_file(output + "/commands.txt");
  EXPECT_NE(commands.find("compute-sanitizer"), std::string::npos);
  EXPECT_NE(commands.find("--templates " + user_kernels() + " --device cuda:0"), std::string::npos) << commands;
  // Three small problems are verified before the tuned one, each by two launches.
  EXPECT_NE(commands.find("--kernel-name 'regex:^(vector_add)$' --launch-skip 6 --launch-count 1 "), std::string::npos) << commands;
  EXPECT_NE(read_file(output + "/options.txt").find("sm_90"), std::string::npos);
}

// As a session would compile it: the spec's "arch" decides by the architecture that was asked for.
TEST_F(Verbs, EmitForTheArchitectureThatTheSpecAsksFor) {
  if (!no_cuda_compiler().empty()) GTEST_SKIP() << no_cuda_compiler();
  std::filesystem::create_directory(folder() / "kernels");
  std::filesystem::copy(user_kernels() + "/vector_add", folder() / "kernels" / "vector_add");
  std::string spec = read_file(folder() / "kernels" / "vector_add" / "kernel.json");
  spec.insert(spec.find("\"problem\""), "\"arch\": \"device.compute_capability == 90 ? 'sm_90a' : native\", ");
  write("kernels/vector_add/kernel.json", spec);
  for (const auto& [asked, compiled] : {std::pair<std::string, std::string>{"sm_90", "sm_90a"}, {"sm_80", "sm_80"}}) {
    const std::string output = (folder() / asked).string();
    const auto json = run_json({"emit", "vector_add", "--templates", (folder() / "kernels").string(), "--device", "cuda:0", "--arch", asked,
                                "--output", output, "--json"});
    EXPECT_EQ(json["arch"], compiled);
    EXPECT_NE(read_file(output + "/options.txt").find("=" + compiled + " "), std::string::npos) << read_file(output + "/options.txt");
  }
}

TEST_F(Verbs, RunShowsOneConfigurationAndStoresNothing) {
  const auto json = run_json(vector_add("run", {"--config", "BLOCK_SIZE=64,ITEMS_PER_THREAD=2", "--json"}));
  EXPECT_EQ(json["outcome"], "ok");
  EXPECT_EQ(json["configuration"].dump(), R"({"BLOCK_SIZE":64,"ITEMS_PER_THREAD":2})");
  EXPECT_EQ(json["launch"][0]["grid"].dump(), "[32,1,1]");
  EXPECT_EQ(json["verified_problems"], 4);
  EXPECT_GT(json["median_us"], 0);
  EXPECT_FALSE(std::filesystem::exists(book()));
  EXPECT_TRUE(all_gone());
}

// A new user's first answer comes from the books beside the templates: it says so, and another GPU gets the preset.
TEST_F(Verbs, BestAnswersFromShippedBooks) {
  const std::map<std::string, std::string> shapes = {
      {"softmax", "m=568,n=31616"},
      {"layer_norm", "m=300,n=4096,dtype=bf16"},
      {"rms_norm", "m=300,n=5000,dtype=bf16"},
      {"transpose", "m=4095,n=4097"},
      {"matmul", "m=1000,n=2000,k=512"}};
  for (const auto& [kernel, shape] : shapes) {
    const auto answer = run_json({"best", kernel, "--shape", shape, "--gpu", "NVIDIA H200", "--json"});
    EXPECT_EQ(answer["match"]["tier"], "shipped") << kernel;
    EXPECT_EQ(answer["match"]["source"], "nvidia_h200.db") << kernel;
    EXPECT_EQ(answer["match"]["device"]["name"], "NVIDIA H200") << kernel;
    const auto other = run_json({"best", kernel, "--shape", shape, "--gpu", "Another GPU", "--json"});
    EXPECT_EQ(other["match"]["tier"], "default") << kernel;
  }
}

TEST_F(Verbs, BestBeforeAndAfterTuning) {
  const Words keys = {"kernel", "problem", "configuration", "match", "median_us"};
  const Words match_keys = {"tier", "distance", "problem", "device", "stale",
                            "expected_loss", "loss_bound", "predicted_us", "source"};
  const auto before = run_json(vector_add("best", {"--json"}));
  EXPECT_EQ(keys_of(before), keys);
  EXPECT_EQ(keys_of(before["match"]), match_keys);
  EXPECT_EQ(before["match"]["tier"], "default");
  EXPECT_EQ(before["configuration"].dump(), R"({"BLOCK_SIZE":256,"ITEMS_PER_THREAD":1})");
  EXPECT_FALSE(std::filesystem::exists(book()));

  const auto tuned = run_json(vector_add("tune", {"--budget", "3", "--presets", "--finalist-processes", "2", "--json"}));
  EXPECT_EQ(keys_of(tuned), (Words{"kernel", "problem", "device", "session", "trials", "winner", "presets", "wall_s", "configurations_per_s", "from_book_trials",
                                    "predicted_trials", "ceiling", "baseline",
                                    "measured", "from_book", "cut", "previous", "clock", "ladder"}));
  EXPECT_EQ(keys_of(tuned["winner"]), (Words{"configuration", "median_us", "ci_us", "gflops", "gbps", "tie_set", "verified_problems", "skipped_problems",
                    "verified_ragged", "objective", "session", "process_medians_us"}));
  EXPECT_EQ(tuned["winner"]["ci_us"].size(), 2U);
  EXPECT_EQ(keys_of(tuned["presets"]["default"]), (Words{"median_us", "outcome"}));

  const auto after = run_json(vector_add("best", {"--json"}));
  EXPECT_EQ(keys_of(after), keys);
  EXPECT_EQ(keys_of(after["match"]), match_keys);
  EXPECT_EQ(after["match"]["tier"], "exact");
  EXPECT_EQ(after["match"]["distance"], 0);
  EXPECT_EQ(after["match"]["stale"], "no");
  EXPECT_EQ(after["configuration"], tuned["winner"]["configuration"]);
  EXPECT_EQ(after["median_us"], tuned["winner"]["median_us"]);

  // Another problem of the same kernel still has its preset only.
  Words other = vector_add("best", {"--json"});
  other[5] = "8192";
  EXPECT_EQ(run(other).exit_code, 0);
  EXPECT_EQ(run(vector_add("best")).out.find("BLOCK_SIZE="), 0U);
}

TEST_F(Verbs, DoctorFindsABookThatIsNone) {
  EXPECT_EQ(run_json({"doctor", "--json"})["sound"], true);
  EXPECT_FALSE(std::filesystem::exists(book()));
  const std::string text = write("notes.txt", "no book").string();
  const ProgramResult result = run({"doctor", "--book", text, "--json"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(parse_one_line(result.out)["sound"], false);
  EXPECT_EQ(read_file(text), "no book");
}

TEST_F(Verbs, DoctorChangesNothing) {
  ASSERT_EQ(run(vector_add("tune", {"--budget", "1", "--finalists", "0"})).exit_code, 0);
  const std::string before = read_file(book());
  std::filesystem::permissions(book(), std::filesystem::perms::owner_read);
  EXPECT_EQ(run_json({"doctor", "--book", book().string(), "--json"})["sound"], true);
  EXPECT_EQ(read_file(book()), before);
  EXPECT_FALSE(std::filesystem::exists(book().string() + "-wal"));

  const std::string empty = write("empty.db", "").string();
  const ProgramResult result = run({"doctor", "--book", empty, "--json"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.out.find("no Tunebook book"), std::string::npos) << result.out;
  EXPECT_EQ(std::filesystem::file_size(empty), 0U);
}

TEST_F(Verbs, DoctorNamesADamagedModel) {
  ASSERT_EQ(run(vector_add("tune", {"--budget", "1", "--finalists", "0"})).exit_code, 0);
  {
    sqlite::Database database(book(), sqlite::Database::Mode::read_write);
    database.execute(
        "INSERT INTO model (kernel_id, device_id, dtype, method, format, content_hash, body, trials, problems, learned_from, learned_utc) "
        "SELECT kernel_id, device_id, '', method, 1, zeroblob(16), x'00', 1, 1, 'here', '2026-12-01T00:00:00.000000Z' FROM session");
  }
  const ProgramResult result = run({"doctor", "--json"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.out.find("vector_add on "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("learn it again: tunebook learn"), std::string::npos) << result.out;
}

// A result that does not arrive is no success.
TEST_F(Verbs, FullStdout) {
  for (const Words& words : {Words{"list", "--json"}, Words{"list"}, Words{"--help"}, vector_add("best", {"--json"})}) {
    const ProgramResult result = run_into("/dev/full", words);
    EXPECT_EQ(result.exit_code, 1) << words.front();
    EXPECT_NE(result.err.find("could not be written to stdout"), std::string::npos) << result.err;
  }
}

// Nothing may take the numbers of standard descriptors that the caller closed: messages would end up in the book.
TEST_F(Verbs, ClosedStandardDescriptors) {
  set_standard_descriptors_closed();
  EXPECT_EQ(run(vector_add("tune", {"--budget", "2", "--finalists", "0"})).exit_code, 0);
  EXPECT_TRUE(Store(book()).check().problems.empty());
  EXPECT_EQ(Store(book()).check().winners, 1);
}

// A machine with neither toolkit nor driver, and no worker either.
TEST_F(Verbs, BestListAndSpaceNeedNoWorker) {
  std::filesystem::create_directory(folder() / "empty");
  set_environment("TUNEBOOK_WORKER_DIR", (folder() / "empty").string());
  EXPECT_EQ(run_json({"best", "vector_add", "--templates", user_kernels(), "--shape", "4096", "--json"})["match"]["tier"], "default");
  EXPECT_EQ(run_json({"best", "vector_add", "--templates", user_kernels(), "--shape", "4096", "--gpu", "NVIDIA H200", "--json"})["match"]["tier"], "default");
  EXPECT_GE(run_json({"list", "--templates", user_kernels(), "--json"})["kernels"].size(), 4U);
  EXPECT_EQ(run_json({"space", "vector_add", "--templates", user_kernels(), "--json"})["valid"], 24);
  expect_bad_input({"tune", "vector_add", "--templates", user_kernels(), "--shape", "4096", "--device", "cpu"}, {"tunebook-cpu-worker"});
}

}  // namespace
}  // namespace tunebook::test
