#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"
#include "sweep/plan.h"
#include "sweep_fixture.h"

namespace tunebook::testing {
namespace {

using Lines = std::vector<std::string>;

class PlanErrorsTest : public SweepTest {
 protected:
  // Of a plan with this one entry.
  Lines entry_faults(const std::string& entry) const { return faults(R"({"tunebook": 1, "devices": "cpu", "sessions": [)" + entry + "]}"); }
  Lines shape_faults(const std::string& shapes) const { return entry_faults(R"({"kernels": "product", "shapes": )" + shapes + "}"); }
};

TEST_F(PlanErrorsTest, NoPlanAtAll) {
  EXPECT_NE(faults("").at(0).find("plan.json:1:1:"), std::string::npos);
  EXPECT_NE(faults("{\"tunebook\": 1,}").at(0).find("JSON allows no comma after the last item"), std::string::npos);
  EXPECT_NE(faults("[]").at(0).find("/: found an array, expected an object with the keys tunebook, name,"), std::string::npos);
  EXPECT_EQ(faults("{}"), (Lines{"/: found no key \"tunebook\", expected a plan to have it", "/: found no key \"sessions\", expected a plan to have it"}));
  EXPECT_EQ(error_of([&] { read_plan(folder_ / "nothing.json", {}); }), path("nothing.json") + ": no such file");
  EXPECT_EQ(error_of([&] { read_plan(folder_, {}); }), folder_.string() + ": not a regular file");
}

TEST_F(PlanErrorsTest, WhereIsCheckedForRecordingsToo) {
  record("small", "stencil", "{\"n\": 64}");
  record("large", "stencil", "{\"n\": 128}");
  const auto of = [&](const std::string& where) {
    return entry_faults(R"({"kernels": "stencil", "devices": ["replay:small", "replay:large"], "where": )" + where + "}");
  };
  EXPECT_EQ(of(R"(["X >= 4", "Y * n <= 256"])"), Lines());
  const Lines found = of(R"(["X >= 4", "XX == 2"])");
  ASSERT_EQ(found.size(), 2U) << "one for each recording";
  EXPECT_NE(found[0].find("/sessions/0: kernel stencil in small: --where \"XX == 2\", column 1: "), std::string::npos) << found[0];
  EXPECT_EQ(of("\"X >=\"").size(), 2U);
  // Of a shape that only one of the recordings holds.
  EXPECT_EQ(entry_faults(R"({"kernels": "stencil", "devices": "replay:small", "shapes": [{"n": 64}], "where": "Z == 1"})").size(), 1U);
}

TEST_F(PlanErrorsTest, DuplicateKeysHaveTheirPlace) {
  const Lines found = faults("{\"tunebook\": 1, \"devices\": \"cpu\",\n \"sessions\": [{\"kernels\": \"add\", \"kernels\": \"plain\"}]}");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0], "plan.json:2:34: duplicate key \"kernels\" at /sessions/0/kernels");
}

TEST_F(PlanErrorsTest, UnknownKeysNameTheNearest) {
  EXPECT_NE(faults(R"({"tunebook": 1, "devises": "cpu", "sessions": [{"kernels": "add", "devices": "cpu"}]})").at(0).find("/devises: found the unknown key \"devises\""), std::string::npos);
  EXPECT_NE(faults(R"({"tunebook": 1, "devises": "cpu", "sessions": [{"kernels": "add", "devices": "cpu"}]})").at(0).find("did you mean \"devices\"?"), std::string::npos);
  EXPECT_NE(entry_faults(R"({"kernels": "add", "shape": "5"})").at(0).find("/sessions/0/shape: found the unknown key \"shape\", expected an entry of \"sessions\" to have"), std::string::npos);
  EXPECT_NE(entry_faults(R"({"kernels": "add", "freshness": {"retuneafterdays": 1}})").at(0).find("did you mean \"retune_after_days\"?"), std::string::npos);
}

TEST_F(PlanErrorsTest, NamesThatAreNoPartOfAPath) {
  const auto fault = [&](const std::string& name) { return faults(R"({"tunebook": 1, "devices": "cpu", "sessions": [{"kernels": "plain"}], "name": ")" + name + "\"}"); };
  EXPECT_EQ(fault("../tonight"), (Lines{"/name: found \"../tonight\", expected a name of at most 100 bytes on one line, without /"}));
  EXPECT_EQ(fault("two\\nlines").size(), 1U);
  EXPECT_EQ(fault(std::string(101, 'x')).size(), 1U);
  EXPECT_EQ(fault(std::string(100, 'x')), Lines{});
}

