#include "search/space_file.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "search_fixtures.h"

namespace tunebook {
namespace {

namespace fs = std::filesystem;

// Every space of a folder has the sizes that other tools find.
int expect_recorded_sizes(const fs::path& folder) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const nlohmann::ordered_json json = parse_json_text(read_text_file(entry.path()), "space");
    const SearchSpace space = SearchSpace::build(load_space_file(entry.path()).definition);
    EXPECT_EQ(space.size(), json.at("valid_size").get<std::uint64_t>());
    EXPECT_EQ(space.cartesian_size_text(), std::to_string(json.at("cartesian_size").get<std::uint64_t>()));
    ++files;
  }
  return files;
}

TEST(SpaceFile, SpacesOfRealKernels) { EXPECT_EQ(expect_recorded_sizes(fs::path(TUNEBOOK_SOURCE_DIR) / "tests/data/spaces"), 2); }

TEST(SpaceFile, FurtherSpacesWhereThereAreSome) {
  const fs::path folder = fs::path(TUNEBOOK_SOURCE_DIR) / "../shared/search/spaces";
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no further recorded spaces beside the source folder";
  EXPECT_GT(expect_recorded_sizes(folder), 0);
}

TEST(SpaceFile, WhereNarrows) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.write("tiny.json", R"({"parameters": {"a": [1, 2, 3], "b": [1, 2, 3]}, "constraints": ["a < b"]})");
  EXPECT_EQ(load_space_file(path).name, "tiny");
  EXPECT_EQ(SearchSpace::build(load_space_file(path).definition).size(), 3u);
  EXPECT_EQ(SearchSpace::build(load_space_file(path, {"b == 3"}).definition).size(), 2u);
  EXPECT_THROW(load_space_file(path, {"c == 3"}), InputError);
}

TEST(SpaceFile, ValuesOfMixedKindsBecomeText) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.write("mixed.json", R"({"name": "x", "parameters": {"a": [0.5, 1], "b": [true, false], "c": ["f32", 3]}})");
  const SpaceFile file = load_space_file(path);
  EXPECT_EQ(file.name, "x");
  EXPECT_EQ(file.definition.parameters[0].values, (std::vector<Value>{std::string("0.5"), std::string("1")}));
  EXPECT_EQ(file.definition.parameters[1].values, (std::vector<Value>{true, false}));
  EXPECT_EQ(file.definition.parameters[2].values, (std::vector<Value>{std::string("f32"), std::string("3")}));
}

TEST(SpaceFile, MalformedFilesNameThePlace) {
  const test::TemporaryFolder folder;
  const std::map<std::string, std::string> cases = {
      {R"({})", ": /: the key \"parameters\" is missing"},
      {R"([])", ": /: expected an object"},
      {R"({"parameters": {}})", ": /parameters: expected an object with at least one parameter and its list of values"},
      {R"({"parameters": {"a": []}})", ": /parameters/a: expected a list with at least one value"},
      {R"({"parameters": {"a": 3}})", ": /parameters/a: expected a list with at least one value"},
      {R"({"parameters": {"": [3]}})", ": /parameters: a parameter has an empty name"},
      {R"({"parameters": {"a": [1, 2, 1]}})", ": /parameters/a: the value 1 is listed twice"},
      {R"({"parameters": {"a": [1]}, "constraints": 3})", ": /constraints: expected a list of expressions"},
      {R"({"parameters": {"a": [1]}, "constraints": ["a > 0", 3]})", ": /constraints/1: expected an expression in quotes"},
  };
  for (const auto& [text, message] : cases) {
    const fs::path path = folder.write("bad.json", text);
    EXPECT_EQ(test::message_of([&] { load_space_file(path); }), path.string() + message) << text;
  }
  for (const std::string text : {R"({"parameters": {"a": [[1]]}})", R"({"parameters": {"a": [null]}})",
                                 R"({"parameters": {"a": [18446744073709551615]}})", "{", "", "\xff"}) {
    EXPECT_THROW(load_space_file(folder.write("bad.json", text)), InputError) << text;
  }
  const fs::path unknown = folder.write("unknown.json", R"({"parameters": {"block": [1]}, "constraints": ["1 < blok"]})");
  EXPECT_NE(test::message_of([&] { load_space_file(unknown); }).find("/constraints/0: column 5: "), std::string::npos);
  EXPECT_THROW(load_space_file(folder.path() / "missing.json"), InputError);
}

}  // namespace
}  // namespace tunebook
