#include "core/problem.h"

#include <cstdint>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace tunebook {
namespace {

Problem matmul() {
  Problem problem;
  problem.set("n", std::int64_t{2});
  problem.set("m", std::int64_t{1});
  problem.set("dtype", std::string("f32"));
  problem.set("fast", true);
  return problem;
}

TEST(NamedValues, SetReplacesInPlaceAndAtNamesWhatIsMissing) {
  Problem problem = matmul();
  problem.set("n", std::int64_t{7});
  EXPECT_EQ(problem.display(), "n=7,m=1,dtype=f32,fast=true");
  EXPECT_EQ(problem.find("k"), nullptr);
  try {
    problem.at("k");
    FAIL();
  } catch (const std::out_of_range& error) {
    EXPECT_NE(std::string(error.what()).find("\"k\""), std::string::npos);
  }
}

TEST(NamedValues, CanonicalFormAndEqualityIgnoreOrder) {
  Problem other;
  other.set("fast", true);
  other.set("dtype", std::string("f32"));
  other.set("m", std::int64_t{1});
  other.set("n", std::int64_t{2});
  EXPECT_EQ(matmul().canonical(), R"({"dtype":"f32","fast":true,"m":1,"n":2})");
  EXPECT_EQ(matmul().canonical(), other.canonical());
  EXPECT_EQ(matmul(), other);
  other.set("m", std::int64_t{2});
  EXPECT_FALSE(matmul() == other);
  other.set("m", true);  // not the integer 1
  EXPECT_FALSE(matmul() == other);
  EXPECT_FALSE(matmul() == Problem());
  EXPECT_EQ(Problem().canonical(), "{}");
}

TEST(NamedValues, JsonRoundTripKeepsOrder) {
  const auto json = matmul().to_json();
  EXPECT_EQ(json.dump(), R"({"n":2,"m":1,"dtype":"f32","fast":true})");
  EXPECT_EQ(NamedValues::from_json(json, "x").display(), matmul().display());
}

TEST(NamedValues, FromJsonRefusesWhatIsNoValue) {
  for (const char* bad : {"[]", "1", "null", R"({"a": 1.5})", R"({"a": null})", R"({"a": []})", R"({"a": {"b": 1}})", R"({"a": 99999999999999999999})"}) {
    EXPECT_THROW(NamedValues::from_json(nlohmann::ordered_json::parse(bad), "/presets/x"), InputError) << bad;
  }
}

}  // namespace
}  // namespace tunebook
