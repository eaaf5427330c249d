#include "search/recording_folder.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "search/recording.h"
#include "search_fixtures.h"

namespace tunebook {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::TemporaryFolder;

const char* const kDeclaration = R"({"parameters": {"a": [1, 2]}, "constraints": null})";
const char* const kRows = "a,time_ms,status\n1,0.5,ok\n2,0.25,ok\n";
const char* const kKernelTuner = R"({"device_name": "G", "kernel_name": "k", "problem_size": 1, "tune_params_keys": ["a"],
  "tune_params": {"a": [1, 2]}, "objective": "time", "cache": {"1": {"a": 1, "time": 2.0}, "2": {"a": 2, "time": 1.0}}})";

std::vector<std::string> names(const std::vector<fs::path>& paths) {
  std::vector<std::string> result;
  for (const fs::path& path : paths) result.push_back(path.filename().string());
  return result;
}

TEST(RecordingFolder, HoldsRecordingsOfEveryKindByName) {
  const TemporaryFolder folder;
  folder.write("z.json", kDeclaration);
  folder.write("z.csv", kRows);
  folder.write("b.json", kKernelTuner);
  folder.write("a.json", kDeclaration);
  folder.write("a.csv.gz", kRows);  // told by its content, not its name
  folder.write("declaration.json", kDeclaration);
  folder.write("alone.csv", kRows);
  folder.write("notes.txt", "no");
  folder.write(".hidden.json", "{");
  fs::create_directory(folder.path() / "more.json");
  const RecordingFolder found = find_recordings(folder.path());
  EXPECT_EQ(names(found.recordings), (std::vector<std::string>{"a.json", "b.json", "z.json"}));
  EXPECT_EQ(names(found.others), (std::vector<std::string>{"alone.csv", "declaration.json"}));
  for (const fs::path& path : found.recordings) EXPECT_EQ(Recording::load(path).size(), 2u) << path;
}

TEST(RecordingFolder, AnythingElseIsTheOnlyOne) {
  EXPECT_EQ(find_recordings("/nowhere/x").recordings, std::vector<fs::path>{"/nowhere/x"});
}

TEST(RecordingFolder, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  EXPECT_NE(message_of([&] { find_recordings(folder.path()); }).find("no recordings in this folder"), std::string::npos);
  folder.write("declaration.json", kDeclaration);
  EXPECT_NE(message_of([&] { find_recordings(folder.path()); }).find("no recordings in this folder"), std::string::npos);
  folder.write("broken.json", "{\"a\": ");
  EXPECT_NE(message_of([&] { find_recordings(folder.path()); }).find("broken.json"), std::string::npos);
}

}  // namespace
}  // namespace tunebook
