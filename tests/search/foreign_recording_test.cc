#include "search/foreign_recording.h"

#include <string>

#include <gtest/gtest.h>
#include <zlib.h>

#include "search/recording.h"
#include "search_fixtures.h"

namespace tunebook {
namespace {

using test::TemporaryFolder;

constexpr const char* kCache = R"({"device_name": "NVIDIA RTX A4000", "kernel_name": "vector_add", "problem_size": [4096, 64],
"tune_params_keys": ["block", "pad"], "tune_params": {"block": [256, 128, 64], "pad": [0, 1]}, "objective": "time", "cache": {
"256,0": {"block": 256, "pad": 0, "time": 0.5, "times": [0.5], "compile_time": 400.0, "verification_time": 50, "benchmark_time": 50.0},
"128,0": {"block": 128, "pad": 0, "time": 0.25, "compile_time": 100},
"128,1": {"block": 128, "pad": 1, "time": "CompilationFailedConfig", "compile_time": 900},
"256,1": {"block": 256, "pad": 1, "__error__": "RuntimeFailedConfig"})";

void check_cache(const Recording& recording) {
  EXPECT_EQ(recording.kernel(), "vector_add");
  EXPECT_EQ(recording.device().name, "NVIDIA RTX A4000");
  EXPECT_EQ(recording.problem().display(), "d0=4096,d1=64");
  ASSERT_EQ(recording.size(), 4u);
  EXPECT_EQ(recording.rows().parameters()[0].values, (std::vector<Value>{std::int64_t{256}, std::int64_t{128}, std::int64_t{64}}));
  Configuration configuration;
  configuration.set("block", std::int64_t{128});
  configuration.set("pad", std::int64_t{0});
  EXPECT_DOUBLE_EQ(recording.lookup(configuration).value().time_us.value(), 250);
  EXPECT_NEAR(recording.lookup(configuration)->cost_s, 0.1, 1e-6);
  configuration.set("pad", std::int64_t{1});
  EXPECT_EQ(recording.lookup(configuration).value().outcome, Outcome::compile_error);
  configuration.set("block", std::int64_t{256});
  EXPECT_EQ(recording.lookup(configuration).value().outcome, Outcome::launch_error);
  configuration.set("block", std::int64_t{64});
  EXPECT_FALSE(recording.lookup(configuration));
  EXPECT_EQ(recording.space().size(), 4u);
}

TEST(ForeignRecording, KernelTunerCacheAlsoUnfinished) {
  const TemporaryFolder folder;
  check_cache(Recording::load(folder.write("done.json", std::string(kCache) + "}}")));
  check_cache(Recording::load(folder.write("open.json", std::string(kCache) + ",\n")));
}

TEST(ForeignRecording, PackedFiles) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "cache.json.gz").string();
  const gzFile file = gzopen(path.c_str(), "wb");
  const std::string text = std::string(kCache) + "}}";
  ASSERT_GT(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), 0);
  ASSERT_EQ(gzclose(file), Z_OK);
  const Recording recording = Recording::load(path);
  EXPECT_EQ(recording.name(), "cache");
  check_cache(recording);
}

TEST(ForeignRecording, T4InItsTwoForms) {
  const TemporaryFolder folder;
  const Recording recording = Recording::load(folder.write("t4.json", R"({"schema_version": "1.0.0", "metadata": {"timeunit": "miliseconds"},
    "results": [
      {"configuration": {"x": 32, "unroll": "yes"}, "times": {"compilation": 1000, "runtimes": [2, 4]}, "invalidity": "correct",
       "measurements": [{"name": "time", "value": 2.5, "unit": ""}]},
      {"configuration": {"x": 16, "unroll": "no"}, "times": {"compilation_time": 500, "runtimes": [2, 4]}, "invalidity": "correct"},
      {"configuration": {"x": 16, "unroll": "yes"}, "times": {}, "invalidity": "compile"}]})"));
  ASSERT_EQ(recording.size(), 3u);
  EXPECT_EQ(recording.rows().parameters()[0].values, (std::vector<Value>{std::int64_t{16}, std::int64_t{32}}));
  // Rows: (16, "yes"), (16, "no"), (32, "yes"), texts in the order of appearance.
  EXPECT_EQ(recording.entry(0).outcome, Outcome::compile_error);
  EXPECT_DOUBLE_EQ(recording.entry(1).time_us.value(), 3000);
  EXPECT_DOUBLE_EQ(recording.entry(2).time_us.value(), 2500);
  EXPECT_NEAR(recording.entry(2).cost_s, 1, 1e-6);
}

TEST(ForeignRecording, KttOutput) {
  const TemporaryFolder folder;
  const Recording recording = Recording::load(folder.write("ktt.json", R"({"Metadata": {"Device": "GTX 1070", "TimeUnit": "Microseconds"},
    "Results": [
      {"Configuration": [{"Name": "A", "Value": 2, "ValueType": "UnsignedInt"}, {"Name": "F", "Value": 0.5, "ValueType": "Double"}],
       "KernelName": "sum", "Status": "Ok", "TotalDuration": 12.5, "TotalOverhead": 1000},
      {"Configuration": [{"Name": "A", "Value": 1}, {"Name": "F", "Value": 0.5}], "Status": "ValidationFailed"}]})"));
  EXPECT_EQ(recording.kernel(), "sum");
  EXPECT_EQ(recording.device().name, "GTX 1070");
  EXPECT_EQ(recording.entry(0).outcome, Outcome::wrong_result);
  EXPECT_DOUBLE_EQ(recording.entry(1).time_us.value(), 12.5);
}

TEST(ForeignRecording, MessagesNameThePlace) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& text) {
    return test::message_of([&] { Recording::load(folder.write("bad.json", text)); });
  };
  EXPECT_NE(message(R"({"tune_params_keys": ["a"], "cache": {"1": {"a": 1, "time": "Odd"}}})").find("bad.json: /cache/1: unknown status \"Odd\""),
            std::string::npos);
  EXPECT_NE(message(R"({"tune_params_keys": ["a"], "cache": {"1": {"time": 1}}})").find("/cache/1: the parameter a is missing"), std::string::npos);
  EXPECT_NE(message(R"({"tune_params_keys": ["a"], "cache": {"1": {"a": 1, "time": -1}}})").find("/cache/1: a time of"), std::string::npos);
  EXPECT_NE(message(R"({"results": []})").find("no configurations in this T4 file"), std::string::npos);
  EXPECT_NE(message(R"({"Metadata": {"TimeUnit": "Fortnights"}, "Results": [{}]})").find("unknown time unit"), std::string::npos);
}

}  // namespace
}  // namespace tunebook