TEST_F(PlanErrorsTest, AllAtOnce) {
  Lines found = faults(R"({"tunebook": 2, "name": 3, "time": "soon", "until": "6", "budget": 0, "strategy": "autos", "seed": -1, "cache": "hot", "objective": "times", "finalists": 40, "priority": 0,
                       "baseline": 1, "where": [""], "devices": "gpu", "sessions": [{"kernels": "ad", "shapes": ["5"]}, {"kernels": "add", "shapes": ["5,6"]}, 4]})");
  for (std::string& line : found) line.resize(std::min(line.size(), line.find("; known: ")));  // what follows depends on the machine
  EXPECT_EQ(found,
            (Lines{"/tunebook: found 2, expected 1, the version of this format",
                   "/name: found 3, expected a string",
                   "/time: found \"soon\", expected a time such as 8h, 90m, 30s or 7m30s",
                   "/until: found \"6\", expected a time of the day such as 06:00",
                   "/devices: found \"gpu\", expected cuda (any GPU), cuda:N, cpu or replay:PATH; did you mean \"cpu\"?",
                   "/objective: found \"times\", expected \"time\" or \"energy\"; did you mean \"time\"?",
                   "/cache: found \"hot\", expected \"cold\" or \"warm\"",
                   "/strategy: unknown strategy \"autos\", did you mean \"auto\"?; there are: auto, exhaustive, random, local_search, genetic, differential_evolution, surrogate",
                   "/seed: found -1, expected an integer from 0 to 9223372036854775807",
                   "/budget: found 0, expected an integer from 1 to 9223372036854775807",
                   "/where/0: found \"\", expected a string",
                   "/baseline: found 1, expected true or false",
                   "/finalists: found 40, expected an integer from 0 to 32",
                   "/priority: found 0, expected a number from 0.001 to 1000",
                   "/sessions/0/kernels: unknown kernel \"ad\"; did you mean \"add\"?",
                   "/sessions/1/shapes/0: 5,6: shape of add: found 2 sizes, expected 1 (n)",
                   "/sessions/2: found 4, expected an object with the keys kernels, shapes, cover, when, weights, target_loss, most_shapes, types, devices, objective, cache, strategy, seed, budget, where, baseline, from_book, sanitize, "
                   "finalists, finalist_processes, lock_clocks_mhz, run_timeout_s, compile_timeout_s, priority, freshness"}));
  EXPECT_EQ(faults(R"({"tunebook": 1, "sessions": [{"kernels": "add"}, {"kernels": "add", "devices": "cpu"}]})"),
            (Lines{"/sessions/0: found no \"devices\" here or at the top of the plan, expected cuda, cuda:N, cpu or replay:PATH"}));
}

TEST_F(PlanErrorsTest, KernelsThatAreNotThere) {
  const Lines found = entry_faults(R"({"kernels": ["produkt", "add", "nothing_like_it"]})");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].find("/sessions/0/kernels: "), 0U);
  EXPECT_NE(found[0].find("product"), std::string::npos);
  EXPECT_NE(found[1].find("nothing_like_it"), std::string::npos);
  EXPECT_EQ(entry_faults(R"({"kernels": []})"), (Lines{"/sessions/0/kernels: found an empty array, expected at least one value"}));
  EXPECT_EQ(entry_faults(R"({"kernels": ["add", "add"]})"), (Lines{"/sessions/0/kernels/1: found \"add\" a second time, expected each once"}));
  write("templates/broken/kernel.json", "{");
  EXPECT_NE(entry_faults(R"({"kernels": "broken"})").at(0).find("templates/broken/kernel.json:1:2"), std::string::npos);
}

