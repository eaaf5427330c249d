#include "core/template_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"

namespace tunebook {
namespace {

namespace fs = std::filesystem;

std::string declaration(const std::string& name) {
  return R"json({"tunebook": 1, "kernel": ")json" + name + R"json(", "source": "kernel.cu", "entry": "k", "instantiate": [],
    "problem": {"n": {"default": 100}}, "parameters": {"B": {"values": [32, 64]}}, "presets": {"default": {"B": 32}},
    "launch": {"block": ["B"], "grid": ["ceil_div(n, B)"]}, "arguments": [{"name": "c", "type": "i32*", "count": "n", "access": "out"}],
    "reference": {"source": "reference.cu", "entry": "r", "block": ["32"], "grid": ["ceil_div(n, 32)"]}})json";
}

class TemplateFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(::testing::TempDir()) / (std::string("tunebook_template_folder_") + info->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file, std::ios::binary) << text;
  }
  void write_template(const std::string& folder, const std::string& name) {
    write(fs::path(folder) / "kernel.json", declaration(name));
    write(fs::path(folder) / "kernel.cu", "__global__ void k(int* c) {}\n");
    write(fs::path(folder) / "reference.cu", "__global__ void r(int* c) {}\n");
  }
  std::string load_error(const fs::path& folder) {
    try {
      load_template(root_ / folder);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  fs::path root_;
};

TEST_F(TemplateFolder, LoadsSourcesAndQuotedIncludesRecursively) {
  write_template("a/one", "one");
  write("a/one/kernel.cu", "#include <cstdint>\n#include \"near.h\"\n  #  include \"sub/deep.h\"\n// #include \"commented.h\"\n/* x\n#include \"commented.h\"\n*/\n"
                           "#include \"none.h\"\n#include \"shared.h\"\n");
  write("a/one/near.h", "#include \"shared.h\"\n#include \"near.h\"\n");
  write("a/one/sub/deep.h", "#include \"deeper.h\"\n");
  write("a/one/sub/deeper.h", "// deeper\n");
  write("a/one/commented.h", "");
  write("a/common/shared.h", "// shared\n");
  const KernelTemplate loaded = load_template(root_ / "a" / "one");
  EXPECT_EQ(loaded.spec.name, "one");
  EXPECT_EQ(loaded.kernel.file, "kernel.cu");
  std::vector<std::string> names;
  for (const auto& [name, text] : loaded.kernel.headers) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"near.h", "shared.h", "sub/deep.h", "deeper.h"}));
  EXPECT_EQ(loaded.kernel.headers[1].second, "// shared\n");
  EXPECT_TRUE(loaded.reference.headers.empty());
}

TEST_F(TemplateFolder, OneNameForTwoHeadersIsAnError) {
  write_template("a/one", "one");
  write("a/one/kernel.cu", "#include \"x.h\"\n#include \"sub/y.h\"\n");
  write("a/one/x.h", "1");
  write("a/one/sub/y.h", "#include \"x.h\"\n");
  write("a/one/sub/x.h", "2");
  EXPECT_NE(load_error("a/one").find("\"x.h\" is included both from"), std::string::npos) << load_error("a/one");
}

TEST_F(TemplateFolder, TheHashCoversEveryFileAndTheMeaningOfTheSpec) {
  write_template("a/one", "one");
  write("a/one/kernel.cu", "#include \"x.h\"\n");
  write("a/common/x.h", "1");
  const std::string hash = load_template(root_ / "a/one").hash;
  EXPECT_EQ(load_template(root_ / "a/one").hash, hash);
  write("a/common/x.h", "2");
  EXPECT_NE(load_template(root_ / "a/one").hash, hash);
  write("a/common/x.h", "1");
  write("a/one/unrelated.txt", "x");
  write("a/one/kernel.json", "\n" + declaration("one") + "\n");  // blanks have no meaning
  EXPECT_EQ(load_template(root_ / "a/one").hash, hash);
  write("a/one/reference.cu", "//\n");
  EXPECT_NE(load_template(root_ / "a/one").hash, hash);
}

TEST_F(TemplateFolder, MissingFilesAreNamed) {
  write_template("a/one", "one");
  fs::remove(root_ / "a/one/reference.cu");
  EXPECT_EQ(load_error("a/one"), (root_ / "a/one/reference.cu").string() + ": no such file");
  EXPECT_EQ(load_error("a/two"), (root_ / "a/two/kernel.json").string() + ": no such file");
  write("a/one/kernel.json", "{\"tunebook\": 1,}");
  EXPECT_EQ(load_error("a/one").substr(0, (root_ / "a/one/kernel.json").string().size() + 6), (root_ / "a/one/kernel.json").string() + ":1:16:");
}

