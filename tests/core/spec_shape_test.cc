// Shapes, problems and configurations as a user gives them.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"
#include "spec_samples.h"

namespace tunebook {
namespace {

using nlohmann::ordered_json;

TEST(Spec, ShapesByNameAndByPosition) {
  const KernelSpec spec = spec_of(kEverything);
  const std::string expected = "m=1,n=2,k=3,dtype=i32,math=exact";
  for (const char* text : {"m=1,n=2,k=3,dtype=i32", "1,2,3,dtype=i32", "1,2,3,i32", "i32,1,2,3", "dtype=i32, k=3 ,n = 2,m=1", "1,n=2,k=3,i32,exact"}) {
    EXPECT_EQ(spec.parse_shape(text).display(), expected) << text;
  }
  EXPECT_EQ(spec.parse_shape("68719476736,1,1").at("m"), Value(kMaxDimension));
  EXPECT_EQ(spec.parse_shape("", true), spec.default_problem());
  EXPECT_EQ(spec.parse_shape("k=9", true).display(), "m=128,n=256,k=9,dtype=f32,math=exact");
  EXPECT_NO_THROW(spec.check_problem(spec.parse_shape("1,2,3")));
}

TEST(Spec, BadShapesSayWhatIsWrong) {
  const KernelSpec spec = spec_of(kEverything);
  const auto error = [&](std::string_view text) -> std::string {
    try {
      spec.parse_shape(text);
    } catch (const InputError& caught) {
      return caught.what();
    }
    return "";
  };
  EXPECT_EQ(error("m=1,n=2"), "shape of tiled: found no k, expected a size for each of m,n,k");
  EXPECT_EQ(error(""), "shape of tiled: found no m and no n and no k, expected a size for each of m,n,k");
  EXPECT_EQ(error("1,2"), "shape of tiled: found no k, expected a size for each of m,n,k");
  EXPECT_EQ(error("1,2,3,4"), "shape of tiled: found 4 sizes, expected 3 (m,n,k)");
  EXPECT_EQ(error("m=0,n=1,k=1"), "shape of tiled: m: found 0, expected an integer from 1 to 68719476736");
  EXPECT_EQ(error("m=-5,n=1,k=1"), "shape of tiled: m: found -5, expected an integer from 1 to 68719476736");
  EXPECT_EQ(error("1,1,1000000000000"), "shape of tiled: k: found 1000000000000, expected an integer from 1 to 68719476736");
  EXPECT_EQ(error("1,1,99999999999999999999999999"), "shape of tiled: k: found 99999999999999999999999999, expected an integer from 1 to 68719476736");
  EXPECT_EQ(error("m=4k,n=1,k=1"), "shape of tiled: m: found \"4k\", expected an integer from 1 to 68719476736");
  EXPECT_EQ(error("m=1.5,n=1,k=1"), "shape of tiled: m: found \"1.5\", expected an integer from 1 to 68719476736");
  EXPECT_EQ(error("m=1,m=2,n=1,k=1"), "shape of tiled: m: given twice, expected once");
  EXPECT_EQ(error("m=,n=1,k=1"), "shape of tiled: m: found \"\", expected an integer from 1 to 68719476736");
  EXPECT_EQ(error("1,2,3,mat=fast"), "shape of tiled: found the unknown dimension \"mat\", expected one of m, n, k, dtype, math; did you mean \"math\"?");
  EXPECT_EQ(error("1,2,3,dtype=f31"), "shape of tiled: dtype: found \"f31\", expected one of f32, i32; did you mean \"f32\"?");
  EXPECT_EQ(error("1,2,3,,"), "shape of tiled: found nothing between two commas, expected a size or NAME=VALUE\n"
                              "shape of tiled: found nothing between two commas, expected a size or NAME=VALUE");
  expect_contains(error("1,fsat,3"), "shape of tiled: found \"fsat\", expected a size, NAME=VALUE or one of f32, i32, exact, fast; did you mean \"fast\"?");
}

TEST(Spec, CheckProblemRefusesWhatTheSpecDoesNotDeclare) {
  const KernelSpec spec = spec_of(kVectorAdd);
  for (const char* bad : {R"({"n": 1})", R"({"dtype": "f32"})", R"({"n": 0, "dtype": "f32"})", R"({"n": "1", "dtype": "f32"})", R"({"n": true, "dtype": "f32"})",
                          R"({"n": 1, "dtype": "f64"})", R"({"n": 1, "dtype": 1})", R"({"n": 1, "dtype": "f32", "m": 1})"}) {
    EXPECT_THROW(spec.check_problem(Problem::from_json(ordered_json::parse(bad), "p")), InputError) << bad;
  }
}

TEST(Spec, Configurations) {
  const KernelSpec spec = spec_of(kEverything);
  EXPECT_EQ(spec.parse_configuration("PAD=true,TILE=8, ACC=f64 ,LAYOUT=row").display(), "TILE=8,PAD=true,ACC=f64,LAYOUT=row");
  const auto error = [&](std::string_view text) -> std::string {
    try {
      spec.parse_configuration(text);
    } catch (const InputError& caught) {
      return caught.what();
    }
    return "";
  };
  EXPECT_EQ(error("PAD=true,TILE=8,ACC=f64"), "configuration of tiled: found no LAYOUT, expected a value for every parameter");
  EXPECT_EQ(error("PAD=true,TILE=9,ACC=f64,LAYOUT=row"), "configuration of tiled: TILE: found \"9\", expected one of 8, 16");
  EXPECT_EQ(error("PAD=true,TILE=8,TILE=16,ACC=f64,LAYOUT=row"), "configuration of tiled: TILE: given twice, expected once");
  expect_contains(error("PAD=true,TIEL=8,ACC=f64,LAYOUT=row"), "found the unknown parameter \"TIEL\", expected one of TILE, PAD, ACC, LAYOUT; did you mean \"TILE\"?");
  expect_contains(error("16"), "found \"16\", expected PARAMETER=VALUE");

  Configuration configuration = *spec.find_preset("default");
  EXPECT_NO_THROW(spec.check_configuration(configuration, "row 3"));
  configuration.set("TILE", std::string("16"));
  EXPECT_THROW(spec.check_configuration(configuration, "row 3"), InputError);
  configuration.set("TILE", std::int64_t{16});
  configuration.set("X", true);
  try {
    spec.check_configuration(configuration, "row 3");
    FAIL();
  } catch (const InputError& caught) {
    expect_contains(caught.what(), "row 3: found the unknown parameter \"X\"");
  }
}

}  // namespace
}  // namespace tunebook
