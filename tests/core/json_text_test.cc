#include "core/json_text.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "core/error.h"

namespace tunebook {
namespace {

std::string error_of(const std::string& text, bool comments = false) {
  try {
    parse_json_text(text, "f.json", comments);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" lacks \"" << part << "\"";
}

TEST(JsonText, KeepsOrderAndEveryKindOfValue) {
  const auto json = parse_json_text(R"({"z": [1, -2, 2.5, true, null], "a": {"": "x\"y"}, "m": {}, "l": []})", "f.json");
  EXPECT_EQ(json.dump(), R"({"z":[1,-2,2.5,true,null],"a":{"":"x\"y"},"m":{},"l":[]})");
  EXPECT_EQ(parse_json_text("7", "f.json"), 7);
}

TEST(JsonText, AgreesWithTheLibraryOnAnyValidText) {
  const std::string text = R"([{"a":[[],[{}],{"b":{"c":[1e3,18446744073709551615,-9223372036854775808]}}]},"\u00e4\ud83d\ude00"])";
  EXPECT_EQ(parse_json_text(text, "f.json"), nlohmann::ordered_json::parse(text));
}

TEST(JsonText, SyntaxErrorsSayWhere) {
  EXPECT_EQ(error_of("{\n  \"a\": 1,\n}"), "f.json:3:1: unexpected '}', expected a key in double quotes (JSON allows no comma after the last item)");
  EXPECT_EQ(error_of("[1, 2,]"), "f.json:1:7: unexpected ']', expected a value (JSON allows no comma after the last item)");
  EXPECT_EQ(error_of("{\"a\" 12}"), "f.json:1:6: unexpected number, expected ':'");
  EXPECT_EQ(error_of("{\"a\": 1 \"b\": 2}").substr(0, 12), "f.json:1:9: ");
  EXPECT_EQ(error_of("{\"a\": [1,"), "f.json:1:10: the text ends too early, expected a value");
  EXPECT_EQ(error_of(""), "f.json:1:1: the text ends too early, expected a value");
  EXPECT_EQ(error_of("{\"a\": {true}}").substr(0, 30), "f.json:1:8: unexpected true, e");
  EXPECT_EQ(error_of("[1 \"xyz\"]").substr(0, 30), "f.json:1:4: unexpected string,");
  EXPECT_EQ(error_of("1 2").substr(0, 12), "f.json:1:3: ");
  expect_contains(error_of("{'a': 1}"), "f.json:1:2: not a JSON value");
  expect_contains(error_of("\n\n  {\"a\": tru}"), "f.json:3:9: not a JSON value");
  expect_contains(error_of("{\"\xc3\xa4\xc3\xb6\": x}"), "f.json:1:8:");  // columns count characters
  expect_contains(error_of("{\"a\": \"x"), "missing closing quote");
  for (const char* bad : {"{", "[", "\"", "{\"a\"", "{\"a\":", "nul", "-", "1.", "01", "[1}", "\x01", "{\"a\":1}}", "\xef\xbb"}) {
    const std::string message = error_of(bad);
    EXPECT_EQ(message.substr(0, 8), "f.json:1") << bad;
    EXPECT_EQ(message.find("exception"), std::string::npos) << message;
  }
}

TEST(JsonText, DuplicateKeysAreAllReportedWithPlaceAndPath) {
  EXPECT_EQ(error_of("{\"a\": 1,\n \"b\": [0, {\"x/y\": 1, \"x/y\": 2}],\n \"a\": 3}"),
            "f.json:2:22: duplicate key \"x/y\" at /b/1/x~1y\nf.json:3:2: duplicate key \"a\" at /a");
  EXPECT_EQ(error_of(R"({"q\"": 1, "q\"": 2})").substr(0, 28), "f.json:1:12: duplicate key \"");
  EXPECT_EQ(error_of(R"({"\\": 1, "\\": 2})").substr(0, 28), "f.json:1:11: duplicate key \"");
  EXPECT_EQ(error_of(R"([{"a": 1}, {"a": 1}])"), "");
}

TEST(JsonText, DeepNestingIsRefusedNotFatal) {
  EXPECT_EQ(error_of(std::string(200, '[') + std::string(200, ']')), "");
  EXPECT_EQ(error_of(std::string(201, '[') + std::string(201, ']')), "f.json:1:201: nested deeper than 200 levels");
  expect_contains(error_of(std::string(5000000, '[')), "nested deeper");
}

TEST(JsonText, InvalidUtf8IsAnError) {
  expect_contains(error_of("{\"a\": \"\xff\"}"), "f.json:1:8: invalid string: not valid UTF-8");
  expect_contains(error_of("[\"\xc3\x28\"]"), "not valid UTF-8");
}

TEST(JsonText, CommentsOnlyOnRequest) {
  EXPECT_NE(error_of("// x\n1"), "");
  EXPECT_EQ(error_of("// x\n[1, /* y */ 2]", true), "");
}

TEST(JsonText, ReadTextFileNamesWhatIsWrong) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "tunebook_json_text_test";
  std::filesystem::create_directories(folder);
  const std::filesystem::path file = folder / "a.txt";
  std::ofstream(file, std::ios::binary) << std::string("x\0y\n", 4);
  EXPECT_EQ(read_text_file(file), std::string("x\0y\n", 4));
  EXPECT_EQ(read_text_file(file, 4).size(), 4U);
  EXPECT_THROW(read_text_file(file, 3), InputError);
  EXPECT_THROW(read_text_file(folder), InputError);
  EXPECT_THROW(read_text_file(folder / "none"), InputError);
  std::filesystem::remove_all(folder);
}

TEST(JsonText, NearestWordIsNearOrNothing) {
  EXPECT_EQ(nearest_word("constrains", {"constraints", "presets"}), "constraints");
  EXPECT_EQ(nearest_word("block", {"BLOCK", "GRID"}), "BLOCK");
  EXPECT_EQ(nearest_word("gird", {"grid", "block"}), "grid");
  EXPECT_EQ(nearest_word("launch", {"problem", "tolerance"}), "");
  EXPECT_EQ(nearest_word("x", {"m", "n", "k"}), "");
  EXPECT_EQ(nearest_word("", {"m"}), "");
  EXPECT_EQ(nearest_word("abc", {}), "");
}

}  // namespace
}  // namespace tunebook
