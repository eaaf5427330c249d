#include "search/recording.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/json_text.h"
#include "core/random.h"
#include "search_fixtures.h"

namespace tunebook {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::TemporaryFolder;

const fs::path kCoulomb = fs::path(TUNEBOOK_SOURCE_DIR) / "tests/data/recorded/coulomb__KTT_2080Ti";

// A small recording, with parts replaced by a test.
struct Draft {
  std::string kernel = R"("kernel": "k", )";
  std::string gpu = R"("gpu": "G", )";
  std::string problem = R"("problem_size": [64, 32], )";
  std::string parameters = R"({"a": [1, 2, 4], "b": [true, false], "t": ["f32", "f16"]})";
  std::string constraints = "null";
  std::string header = "b,a,t,time_ms,status,std_ms,cost_ms\n";
  std::string rows =
      "True,1,f32,0.5,ok,,100\n"
      "False,4,f16,,compile_error,,50\n"
      "false,2,f32,0.25,ok,0.1,\n"
      "True,1,f32,9.5,ok,,100\n";

  fs::path write(const TemporaryFolder& folder) const {
    folder.write("r.json", "{" + kernel + gpu + problem + "\"parameters\": " + parameters + ", \"constraints\": " + constraints + "}");
    return folder.write("r.csv", header + rows);
  }
};

Configuration configuration(std::int64_t a, bool b, const std::string& t) {
  Configuration result;
  result.set("a", a);
  result.set("b", b);
  result.set("t", t);
  return result;
}

TEST(Recording, ReadsTheBundledOne) {
  for (const char* ending : {"", ".json", ".csv.gz", ".csv"}) {
    const Recording recording = Recording::load(kCoulomb.string() + ending);
    EXPECT_EQ(recording.name(), "coulomb__KTT_2080Ti");
    EXPECT_EQ(recording.kernel(), "directCoulombSum_kernel");
    EXPECT_EQ(recording.device().kind, "replay");
    EXPECT_EQ(recording.device().name, "NVIDIA GeForce RTX 2080 Ti");
    EXPECT_EQ(recording.problem().display(), "n=1");
    EXPECT_EQ(recording.size(), 210u);
    EXPECT_FALSE(recording.rows_reason().empty());
    const SearchSpace space = recording.space();
    EXPECT_TRUE(space.listed());
    EXPECT_EQ(space.size(), 210u);
    EXPECT_EQ(space.cartesian_size_text(), "432");
    double best = 1e300;
    std::string winner;
    for (std::uint64_t i = 0; i < space.size(); ++i) {
      const Recording::Entry entry = recording.lookup(space.configuration(i)).value();
      ASSERT_EQ(entry.outcome, Outcome::ok);
      if (*entry.time_us >= best) continue;
      best = *entry.time_us;
      winner = space.configuration(i).display();
    }
    EXPECT_DOUBLE_EQ(best, 769.696);
    EXPECT_EQ(winner,
              "WORK_GROUP_SIZE_X=32,WORK_GROUP_SIZE_Y=2,INNER_UNROLL_FACTOR=0,Z_ITERATIONS=16,USE_CONSTANT_MEMORY=0,USE_SOA=0,"
              "VECTOR_SIZE=1,WORK_GROUP_SIZE_Z=1");
  }
}

TEST(Recording, FurtherOnesWhereThereAreSome) {
  const fs::path folder = fs::path(TUNEBOOK_SOURCE_DIR) / "../shared/search/recorded";
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no further recordings beside the source folder";
  for (const auto& file : fs::directory_iterator(folder)) {
    if (file.path().extension() != ".json") continue;
    SCOPED_TRACE(file.path().filename().string());
    const nlohmann::ordered_json json = parse_json_text(read_text_file(file.path()), "recording");
    const Recording recording = Recording::load(file.path());
    EXPECT_EQ(recording.size(), json.at("rows").get<std::uint64_t>());
    EXPECT_EQ(recording.rows_reason().empty(), json.at("complete") == true) << recording.rows_reason();
    EXPECT_EQ(recording.space().size(), recording.size());
    std::uint64_t ok = 0;
    double best = 1e300;
    for (std::uint64_t i = 0; i < recording.size(); ++i) {
      const Recording::Entry entry = recording.entry(i);
      if (entry.outcome != Outcome::ok) continue;
      ++ok;
      best = std::min(best, entry.time_us.value());
    }
    EXPECT_EQ(ok, json.at("ok").get<std::uint64_t>());
    EXPECT_NEAR(best / 1e3, json.at("best_ms").get<double>(), 1e-6 * best / 1e3);
  }
}

TEST(Recording, ValuesStatusesAndRepeats) {
  const TemporaryFolder folder;
  const Recording recording = Recording::load(Draft{}.write(folder));
  EXPECT_EQ(recording.name(), "r");
  EXPECT_EQ(recording.kernel(), "k");
  EXPECT_EQ(recording.problem().display(), "d0=64,d1=32");
  EXPECT_EQ(recording.size(), 3u);
  const Recording::Entry first = recording.lookup(configuration(1, true, "f32")).value();
  EXPECT_EQ(first.outcome, Outcome::ok);
  EXPECT_DOUBLE_EQ(first.time_us.value(), 500);  // the first of the two
  EXPECT_FLOAT_EQ(static_cast<float>(first.cost_s), 0.1f);
  const Recording::Entry failed = recording.lookup(configuration(4, false, "f16")).value();
  EXPECT_EQ(failed.outcome, Outcome::compile_error);
  EXPECT_FALSE(failed.time_us);
  EXPECT_EQ(recording.lookup(configuration(2, false, "f32"))->cost_s, 0);
  EXPECT_FALSE(recording.lookup(configuration(2, false, "f16")));
  EXPECT_FALSE(recording.lookup(configuration(3, false, "f16")));
}

TEST(Recording, StatusesOfOtherTools) {
  const std::map<std::string, Outcome> statuses = {
      {"fault", Outcome::fault},           {"abandoned", Outcome::abandoned},    {"runtime_error", Outcome::launch_error},
      {"compile", Outcome::compile_error}, {"timeout", Outcome::run_timeout},    {"correctness", Outcome::wrong_result},
      {"correct", Outcome::ok},            {"InvalidConfig", Outcome::invalid}, {"RuntimeFailedConfig", Outcome::launch_error}};
  for (const auto& [status, outcome] : statuses) {
    const TemporaryFolder folder;
    Draft draft;
    draft.rows = "True,1,f32,0.5," + status + ",,100\n";
    const Recording::Entry entry = Recording::load(draft.write(folder)).entry(0);
    EXPECT_EQ(entry.outcome, outcome) << status;
    EXPECT_EQ(entry.time_us.has_value(), has_time(outcome)) << status;
  }
}

TEST(Recording, ProblemSizes) {
  const std::map<std::string, std::string> cases = {
      {"", "n=1"},
      {R"("problem_size": null, )", "n=1"},
      {R"("problem_size": 4096, )", "d0=4096"},
      {R"("problem_size": [25000, 2048, 1], )", "d0=25000,d1=2048,d2=1"},
      {R"("problem_size": {"m": 4, "dtype": "f16"}, )", "m=4,dtype=f16"}};
  for (const auto& [text, display] : cases) {
    const TemporaryFolder folder;
    Draft draft;
    draft.problem = text;
    EXPECT_EQ(Recording::load(draft.write(folder)).problem().display(), display);
  }
}

TEST(Recording, ConstraintsThatGiveTheRowsAreTheSpace) {
  const TemporaryFolder folder;
  Draft draft;
  draft.parameters = R"({"a": [1, 2, 4], "b": [1, 2, 4]})";
  draft.header = "a,b,time_ms,status\n";
  draft.rows = "1,2,3,ok\n1,4,3,ok\n2,4,3,ok\n";
  draft.constraints = R"(["a < b"])";
  Recording recording = Recording::load(draft.write(folder));
  EXPECT_EQ(recording.rows_reason(), "");
  EXPECT_FALSE(recording.space().listed());
  EXPECT_EQ(recording.space().size(), 3u);
  EXPECT_EQ(recording.space({"b == 4"}).size(), 2u);

  // Fewer, more, others, a text that does not compile, one that does not evaluate: the rows count.
  for (const char* constraints : {R"(["a < b", "a > 1"])", R"([])", R"(["a > b"])", R"(["a <"])", R"(["a // (b - 2) > 9"])"}) {
    draft.constraints = constraints;
    recording = Recording::load(draft.write(folder));
    EXPECT_NE(recording.rows_reason(), "") << constraints;
    EXPECT_TRUE(recording.space().listed());
    EXPECT_EQ(recording.space().size(), 3u);
    EXPECT_EQ(recording.space({"b == 4"}).size(), 2u);
    EXPECT_EQ(recording.space({"b == 4", "d0 > 64"}).size(), 0u);
    EXPECT_THROW(recording.space({"c == 4"}), InputError);
    EXPECT_THROW(recording.space({"4 // (b - 4) == 1"}), InputError);
    EXPECT_EQ(recording.space({"4 // (b - 4) == -2", "b != 4"}).size(), 1u);
  }
}

TEST(Recording, HashFollowsContent) {
  const TemporaryFolder folder;
  Draft draft;
  const std::string hash = Recording::load(draft.write(folder)).content_hash();
  EXPECT_EQ(Recording::load(draft.write(folder)).content_hash(), hash);
  draft.rows += "True,4,f32,9.5,ok,,100\n";
  EXPECT_NE(Recording::load(draft.write(folder)).content_hash(), hash);
  draft = Draft{};
  draft.gpu = R"("gpu": "H", )";
  EXPECT_NE(Recording::load(draft.write(folder)).content_hash(), hash);
}

TEST(Recording, UnnamedGpuTakesTheRecordingsName) {
  const TemporaryFolder folder;
  Draft draft;
  draft.gpu = R"("gpu": "", )";
  draft.kernel = "";
  const Recording recording = Recording::load(draft.write(folder));
  EXPECT_EQ(recording.device().name, "r");
  EXPECT_EQ(recording.kernel(), "r");
}

TEST(Recording, MalformedRowsNameFileAndLine) {
  const std::map<std::string, std::string> cases = {
      {"True,1,f32,0.5,ok,,1\nTrue,3,f32,0.5,ok,,1\n", ":3: a = \"3\" is not among the declared values of a"},
      {"True,1,f32,0.5,ok,,1,2\n", ":2: 8 fields, but the header has 7 columns"},
      {"True,1,f32,0.5,ok\n", ":2: 5 fields, but the header has 7 columns"},
      {"True,1,f32,,ok,,1\n", ":2: time_ms = \"\" with status ok: expected a positive time"},
      {"True,1,f32,0,ok,,1\n", ":2: time_ms = \"0\" with status ok: expected a positive time"},
      {"True,1,f32,-1,ok,,1\n", ":2: time_ms = \"-1\": expected a number of milliseconds, not negative"},
      {"True,1,f32,nan,ok,,1\n", ":2: time_ms = \"nan\": expected a number of milliseconds, not negative"},
      {"True,1,f32,inf,ok,,1\n", ":2: time_ms = \"inf\": expected a number of milliseconds, not negative"},
      {"True,1,f32,1x,ok,,1\n", ":2: time_ms = \"1x\": expected a number of milliseconds, not negative"},
      {"True,1,f32,1,ok,,x\n", ":2: cost_ms = \"x\": expected a number of milliseconds, not negative"},
      {"True,1,f32,1,okay,,1\n",
       ":2: unknown status \"okay\"; known are: ok, invalid, no_resources, compile_error, compile_timeout, launch_error, run_timeout, "
       "fault, divergent_barrier, wrong_result, nondeterministic, out_of_memory, worker_lost, abandoned"},
      {"", ": no configurations after the header"},
  };
  for (const auto& [rows, message] : cases) {
    const TemporaryFolder folder;
    Draft draft;
    draft.rows = rows;
    const fs::path path = draft.write(folder);
    EXPECT_EQ(message_of([&] { Recording::load(path); }), path.string() + message) << rows;
  }
}

TEST(Recording, MalformedHeadersAndDeclarations) {
  const TemporaryFolder folder;
  Draft draft;
  draft.header = "b,a,time_ms,status\n";
  EXPECT_EQ(message_of([&] { Recording::load(draft.write(folder)); }), (folder.path() / "r.csv").string() + ":1: the column t is missing");
  draft.header = "a,b,t,time_ms,status,b\n";
  EXPECT_EQ(message_of([&] { Recording::load(draft.write(folder)); }),
            (folder.path() / "r.csv").string() + ":1: the column b appears twice");
  draft.header = "a,b,t,time_m,status\n";
  EXPECT_EQ(message_of([&] { Recording::load(draft.write(folder)); }),
            (folder.path() / "r.csv").string() + ":1: the column time_ms is missing (there is time_m)");
  folder.write("r.csv", "");
  EXPECT_THROW(Recording::load(folder.path() / "r"), InputError);
  for (const char* problem : {R"("problem_size": 0, )", R"("problem_size": [], )", R"("problem_size": [1.5], )",
                              R"("problem_size": "x", )", R"("problem_size": {}, )", R"("problem_size": {"m": -1}, )"}) {
    draft = Draft{};
    draft.problem = problem;
    EXPECT_THROW(Recording::load(draft.write(folder)), InputError) << problem;
  }
  draft = Draft{};
  draft.kernel = R"("kernel": 3, )";
  EXPECT_THROW(Recording::load(draft.write(folder)), InputError);
}

TEST(Recording, MissingFilesAreNamed) {
  const TemporaryFolder folder;
  EXPECT_NE(message_of([&] { Recording::load(folder.path() / "x.csv.gz"); }).find("x.json is missing"), std::string::npos);
  folder.write("x.json", "{}");
  EXPECT_NE(message_of([&] { Recording::load(folder.path() / "x.json"); }).find("neither"), std::string::npos);
  EXPECT_THROW(Recording::load(folder.path()), InputError);
}

// Damaged files end in an InputError or are still read, nothing else.
TEST(Recording, SurvivesRandomDamage) {
  const auto content = [](const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  const TemporaryFolder folder;
  Draft draft;
  draft.constraints = R"(["a > 0 or t == 'f16'"])";
  draft.header = "b,a,t,time_ms,status,std_ms,cost_ms,registers,stack_bytes\n";
  draft.rows = "True,1,f32,0.5,ok,,100,40,\nFalse,4,f16,,compile_error,,50,,\nfalse,2,f32,0.25,ok,0.1,,255,1024\n";
  draft.write(folder);
  const std::string json = content(folder.path() / "r.json");
  const std::string csv = content(folder.path() / "r.csv");
  const std::string gz = content(kCoulomb.string() + ".csv.gz");
  const std::string coulomb = content(kCoulomb.string() + ".json");
  const TemporaryFolder damaged;
  Random random(20);
  const auto damage = [&](std::string text) {
    static const std::string kBytes = std::string("\0\xff\"{}[],:\n09-.eE\\aft", 21);
    const std::uint64_t count = 1 + random.below(4);
    for (std::uint64_t n = 0; n < count && !text.empty(); ++n) {
      const std::size_t at = random.below(text.size());
      switch (random.below(4)) {
        case 0: text[at] = kBytes[random.below(kBytes.size())]; break;
        case 1: text.insert(at, 1, kBytes[random.below(kBytes.size())]); break;
        case 2: text.erase(at, 1 + random.below(8)); break;
        default: text.insert(at, text.substr(random.below(text.size()), random.below(12))); break;
      }
    }
    return text;
  };
  int read = 0;
  int refused = 0;
  for (int i = 0; i < 600; ++i) {
    const bool compressed = i % 5 == 0;
    if (compressed) {
      damaged.write("z.json", coulomb);
      damaged.write("z.csv.gz", damage(gz));
    } else {
      damaged.write("d.json", i % 2 == 0 ? damage(json) : json);
      damaged.write("d.csv", i % 2 == 1 ? damage(csv) : csv);
    }
    try {
      const Recording recording = Recording::load(damaged.path() / (compressed ? "z" : "d"));
      ASSERT_GT(recording.space().size(), 0u);
      ++read;
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 10);
  EXPECT_GT(refused, 200);
}

TEST(Recording, ResourcesWhereTheyAreRecorded) {
  Draft draft;
  const TemporaryFolder folder;
  const std::string without = Recording::load(draft.write(folder)).content_hash();
  EXPECT_FALSE(Recording::load(folder.path() / "r.json").has_resources());
  draft.header = "b,a,t,time_ms,status,registers,spill_load_bytes\n";
  draft.rows = "true,1,f32,0.5,ok,64,16\nfalse,4,f16,,compile_error,,\nfalse,2,f32,,run_timeout,255,0\n";
  const Recording recording = Recording::load(draft.write(folder));
  ASSERT_TRUE(recording.has_resources());
  const Foresight first = recording.lookup(configuration(1, true, "f32"))->foresight();
  EXPECT_EQ(first.outcome, Outcome::ok);
  EXPECT_EQ(first.resources.registers, 64);
  EXPECT_EQ(first.resources.spill_load_bytes, 16);
  EXPECT_EQ(first.resources.stack_bytes, -1);
  const Foresight second = recording.lookup(configuration(4, false, "f16"))->foresight();
  EXPECT_EQ(second.outcome, Outcome::compile_error);
  EXPECT_EQ(second.resources.registers, -1);
  EXPECT_EQ(recording.lookup(configuration(2, false, "f32"))->foresight().outcome, Outcome::ok) << "a compiler does not know that it hangs";
  draft.rows = "true,1,f32,0.5,ok,64,17\nfalse,4,f16,,compile_error,,\nfalse,2,f32,,run_timeout,255,0\n";
  EXPECT_NE(Recording::load(draft.write(folder)).content_hash(), recording.content_hash());
  EXPECT_NE(recording.content_hash(), without);
  for (const char* amount : {"-3", "1.5", "9223372036854775807"}) {
    draft.rows = std::string("true,1,f32,0.5,ok,") + amount + ",0\n";
    EXPECT_NE(message_of([&] { Recording::load(draft.write(folder)); }).find("expected an integer, not negative"), std::string::npos);
  }
}

}  // namespace
}  // namespace tunebook
