#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"
#include "db/lookup_misses.h"
#include "sweep/plan.h"
#include "sweep_fixture.h"

namespace tunebook::testing {
namespace {

using Lines = std::vector<std::string>;

class ShapeFilesTest : public SweepTest {
 protected:
  static std::string plan_text(const std::string& kernels, const std::string& shape, const std::string& more = "") {
    return R"({"tunebook": 1, "devices": "cpu", "sessions": [{"kernels": )" + kernels + R"(, "shapes": )" + shape + more + "}]}";
  }
  static std::string miss(const std::string& kernel, const std::string& problem, const std::string& kind = "cpu", const std::string& objective = "time") {
    return R"({"kernel":")" + kernel + R"(","problem":)" + problem + R"(,"device":{"kind":")" + kind +
           R"("},"kernel_hash":"","objective":")" + objective + R"(","method":"","tier":"far","asked_utc":"2026-11-29T10:00:00.000000Z"})" + "\n";
  }
  static constexpr const char* kFile = R"({"from_file": "shapes.txt"})";
  static constexpr const char* kMisses = R"([{"from_misses": "misses.jsonl"}])";
};

TEST_F(ShapeFilesTest, LinesWithComments) {
  write("shapes.txt", "# m,n,k\n1,2,3\n\n  4 , 5, 6   # the odd one\r\nm=7,n=8,k=9,dtype=f16\n1,2,3\n10,11,12");
  EXPECT_EQ(items(plan_text("\"product\"", kFile)),
            (Lines{"product m=1,n=2,k=3,dtype=f32,math=ieee cpu", "product m=4,n=5,k=6,dtype=f32,math=ieee cpu", "product m=7,n=8,k=9,dtype=f16,math=ieee cpu",
                   "product m=10,n=11,k=12,dtype=f32,math=ieee cpu"}));
}

TEST_F(ShapeFilesTest, AByteOrderMarkIsNoPartOfTheFirstLine) {
  write("shapes.txt", "\xEF\xBB\xBF" "1,2,3\r\n");
  EXPECT_EQ(items(plan_text("\"product\"", kFile)), (Lines{"product m=1,n=2,k=3,dtype=f32,math=ieee cpu"}));
  write("misses.jsonl", "\xEF\xBB\xBF" + miss("add", R"({"n":9})"));
  EXPECT_EQ(items(plan_text("\"add\"", kMisses)), (Lines{"add n=9,dtype=f32 cpu"}));
}