TEST_F(PlanErrorsTest, Shapes) {
  EXPECT_EQ(shape_faults("[]"), (Lines{"/sessions/0/shapes: found an empty array, expected at least one value"}));
  EXPECT_EQ(shape_faults("3"), (Lines{"/sessions/0/shapes: found 3, expected a shape (\"512,512,512\"), an object of sizes, {\"from_file\": PATH} or {\"from_misses\": PATH}"}));
  EXPECT_EQ(shape_faults("[\"\"]").size(), 1U);
  EXPECT_EQ(shape_faults("{}"), (Lines{"/sessions/0/shapes: found an object, expected a size for each dimension"}));
  EXPECT_EQ(shape_faults(R"(["1,2"])"), (Lines{"/sessions/0/shapes/0: 1,2: shape of product: found no k, expected a size for each of m,n,k"}));
  EXPECT_EQ(shape_faults(R"(["1,2,3", "1,2,3,4"])"), (Lines{"/sessions/0/shapes/1: 1,2,3,4: shape of product: found 4 sizes, expected 3 (m,n,k)"}));
  EXPECT_EQ(shape_faults(R"([{"m": 1, "n": 2}])"), (Lines{"/sessions/0/shapes/0: m=1,n=2: problem of product: found no k, expected a value for each of m,n,k,dtype,math"}));
  EXPECT_EQ(shape_faults(R"([{"m": [1, 2], "n": 2, "kk": 3}])"), (Lines{"/sessions/0/shapes/0/kk: found the unknown dimension \"kk\", expected kernel product to have m, n, k, dtype, math; did you mean \"k\"?"}));
  EXPECT_EQ(shape_faults(R"([{"m": 1, "n": 2, "k": 3, "dtype": "f64"}])"), (Lines{"/sessions/0/shapes/0: m=1,n=2,k=3,dtype=f64: problem of product: dtype: found \"f64\", expected one of f32, f16"}));
  EXPECT_EQ(shape_faults(R"([{"m": 0, "n": [], "k": [[1]], "dtype": true}])"),
            (Lines{"/sessions/0/shapes/0/m: found 0, expected an integer from 1 to 68719476736", "/sessions/0/shapes/0/n: found an empty array, expected at least one value",
                   "/sessions/0/shapes/0/k/0: found an array, expected a size, a category or a range",
                   "/sessions/0/shapes/0/dtype: found true, expected a size, a category, a list of them, or a range such as {\"from\": 64, \"to\": 4096, \"factor\": 2}"}));
  EXPECT_EQ(shape_faults(R"(["1,2,3,math=tensor"])"),
            (Lines{"/sessions/0/shapes/0: 1,2,3,math=tensor: problem of product: m=1,n=2,k=3,dtype=f32,math=tensor: the kernel's constraints exclude this combination of categories"}));
}

TEST_F(PlanErrorsTest, RangesThatDoNotEnd) {
  const auto fault = [&](const std::string& range) { return shape_faults(R"([{"n": 2, "k": 3, "m": )" + range + "}]"); };
  const std::string m = "/sessions/0/shapes/0/m";
  EXPECT_EQ(fault(R"({"from": 1, "to": 5, "step": 0})"), (Lines{m + "/step: found 0, expected an integer from 1 to 68719476736"}));
  EXPECT_EQ(fault(R"({"from": 1, "to": 5, "step": -1})"), (Lines{m + "/step: found -1, expected an integer from 1 to 68719476736"}));
  EXPECT_EQ(fault(R"({"from": 1, "to": 5, "factor": 1})"), (Lines{m + "/factor: found 1, expected an integer from 2 to 68719476736"}));
  EXPECT_EQ(fault(R"({"from": 1, "to": 5, "factor": 1.5})"), (Lines{m + "/factor: found 1.5, expected an integer from 2 to 68719476736"}));
  EXPECT_EQ(fault(R"({"from": 1, "to": 5})"), (Lines{m + ": found neither step nor factor, expected either of them"}));
  EXPECT_EQ(fault(R"({"from": 1, "to": 5, "step": 1, "factor": 2})"), (Lines{m + ": found both step and factor, expected either of them"}));
  EXPECT_EQ(fault(R"({"from": 5, "to": 1, "step": 1})"), (Lines{m + ": found a range from 5 to 1, expected \"from\" to be the smaller one"}));
  EXPECT_EQ(fault(R"({"from": 0, "to": 5, "step": 1})"), (Lines{m + "/from: found 0, expected an integer from 1 to 68719476736"}));
  EXPECT_EQ(fault(R"({"to": 5, "step": 1})"), (Lines{m + ": found no key \"from\", expected a range to have it"}));
  EXPECT_EQ(fault(R"({"from": 1, "to": 68719476736, "step": 1})"), (Lines{m + ": found a range of more than 10000 values, expected that many at most"}));
  EXPECT_EQ(fault(R"({"from": 1, "to": 99999999999, "step": 1})"), (Lines{m + "/to: found 99999999999, expected an integer from 1 to 68719476736"}));
}

TEST_F(PlanErrorsTest, TooMuch) {
  EXPECT_EQ(shape_faults(R"([{"m": {"from": 1, "to": 9999, "step": 1}, "n": {"from": 1, "to": 9999, "step": 1}, "k": {"from": 1, "to": 9999, "step": 1}}])"),
            (Lines{"/sessions/0/shapes/0: found a product of more than 100000 shapes, expected that many at most"}));
  const std::string range = R"({"m": {"from": 1, "to": 9999, "step": 1}, "n": [1, 2, 3, 4, 5, 6], "k": 1})";
  EXPECT_EQ(shape_faults("[" + range + "," + range + "]"), (Lines{"/sessions/0/shapes: found more than 100000 shapes, expected that many at most"}));
}