TEST_F(TemplateFolder, ABrokenTemplateDoesNotHideTheOthers) {
  write_template("a/one", "one");
  write_template("a/two", "two");
  write("a/three/kernel.json", "{");
  write("a/four/kernel.json", R"({"kernel": "fourth"})");
  write("a/notes/readme.txt", "no template");
  const auto entries = find_templates({root_ / "a"});
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].name, "fourth");
  EXPECT_NE(entries[0].error, "");
  EXPECT_EQ(entries[1].name, "one");
  EXPECT_EQ(entries[1].error, "");
  EXPECT_EQ(entries[2].name, "three");
  EXPECT_NE(entries[2].error.find("kernel.json:1:2: the text ends too early"), std::string::npos) << entries[2].error;
  EXPECT_EQ(entries[3].name, "two");
  EXPECT_EQ(find_template("two", {root_ / "a"}).spec.name, "two");
  EXPECT_THROW(find_template("three", {root_ / "a"}), InputError);
}

TEST_F(TemplateFolder, ABrokenTemplateHidesThatOfALaterPlace) {
  write_template("a/copy", "one");
  write("a/copy/kernel.json", R"({"kernel": "one"})");
  write_template("b/one", "one");
  EXPECT_THROW(find_template("one", {root_ / "a", root_ / "b"}), InputError);
  EXPECT_EQ(find_template("one", {root_ / "b", root_ / "a"}).folder, root_ / "b/one");
  write_template("a/works", "one");
  EXPECT_EQ(find_template("one", {root_ / "a", root_ / "b"}).folder, root_ / "a/works");
}

TEST_F(TemplateFolder, TheFirstOnThePathWins) {
  write_template("a/one", "one");
  write_template("b/uno", "one");
  write_template("b/two", "two");
  EXPECT_EQ(find_template("one", {root_ / "a", root_ / "b"}).folder, root_ / "a/one");
  EXPECT_EQ(find_template("one", {root_ / "b", root_ / "a"}).folder, root_ / "b/uno");
  EXPECT_EQ(find_template("one", {root_ / "none", root_ / "b/uno"}).folder, root_ / "b/uno");  // itself a template folder
  EXPECT_EQ(find_templates({root_ / "a", root_ / "b"}).size(), 2U);
}

TEST_F(TemplateFolder, UnknownKernelsNameTheNearestAndThePlaces) {
  write_template("a/one", "matmul");
  try {
    find_template("matmull", {root_ / "a"});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()), "unknown kernel \"matmull\"; did you mean \"matmul\"?; known: matmul; looked in: " + (root_ / "a").string());
  }
  EXPECT_THROW(find_template("x", {}), InputError);
}

TEST_F(TemplateFolder, SearchPathIsOptionsThenEnvironmentThenDefault) {
  fs::create_directories(root_ / "a");
  ASSERT_EQ(setenv("TUNEBOOK_TEMPLATES", "/x::/y", 1), 0);
  const auto path = template_search_path({(root_ / "a").string()});
  ASSERT_EQ(unsetenv("TUNEBOOK_TEMPLATES"), 0);
  ASSERT_GE(path.size(), 3U);
  EXPECT_EQ(path[0], root_ / "a");
  EXPECT_EQ(path[1], "/x");
  EXPECT_EQ(path[2], "/y");
  EXPECT_EQ(template_search_path({}).size(), path.size() - 3);
  EXPECT_THROW(template_search_path({(root_ / "none").string()}), InputError);
}

// Books beside a template are named in order; they are no part of its identity, and a template without any has none.
TEST_F(TemplateFolder, ShippedBooks) {
  write_template("a/one", "one");
  write_template("a/two", "two");
  const std::string hash = load_template(root_ / "a/one").hash;
  EXPECT_TRUE(shipped_books(root_ / "a/one").empty());
  for (const char* const file : {"b.db", "a.db", "notes.txt"}) write(fs::path("a/one/shipped") / file, "");
  EXPECT_EQ(shipped_books(root_ / "a/one"),
            (std::vector<fs::path>{root_ / "a/one/shipped/a.db", root_ / "a/one/shipped/b.db"}));
  EXPECT_EQ(shipped_books(std::vector<fs::path>{root_ / "a"}),
            (std::vector<std::string>{(root_ / "a/one/shipped/a.db").string(), (root_ / "a/one/shipped/b.db").string()}));
  EXPECT_EQ(load_template(root_ / "a/one").hash, hash);
}

}  // namespace
}  // namespace tunebook
