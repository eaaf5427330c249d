// Bad input: exit code 2, one message that names the place and the remedy, and no book made or damaged.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli_support.h"

namespace tunebook::test {
namespace {

class BadInput : public CliTest {
 protected:
  // A copy of the user's vector_add in which one text of kernel.json is replaced.
  std::string kernels_with(const std::string& from, const std::string& to) {
    const std::filesystem::path copy = folder() / "kernels" / "vector_add";
    std::filesystem::remove_all(copy.parent_path());
    std::filesystem::create_directories(copy.parent_path());
    std::filesystem::copy(user_kernels() + "/vector_add", copy);
    std::string json = read_file(copy / "kernel.json");
    const std::size_t at = json.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    write("kernels/vector_add/kernel.json", json.replace(at, from.size(), to));
    return copy.parent_path().string();
  }

  void expect_bad_spec(const std::string& from, const std::string& to, const std::vector<std::string>& parts) {
    const std::string kernels = kernels_with(from, to);
    expect_bad_input({"tune", "vector_add", "--templates", kernels, "--shape", "1000", "--device", "cpu"}, parts);
    expect_bad_input({"best", "vector_add", "--templates", kernels, "--shape", "1000", "--device", "cpu"}, parts);
  }

  std::vector<std::string> tune(std::vector<std::string> more) {
    std::vector<std::string> words = {"tune", "matmul_tiled", "--templates", user_kernels(), "--device", "cpu"};
    if (more.empty() || more.front() != "--shape") words.insert(words.end(), {"--shape", "16,16,16"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(BadInput, MalformedJsonHasLineAndColumn) {
  expect_bad_spec("\"entry\": \"vector_add\",", "\"entry\": \"vector_add\";", {"vector_add/kernel.json:6:24: ", "expected '}'"});
  expect_bad_spec("\"tunebook\"", "tunebook", {"vector_add/kernel.json:2:3: "});
}

TEST_F(BadInput, UnknownKeyHasTheNearestValidOne) {
  expect_bad_spec("\"summary\"", "\"sumary\"", {"vector_add/kernel.json: /sumary: ", "did you mean \"summary\"?"});
}

TEST_F(BadInput, DuplicateKey) {
  expect_bad_spec("\"source\"", "\"entry\": \"x\", \"source\"", {"vector_add/kernel.json:6:3: duplicate key \"entry\""});
}

TEST_F(BadInput, ConstraintWithAnUnknownName) {
  expect_bad_spec("n <= 2147418112", "BLOK_SIZE <= n",
                  {"vector_add/kernel.json: /constraints/0: ", "column 1: unknown name 'BLOK_SIZE'", "did you mean 'BLOCK_SIZE'?"});
}

TEST_F(BadInput, ConstraintThatOverflows) {
  expect_bad_spec("n <= 2147418112", "n * 9223372036854775807 > 0",
                  {"vector_add/kernel.json: ", "/constraints/0 ", "column 3: 4194304 * 9223372036854775807 does not fit into 64 bits"});
}

TEST_F(BadInput, DefaultPresetThatViolatesAConstraint) {
  expect_bad_spec("n <= 2147418112", "BLOCK_SIZE < 256", {"vector_add/kernel.json: /presets/default: ", "BLOCK_SIZE=256", "violates /constraints/0 \"BLOCK_SIZE < 256\""});
}

TEST_F(BadInput, PresetWithAnUndeclaredValue) {
  expect_bad_spec("\"BLOCK_SIZE\": 256", "\"BLOCK_SIZE\": 255", {"/presets/default/BLOCK_SIZE: found 255", "32, 64, 128, 256, 512, 1024"});
}

TEST_F(BadInput, SourceOutsideTheTemplate) {
  expect_bad_spec("\"kernel.cu\"", "\"../../secret\"", {"/source: found \"../../secret\", expected a file in the template's folder"});
  expect_bad_spec("\"kernel.cu\"", "\"kernel.cuh\"", {"vector_add/kernel.cuh: no such file"});
}

TEST_F(BadInput, EmptySpace) {
  expect_bad_input(tune({"--where", "TILE_SIZE > 100000"}), {"search space", "m=16,n=16,k=16", "is empty", "--where", "tunebook space"});
  expect_bad_input({"space", "matmul_tiled", "--templates", user_kernels(), "--where", "TILE_SIZ > 1"},
                   {"--where \"TILE_SIZ > 1\", column 1", "did you mean 'TILE_SIZE'?"});
}

TEST_F(BadInput, WhereThatCannotBeEvaluated) {
  expect_bad_input(tune({"--where", "TILE_SIZ > 1"}), {"--where \"TILE_SIZ > 1\", column 1: unknown name", "did you mean 'TILE_SIZE'?"});
  expect_bad_input(tune({"--where", "TILE_SIZE * 9223372036854775807 > 1"}), {"column 11", "does not fit into 64 bits"});
  expect_bad_input(tune({"--where", "TILE_SIZE // PADDING > 1"}), {"column 11", "zero"});
  expect_bad_input(tune({"--where", ""}), {"--where \"\", column 1"});
}

TEST_F(BadInput, UnknownKernelHasTheNearest) {
  for (const char* verb : {"tune", "best", "run", "emit", "space"}) {
    expect_bad_input({verb, "matmul_tile", "--templates", user_kernels(), "--shape", "m=16,n=16,k=16", "--device", "cpu"},
                     {"unknown kernel \"matmul_tile\"", "did you mean \"matmul_tiled\"?", "looked in: "});
  }
  expect_bad_input({"check", "matmul_tile", "--templates", user_kernels()}, {"did you mean \"matmul_tiled\"?"});
}

TEST_F(BadInput, ArchitectureThatTheCompilerDoesNotKnow) {
  if (!no_cuda_compiler().empty()) GTEST_SKIP() << no_cuda_compiler();
  for (const char* verb : {"check", "emit"}) {
    expect_bad_input({verb, "vector_add", "--templates", user_kernels(), "--arch", "sm_999"}, {"--arch sm_999", "does not compile for it", "sm_90"});
  }
}

TEST_F(BadInput, CheckOfUnknownCategories) {
  const auto expect_refused = [&](const std::string& only, const std::vector<std::string>& parts) {
    expect_bad_input({"check", "reduce", "--templates", TUNEBOOK_SOURCE_DIR "/templates", "--arch", "cpu", "--only", only}, parts);
  };
  expect_refused("dtype=f99", {"--only dtype=f99", "reduce's dtype is one of f32, f16, bf16, f64, i32"});
  expect_refused("type=f32", {"--only type=f32", "found no category \"type\"", "NAME one of operation, dtype"});
  expect_refused("f32", {"found no category \"f32\""});
  expect_refused("n=16", {"found no category \"n\""});
  expect_bad_input({"check", "matmul_tiled", "--templates", user_kernels(), "--arch", "cpu", "--only", "dtype=f32"}, {"it has none"});
  const std::vector<std::string> twice = {"check", "reduce", "--templates", TUNEBOOK_SOURCE_DIR "/templates", "--arch", "cpu", "--only", "dtype=f16", "--only", "dtype=f32"};
  expect_bad_input(twice, {"--only dtype=f16 --only dtype=f32", "no sample of reduce"});
  expect_bad_input({"check", "reduce", "--templates", TUNEBOOK_SOURCE_DIR "/templates", "--only", "dtype=f16"}, {"without --arch or --device"});
}

TEST_F(BadInput, Shapes) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"16,16", {"found no k", "m,n,k"}},
      {"m=16,k=16", {"found no n"}},
      {"", {"found no m"}},
      {"16,16,16,16", {"found 4 sizes, expected 3 (m,n,k)"}},
      {"0,16,16", {"m: found 0, expected an integer from 1"}},
      {"16,-4,16", {"n: found -4, expected an integer from 1"}},
      {"16,16,1000000000000", {"k: found 1000000000000, expected an integer from 1"}},
      {"16,16,99999999999999999999", {"99999999999999999999"}},
      {"16,16,sixteen", {"\"sixteen\""}},
      {"16,16,1.5", {"1.5"}},
      {"m=16,n=16,k=16,k=17", {"k: given twice"}},
      {"m=16,n=16,k=16,q=17", {"unknown dimension \"q\"", "m, n, k"}},
      {"m=16,n=16,k=16,dtype=f32", {"unknown dimension \"dtype\""}},
  };
  for (const auto& [shape, parts] : cases) {
    expect_bad_input(tune({"--shape", shape}), parts);
    expect_bad_input({"best", "matmul_tiled", "--templates", user_kernels(), "--shape", shape, "--device", "cpu"}, parts);
  }
}

TEST_F(BadInput, ShapesTooLargeForTheKernel) {
  expect_bad_input(tune({"--shape", "68719476736,68719476736,1"}), {"68719476736 * 68719476736 does not fit into 64 bits"});
  expect_bad_input(tune({"--shape", "68719476736,1,1"}), {"/arguments 'm'/value", "gives 68719476736", "i32 cannot hold"});
}

TEST_F(BadInput, Budgets) {
  for (const char* budget : {"0", "-1", "0%", "-5%", "0s", "101%", "1000%", "junk", "", "10%%", "5 apples", "nan%", "inf", "0x10", "99999999999999999999"}) {
    expect_bad_input(tune({"--budget", budget}), {"--budget \"" + std::string(budget) + "\"", "a number of trials (200)"});
  }
}

TEST_F(BadInput, Devices) {
  expect_bad_input({"tune", "matmul_tiled", "--templates", user_kernels(), "--shape", "16,16,16", "--device", "cuda:99"},
                   {"device cuda:99 cannot be used"});
  for (const char* device : {"foo", "cuda:-1", "cuda:x", "cuda:99999999999", "cpu:3", "replay:", "CPU"}) {
    expect_bad_input({"tune", "matmul_tiled", "--templates", user_kernels(), "--shape", "16,16,16", "--device", device},
                     {"device '" + std::string(device) + "'", "cuda:N, cpu or replay:PATH", "tunebook devices"});
  }
  expect_bad_input({"tune", "synthetic", "--device", "replay:/nowhere"}, {"/nowhere"});
  expect_bad_input({"best", "matmul_tiled", "--templates", user_kernels(), "--shape", "16,16,16", "--device", "cuda:99"},
                   {"cuda:99", "--gpu NAME"});
}

// What others can write to would be code that they can change.
TEST_F(BadInput, CachesOfOthers) {
  std::filesystem::create_directory(folder() / "open");
  std::filesystem::permissions(folder() / "open", std::filesystem::perms::all);
  set_environment("TUNEBOOK_CACHE", (folder() / "open").string());
  expect_bad_input(tune({}), {"device cpu cannot be used", (folder() / "open").string(), "chmod 700"});
}

TEST_F(BadInput, BookPaths) {
  const std::string text = write("notes.txt", std::string(5000, 'x')).string();
  for (const char* verb : {"tune", "best"}) {
    const std::vector<std::string> words = {verb, "vector_add", "--templates", user_kernels(), "--shape", "1000", "--device", "cpu", "--book"};
    const auto with = [&](const std::string& path) {
      std::vector<std::string> all = words;
      all.push_back(path);
      return all;
    };
    expect_bad_input(with(text + "/book.db"), {text + "/book.db"});
    expect_bad_input(with(text), {text, "no SQLite database"});
    expect_bad_input(with(folder().string()), {folder().string()});
    expect_bad_input(with("/dev/null"), {"/dev/null"});
  }
  EXPECT_EQ(read_file(text), std::string(5000, 'x'));
}

TEST_F(BadInput, ANewerBook) {
  // The version is a big-endian number at byte 60 of a SQLite file.
  const std::vector<std::string> tune_words = {"tune", "vector_add", "--templates", user_kernels(), "--shape", "1000", "--device", "cpu",
                                               "--budget", "1", "--finalists", "0", "--book"};
  std::vector<std::string> make = tune_words;
  const std::string newer = (folder() / "newer.db").string();
  make.push_back(newer);
  ASSERT_EQ(run(make).exit_code, 0);
  std::string bytes = read_file(newer);
  bytes[62] = '\1';
  write("newer.db", bytes);
  expect_bad_input(make, {newer, "version", "use a newer Tunebook"});
  expect_bad_input({"best", "vector_add", "--templates", user_kernels(), "--shape", "1000", "--device", "cpu", "--book", newer},
                   {newer, "version", "use a newer Tunebook"});
  EXPECT_EQ(read_file(newer), bytes);
}

TEST_F(BadInput, Configurations) {
  const auto words = [&](const std::string& option, const std::string& value) {
    return std::vector<std::string>{"run", "matmul_tiled", "--templates", user_kernels(), "--shape", "16,16,16", "--device", "cpu", option, value};
  };
  expect_bad_input(words("--preset", "defalt"), {"no preset 'defalt'", "did you mean 'default'?", "unpadded"});
  expect_bad_input(words("--config", "TILE_SIZE=5,PADDING=1"), {"TILE_SIZE: found \"5\", expected one of 4, 8, 16, 32"});
  expect_bad_input(words("--config", "TILE_SIZE=8"), {"found no PADDING"});
  expect_bad_input(words("--config", "TILE_SIZE=8,PADDING=1,TILE_SIZ=8"), {"unknown parameter \"TILE_SIZ\"", "did you mean \"TILE_SIZE\"?"});
  expect_bad_input(words("--config", "TILE_SIZE=8,PADDING=1,PADDING"), {"\"PADDING\"", "PARAMETER=VALUE"});
  expect_bad_input({"run", "matmul_tiled", "--templates", user_kernels(), "--device", "replay:x"}, {"run needs a device that runs kernels"});
}

TEST_F(BadInput, Architectures) {
  for (const char* arch : {"sm_9", "sm_9000", "sm90", "compute_90", "sm_90A", "CPU"}) {
    expect_bad_input({"check", "vector_add", "--templates", user_kernels(), "--arch", arch}, {"--arch '", "sm_90a or cpu"});
  }
  expect_bad_input({"check", "vector_add", "--templates", user_kernels(), "--arch", "cpu,sm_x"}, {"--arch 'sm_x'"});
  expect_bad_input({"emit", "vector_add", "--templates", user_kernels(), "--arch", "sm_x"}, {"--arch 'sm_x'"});
  expect_bad_input({"check", "vector_add", "--templates", user_kernels(), "--device", "replay:x"}, {"check needs a device that runs kernels"});
}

// The kernel is known to the book only, so the book's declaration decides.
TEST_F(BadInput, BestOfAKernelWithoutATemplate) {
  const std::string known = (folder() / "known.db").string();
  ASSERT_EQ(run({"tune", "vector_add", "--templates", user_kernels(), "--shape", "1000", "--device", "cpu", "--budget", "1",
                 "--finalists", "0", "--book", known}).exit_code, 0);
  const auto best = [&](const std::string& shape) {
    return std::vector<std::string>{"best", "vector_add", "--shape", shape, "--device", "cpu", "--book", known};
  };
  EXPECT_EQ(run(best("n=1000")).exit_code, 0);
  expect_bad_input(best("n=1000,q=3"), {"vector_add", "no problem dimension q"});
  expect_bad_input(best("q=3"), {"lacks the size n"});
  expect_bad_input(best("n=0"), {"n: found ", "expected an integer from 1"});
  expect_bad_input(best("1000"), {"sizes need their names"});
}

TEST_F(BadInput, CommandLines) {
  expect_bad_input(tune({"--strategy", "exhaustiv"}), {"unknown strategy \"exhaustiv\"", "did you mean \"exhaustive\"?"});
  expect_bad_input({"tun", "matmul_tiled"}, {"unknown verb 'tun'", "did you mean 'tune'?", "tunebook --help"});
  expect_bad_input({}, {"no verb given", "devices, calibrate, list", "tunebook --help"});
  expect_bad_input({""}, {"unknown verb ''"});
  expect_bad_input({"--jsn"}, {"unknown option '--jsn'"});
  expect_bad_input(tune({"--sede", "3"}), {"unknown option '--sede'", "did you mean '--seed'?", "tunebook tune --help"});
  expect_bad_input(tune({"--sede=3"}), {"unknown option '--sede'", "did you mean '--seed'?"});
  expect_bad_input(tune({"16"}), {"'16' is one argument too many"});
  expect_bad_input(tune({"--seed", "x"}), {"--seed"});
  expect_bad_input(tune({"--seed"}), {"--seed"});
  expect_bad_input(tune({"--finalists", "-3"}), {"--finalists"});
  expect_bad_input(tune({"--seed", "-1"}), {"--seed: '-1' is no integer from 0"});
  expect_bad_input(tune({"--seed", "18446744073709551616"}), {"--seed"});
  for (const char* seconds : {"0", "-1", "nan", "inf", "1e300", "x", ""}) {
    expect_bad_input(tune({"--run-timeout", seconds}), {"--run-timeout: '" + std::string(seconds) + "' is no number of seconds"});
  }
  expect_bad_input({"tune"}, {"kernel"});
  expect_bad_input({"best", "matmul_tiled", "--templates", user_kernels()}, {"--shape"});
}

TEST_F(BadInput, TemplatesAndSpaceFiles) {
  expect_bad_input({"list", "--templates", "/nowhere"}, {"--templates /nowhere: no such folder"});
  expect_bad_input({"space", "/nowhere/space.json"}, {"/nowhere/space.json: no such file"});
  const std::string file = write("space.json", R"({"parameters": {"A": [1, 2]}, "constraints": ["B > 1"]})").string();
  expect_bad_input({"space", file}, {file, "unknown name 'B'"});
  expect_bad_input({"check", "--templates", kernels_with("\"summary\"", "\"sumary\""), "vector_add"}, {"did you mean \"summary\"?"});
}

}  // namespace
}  // namespace tunebook::test