TEST_F(PlanErrorsTest, Types) {
  EXPECT_EQ(entry_faults(R"({"kernels": "add", "types": ["f61", "f32"]})"), (Lines{"/sessions/0/types: found \"f61\", expected a data type of kernel add: f32, f16; did you mean \"f16\"?"}));
  EXPECT_EQ(entry_faults(R"({"kernels": ["add", "plain"], "types": "f32"})"), (Lines{"/sessions/0/types: kernel plain has no dtype; give it an entry of its own, without \"types\""}));
  EXPECT_EQ(entry_faults(R"({"kernels": "add", "shapes": ["5,dtype=f16"], "types": "f32"})"), (Lines{"/sessions/0/shapes/0: 5,dtype=f16: shape of add: dtype: given twice, expected once"}));
  EXPECT_EQ(entry_faults(R"({"kernels": "add", "shapes": [{"n": 5, "dtype": "f16"}], "types": "f32"})"),
            (Lines{"/sessions/0/shapes/0: n=5,dtype=f16: dtype is given here and in \"types\", expected once"}));
}

TEST_F(PlanErrorsTest, WhatADeviceCannotDo) {
  EXPECT_EQ(entry_faults(R"({"kernels": "add", "lock_clocks_mhz": 1500, "objective": "energy"})"),
            (Lines{"/sessions/0: \"lock_clocks_mhz\" cannot be had on cpu: it is for GPUs; give these sessions an entry of their own",
                   "/sessions/0: \"objective\": \"energy\" cannot be had on cpu: it counts no energy; give these sessions an entry of their own"}));
  record("recorded", "add", R"({"n": 64})");
  EXPECT_EQ(entry_faults(R"({"kernels": "add", "devices": "replay:recorded", "sanitize": true})"),
            (Lines{"/sessions/0: \"sanitize\" cannot be had on replay:recorded: a recording runs no kernels; give these sessions an entry of their own"}));
  EXPECT_NE(entry_faults(R"({"kernels": "add", "devices": ["auto", "cuda:x", "replay:", "cpus"]})").size(), 0U);
}

TEST_F(PlanErrorsTest, Where) {
  const Lines found = entry_faults(R"({"kernels": ["add", "product"], "where": ["BM >= 32"]})");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].find("/sessions/0: kernel add: "), 0U);
  EXPECT_NE(found[0].find("BM"), std::string::npos);
}

TEST_F(PlanErrorsTest, Recordings) {
  EXPECT_NE(entry_faults(R"({"kernels": "walk", "devices": "replay:nothing"})").at(0).find("/sessions/0: nothing: no recording there"), std::string::npos);
  record("recorded/a", "walk", R"({"x": 64, "y": 32})");
  std::filesystem::create_directories(folder_ / "empty");
  EXPECT_EQ(entry_faults(R"({"kernels": "walk", "devices": "replay:empty"})"), (Lines{"/sessions/0: empty: no recording is in this folder"}));
  EXPECT_EQ(entry_faults(R"({"kernels": "wolk", "devices": "replay:recorded"})"), (Lines{"/sessions/0/kernels: recorded: no recording of kernel \"wolk\", only of walk; did you mean \"walk\"?"}));
  EXPECT_EQ(entry_faults(R"({"kernels": "walk", "devices": "replay:recorded", "shapes": ["64,33"]})"),
            (Lines{"/sessions/0/shapes/0: 64,33: problem of walk not recorded; recorded holds x=64,y=32"}));
  EXPECT_EQ(entry_faults(R"({"kernels": "walk", "devices": "replay:recorded", "shapes": ["64,32"], "types": "f16"})"),
            (Lines{"/sessions/0/shapes/0: 64,32 in f16: problem of walk not recorded; recorded holds x=64,y=32"}));
}

TEST_F(PlanErrorsTest, AFloodIsCutShort) {
  std::string shapes;
  for (int i = 0; i < 80; ++i) shapes += (i == 0 ? "\"" : ", \"") + std::to_string(i + 1) + "\"";
  const Lines found = shape_faults("[" + shapes + "]");
  ASSERT_EQ(found.size(), 51U);
  EXPECT_EQ(found.back(), "and 30 more");
}

}  // namespace
}  // namespace tunebook::testing
