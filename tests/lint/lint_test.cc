// Each rule finds its planted case, with place and remedy, and says nothing of the twin.
#include "session/lint.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../cli/cli_support.h"

namespace tunebook::test {
namespace {

namespace fs = std::filesystem;

fs::path planted(const std::string& kind) { return fs::path(TUNEBOOK_SOURCE_DIR) / "tests/lint" / kind; }

std::vector<std::string> failures(const LintAnswer& answer) {
  std::vector<std::string> lines;
  for (const LintFinding& finding : answer.findings) {
    if (finding.failure) lines.push_back(finding.line());
  }
  return lines;
}

struct Case {
  std::string rule;               // and name of the template
  std::vector<std::string> parts; // of the message
};

class Declared : public testing::TestWithParam<Case> {};

TEST_P(Declared, IsFoundAndItsTwinIsClean) {
  const auto [rule, parts] = GetParam();
  const LintAnswer answer = lint_declaration(load_template(planted("faulty") / rule));
  ASSERT_EQ(failures(answer).size(), 1U);
  EXPECT_EQ(answer.findings.front().rule, rule);
  EXPECT_FALSE(answer.findings.front().remedy.empty());
  const std::string line = failures(answer).front();
  EXPECT_EQ(line.find('\n'), std::string::npos);
  for (const std::string& part : parts) EXPECT_NE(line.find(part), std::string::npos) << line;
  EXPECT_EQ(failures(lint_declaration(load_template(planted("clean") / rule))), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Rules, Declared,
                         testing::Values(Case{"launch_bounds", {"kernel.cu:5: ", "BLOCK=256", "256 threads", "allow 128", "1 of 3"}},
                                         Case{"unused_parameter", {"kernel.cu:2: ", "unused_parameter does not use its template argument ITEMS"}},
                                         Case{"constraint", {"kernel.json: /constraints/0: ", "\"BLOCK <= 1024\" removes nothing"}},
                                         Case{"preset", {"kernel.json: /presets/large: ", "BLOCK=512", "/constraints/0"}}),
                         [](const auto& test) { return test.param.rule; });

// A template of one's own, from the clean one by replacing a text in one of its files.
class Varied : public CliTest {
 protected:
  KernelTemplate varied(const std::string& rule, const std::string& file, const std::string& from, const std::string& to) {
    const fs::path copy = folder() / "varied" / rule;
    fs::remove_all(copy);
    fs::create_directories(copy.parent_path());
    fs::copy(planted("clean") / rule, copy);
    std::ifstream in(copy / file);
    std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    std::ofstream(copy / file) << text;
    return load_template(copy);
  }
};

TEST_F(Varied, AParameterThatIsNotInstantiated) {
  const KernelTemplate kernel = varied("unused_parameter", "kernel.json", "\"instantiate\": [\"BLOCK\", \"ITEMS\"]", "\"instantiate\": [\"BLOCK\"]");
  const auto lines = failures(lint_declaration(kernel));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("/parameters/ITEMS: nothing uses it"), std::string::npos) << lines[0];
}

TEST_F(Varied, AParameterThatOnlyTheLaunchUses) {
  const KernelTemplate kernel =
      varied("unused_parameter", "kernel.json", "\"launch\": {\"block\": [\"BLOCK\"], \"grid\": [\"min(ceil_div(n, BLOCK), 64)\"]}",
             "\"launch\": {\"block\": [\"BLOCK\"], \"grid\": [\"min(ceil_div(n, BLOCK), 64 * ITEMS)\"]}");
  EXPECT_EQ(failures(lint_declaration(kernel)), std::vector<std::string>());
}

TEST_F(Varied, AMacroThatTheSourceDoesNotMention) {
  const KernelTemplate macros = load_template(fs::path(TUNEBOOK_SOURCE_DIR) / "tests/data/user_kernels/vector_add");
  EXPECT_EQ(failures(lint_declaration(macros)), std::vector<std::string>());
}

TEST_F(Varied, AConstraintThatOthersImplyIsNoFailure) {
  const KernelTemplate kernel = varied("constraint", "kernel.json", "\"BLOCK <= 256\"", "\"BLOCK <= 256\", \"BLOCK < 300\"");
  const LintAnswer answer = lint_declaration(kernel);
  EXPECT_EQ(failures(answer), std::vector<std::string>());
  ASSERT_EQ(answer.findings.size(), 2U);
  EXPECT_NE(answer.findings[1].line().find("the other constraints imply it"), std::string::npos);
}

// What holds at the default sizes may be there for others.
TEST_F(Varied, AConstraintForSizesThatAreNotTheDefault) {
  for (const char* constraint : {"n % 2 == 0 or BLOCK <= 256", "n < 2**30 or BLOCK >= 128", "n * BLOCK < 2**40"}) {
    const KernelTemplate kernel = varied("constraint", "kernel.json", "\"BLOCK <= 256\"", "\"" + std::string(constraint) + "\"");
    EXPECT_EQ(failures(lint_declaration(kernel)), std::vector<std::string>()) << constraint;
  }
  const KernelTemplate limit = varied("constraint", "kernel.json", "\"BLOCK <= 256\"", "\"BLOCK <= device.max_threads_per_block\"");
  EXPECT_EQ(failures(lint_declaration(limit)), std::vector<std::string>());
}

TEST_F(Varied, LaunchBoundsThatOnlyACompilerKnows) {
  const LintAnswer answer = lint_declaration(load_template(planted("faulty") / "compiled_bounds"));
  EXPECT_EQ(failures(answer), std::vector<std::string>());
  EXPECT_EQ(answer.unread_bounds, std::vector<std::string>{"compiled_bounds"});
}

TEST(PtxThreadBound, OfTheEntryThatIsMeant) {
  const std::string ptx = R"(
.visible .entry _Z6kernelPf(
	.param .u64 _Z6kernelPf_param_0
)
.maxntid 32, 4, 2
.minnctapersm 2
{
	ret;
}
.visible .entry _Z7kernel2Pf(
	.param .u64 .ptr .align 1 _Z7kernel2Pf_param_0
)
{
	ret;
}
.visible .entry _Z7kernel3Pf()
.maxntid 128
{
)";
  EXPECT_EQ(ptx_thread_bound(ptx, "_Z6kernelPf"), 256);
  EXPECT_EQ(ptx_thread_bound(ptx, "_Z7kernel2Pf"), 0);
  EXPECT_EQ(ptx_thread_bound(ptx, "_Z7kernel3Pf"), 128);
  EXPECT_EQ(ptx_thread_bound(ptx, "_Z6kernel"), 0);
  EXPECT_EQ(ptx_thread_bound("", "_Z6kernelPf"), 0);
}

// The program as users meet it.
class LintVerb : public CliTest {
 protected:
  nlohmann::ordered_json check(const std::string& kind, const std::string& kernel, const std::vector<std::string>& further, int exit_code) {
    std::vector<std::string> words = {"check", kernel, "--templates", planted(kind).string(), "--samples", "2", "--json"};
    words.insert(words.end(), further.begin(), further.end());
    const ProgramResult result = run(words, 300);
    EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
    return parse_one_line(result.out);
  }
  static std::vector<std::string> rules(const nlohmann::ordered_json& answer) {
    std::vector<std::string> all;
    for (const auto& finding : answer["lint"]) all.push_back(finding["rule"]);
    return all;
  }
};

TEST_F(LintVerb, ReadsPastTheEnd) {
  const auto faulty = check("faulty", "bounds", {"--device", "cpu"}, 3);
  ASSERT_FALSE(faulty["lint"].empty()) << faulty.dump();
  const std::string message = faulty["lint"][0]["message"];
  EXPECT_EQ(faulty["lint"][0]["rule"], "bounds");
#ifdef TUNEBOOK_SANITIZED
  // A worker that is itself built with AddressSanitizer meets the guard page, which knows no line.
  EXPECT_NE(message.find("access outside buffer 'x'"), std::string::npos) << message;
#else
  EXPECT_NE(message.find("kernel.cu:5"), std::string::npos) << message;
#endif
  EXPECT_TRUE(check("clean", "bounds", {"--device", "cpu"}, 0)["lint"].empty());
}

// A configuration that is for large sizes alone is run on one of them, made ragged.
TEST_F(LintVerb, WhatIsOnlyForLargeSizes) {
  fs::create_directories(folder() / "large");
  fs::copy(planted("faulty") / "bounds", folder() / "large/bounds");
  const auto replace = [&](const char* file, const std::string& from, const std::string& to) {
    const fs::path path = folder() / "large/bounds" / file;
    std::string text = read_file(path);
    ASSERT_NE(text.find(from), std::string::npos);
    std::ofstream(path) << text.replace(text.find(from), from.size(), to);
  };
  replace("kernel.cu", "  const float value", "  if (BLOCK == 128 && index >= n) return;\n  const float value");
  replace("kernel.json", "\"constraints\": []", "\"constraints\": [\"BLOCK == 128 or n > 60000\"]");
  replace("kernel.json", "\"presets\": {", "\"presets\": {\"large\": {\"BLOCK\": 256}, ");
  const ProgramResult result = run({"check", "bounds", "--templates", (folder() / "large").string(), "--device", "cpu", "--samples", "0", "--json"}, 300);
  EXPECT_EQ(result.exit_code, 3) << result.out << result.err;
  const auto answer = parse_one_line(result.out);
  ASSERT_EQ(answer["lint"].size(), 1U) << answer.dump();
  const std::string message = answer["lint"][0]["message"];
  EXPECT_TRUE(message.starts_with("preset large: ")) << message;
  EXPECT_NE(message.find("n=655"), std::string::npos) << message;
}

TEST_F(LintVerb, UnalignedVectors) {
  const auto faulty = check("faulty", "alignment", {"--device", "cpu"}, 3);
  ASSERT_FALSE(faulty["lint"].empty()) << faulty.dump();
  const std::string message = faulty["lint"][0]["message"];
  EXPECT_EQ(faulty["lint"][0]["rule"], "alignment");
  EXPECT_NE(message.find("kernel.cu:1"), std::string::npos) << message;
  EXPECT_NE(message.find("vector"), std::string::npos) << message;
  EXPECT_TRUE(check("clean", "alignment", {"--device", "cpu"}, 0)["lint"].empty());
}

TEST_F(LintVerb, TheOtherTwinsRunClean) {
  for (const char* kernel : {"launch_bounds", "unused_parameter", "constraint", "preset"}) {
    const auto clean = check("clean", kernel, {"--device", "cpu"}, 0);
    EXPECT_TRUE(clean["lint"].empty()) << clean.dump();
    EXPECT_EQ(rules(check("faulty", kernel, {}, 3)), std::vector<std::string>{kernel});
  }
}

TEST_F(LintVerb, CompiledLaunchBounds) {
  if (!no_cuda_compiler().empty()) GTEST_SKIP() << no_cuda_compiler();
  const auto faulty = check("faulty", "compiled_bounds", {"--arch", "sm_90"}, 3);
  ASSERT_EQ(rules(faulty), std::vector<std::string>{"launch_bounds"}) << faulty.dump();
  const std::string message = faulty["lint"][0]["message"];
  EXPECT_NE(message.find("128 threads per block, and __launch_bounds__ allow 64"), std::string::npos) << message;
  EXPECT_TRUE(rules(check("clean", "compiled_bounds", {"--arch", "sm_90"}, 0)).empty());
}

}  // namespace
}  // namespace tunebook::test