TEST_F(ShapeFilesTest, LinesAreQuotedShortAndAsText) {
  write("shapes.txt", std::string("1,\x1b[2J,3\n") + std::string(100'000, '9'));
  const Lines messages = faults(plan_text("\"product\"", kFile));
  ASSERT_EQ(messages.size(), 2U);
  for (const std::string& message : messages) {
    EXPECT_LT(message.size(), 1000U);
    EXPECT_EQ(message.find('\x1b'), std::string::npos);
  }
}

TEST_F(ShapeFilesTest, LinesThatAreNoShapes) {
  write("shapes.txt", "1,2,3\n1,2\n1,x,3\n");
  EXPECT_EQ(faults(plan_text("\"product\"", kFile)),
            (Lines{"/sessions/0/shapes/from_file: shapes.txt:2: 1,2: shape of product: found no k, expected a size for each of m,n,k",
                   "/sessions/0/shapes/from_file: shapes.txt:3: 1,x,3: shape of product: found \"x\", expected a size, NAME=VALUE or one of f32, f16, ieee, tensor"}));
  write("shapes.txt", "# nothing\n\n");
  EXPECT_EQ(faults(plan_text("\"product\"", kFile)), (Lines{"/sessions/0/shapes/from_file: shapes.txt: found no shape in it, expected lines such as 512,512,512"}));
}

TEST_F(ShapeFilesTest, FilesThatCannotBeRead) {
  EXPECT_EQ(faults(plan_text("\"product\"", kFile)), (Lines{"/sessions/0/shapes/from_file: shapes.txt: no such file"}));
  EXPECT_EQ(faults(plan_text("\"product\"", R"({"from_misses": "templates"})")), (Lines{"/sessions/0/shapes/from_misses: templates: not a regular file"}));
  EXPECT_EQ(faults(plan_text("\"product\"", R"({"from_file": 3})")), (Lines{"/sessions/0/shapes/from_file: found 3, expected the path of a file"}));
  EXPECT_NE(faults(plan_text("\"product\"", R"({"from_file": "a", "m": 3})")).at(0).find("/sessions/0/shapes/m: found the unknown key \"m\", expected a file of shapes to have from_file"), std::string::npos);
}

TEST_F(ShapeFilesTest, MissesOfTheEntrysKernelsObjectiveAndKindOfDevice) {
  write("misses.jsonl", miss("add", R"({"n":5,"dtype":"f16"})") + miss("plain", R"({"n":6})") + miss("product", R"({"m":1,"n":2,"k":3})") + miss("add", R"({"dtype":"f16","n":5})") +
                            miss("add", R"({"n":7})", "cuda") + miss("add", R"({"n":8})", "cpu", "energy") + miss("add", R"({"n":9})"));
  EXPECT_EQ(items(plan_text(R"(["add", "plain"])", kMisses)), (Lines{"add n=5,dtype=f16 cpu", "add n=9,dtype=f32 cpu", "plain n=6 cpu"}));
  EXPECT_EQ(items(plan_text("\"add\"", kMisses, R"(, "types": "f32", "devices": ["cpu", "cuda"])")), (Lines{"add n=7,dtype=f32 cuda", "add n=9,dtype=f32 cpu"}));
  const SweepPlan read = plan(plan_text("\"add\"", kMisses));
  EXPECT_EQ(read.notes, (Lines{"recorded misses of plain, product are for kernels that the plan does not tune"}));
}

// Applications write the log; what has become wrong in it since must not keep a night from running.
TEST_F(ShapeFilesTest, MissesThatFitTheKernelNoMoreArePassedOver) {
  write("misses.jsonl", miss("add", R"({"rows":5})") + miss("add", R"({"n":5})") + miss("add", R"({"n":0})") + miss("add", R"({"n":5,"dtype":"f8"})"));
  const SweepPlan read = plan(plan_text("\"add\"", kMisses));
  ASSERT_EQ(read.items.size(), 1U);
  ASSERT_EQ(read.notes.size(), 1U);
  EXPECT_NE(read.notes[0].find("3 recorded misses were passed over; the first: "), std::string::npos);
  EXPECT_NE(read.notes[0].find("misses.jsonl:1: found the unknown dimension \"rows\""), std::string::npos);
}

TEST_F(ShapeFilesTest, ALogThatNoMissHasMadeYetIsNoReasonToLoseANight) {
  const SweepPlan read = plan(plan_text("\"add\"", R"(["5", {"from_misses": "misses.jsonl"}])"));
  EXPECT_EQ(read.items.size(), 1U);
  ASSERT_EQ(read.notes.size(), 1U);
  EXPECT_NE(read.notes[0].find("/sessions/0/shapes/1/from_misses: "), std::string::npos) << read.notes[0];
  EXPECT_NE(read.notes[0].find("misses.jsonl is not there yet"), std::string::npos) << read.notes[0];
  EXPECT_EQ(faults(plan_text("\"add\"", R"({"from_misses": "none/misses.jsonl"})")), (Lines{"/sessions/0/shapes/from_misses: none/misses.jsonl: no such file"}));
}

TEST_F(ShapeFilesTest, AFileThatIsNoLogOfMisses) {
  write("misses.jsonl", miss("add", R"({"n":5})") + "1,2,3\n[]\n{\"kernel\": 3}\n{\"kernel\": \"add\", \"problem\": {\"n\": 1.5}}\n" + miss("add", "3"));
  const Lines found = faults(plan_text("\"add\"", kMisses));
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found[1], "/sessions/0/shapes/0/from_misses: misses.jsonl:3: expected an object as a log of misses has it: {\"kernel\": ..., \"problem\": {...}, ...}");
  EXPECT_EQ(found[2], "/sessions/0/shapes/0/from_misses: misses.jsonl:4: /kernel: expected a string");
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "no log\n";
  write("misses.jsonl", text);
  EXPECT_EQ(faults(plan_text("\"add\"", kMisses)).size(), 11U);
}

TEST_F(ShapeFilesTest, ALastLineThatWasNotWrittenToItsEndIsPassedOver) {
  const std::string whole = miss("add", R"({"n":5})");
  write("misses.jsonl", whole + whole.substr(0, 40));
  const SweepPlan read = plan(plan_text("\"add\"", kMisses));
  EXPECT_EQ(read.items.size(), 1U);
  EXPECT_EQ(read.notes, (Lines{path("misses.jsonl") + ":2: the last line is incomplete and was passed over"}));
  write("misses.jsonl", "");
  EXPECT_TRUE(plan(plan_text("\"add\"", kMisses)).items.empty());
}

// What a lookup writes is what a plan reads.
TEST_F(ShapeFilesTest, TheLookupsOwnLog) {
  Query query;
  query.kernel = "product";
  query.problem = {{"m", std::int64_t{96}}, {"n", std::int64_t{7}}, {"k", std::int64_t{5}}, {"dtype", std::string("f16")}, {"math", std::string("tensor")}};
  query.device.kind = "cuda";
  MissLog(path("misses.jsonl"), 100).record(query, nullptr);
  EXPECT_EQ(items(plan_text("\"product\"", kMisses, R"(, "devices": "cuda")")), (Lines{"product m=96,n=7,k=5,dtype=f16,math=tensor cuda"}));
}

TEST_F(ShapeFilesTest, RandomBytesGiveInputErrorsOnly) {
  Random random(3);
  const std::string good_misses = miss("add", R"({"n":5,"dtype":"f16"})") + miss("add", R"({"n":6})");
  const std::string good_lines = "1,2,3\nm=7,n=8,k=9,dtype=f16 # x\n";
  for (int round = 0; round < 50; ++round) {
    const bool misses = round % 2 == 0;
    std::string text = misses ? good_misses : good_lines;
    if (round % 7 == 0) text.resize(random.below(text.size()));
    for (std::uint64_t i = 0; i <= random.below(4) && !text.empty(); ++i) text[random.below(text.size())] = static_cast<char>(random.below(256));
    write(misses ? "misses.jsonl" : "shapes.txt", text);
    try {
      for (const SweepItem& item : plan(plan_text(misses ? "\"add\"" : "\"product\"", misses ? kMisses : kFile)).items) {
        EXPECT_EQ(SweepItem::from_json(item.to_json(), "item"), item);
      }
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).find(path("plan.json") + ": /sessions/0/shapes"), 0U) << error.what();
    }
  }
}

}  // namespace
}  // namespace tunebook::testing
