#include "kernel_fixture.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/random.h"

namespace tunebook::test {
namespace {

// Removed when the program ends.
class CacheFolder {
 public:
  CacheFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tunebook-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
    ::setenv("TUNEBOOK_CACHE", path_.c_str(), 1);
  }
  ~CacheFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

 private:
  std::filesystem::path path_;
};

}  // namespace

CpuCompiler& compiler() {
  static const CacheFolder folder;
  static CpuCompiler instance;
  return instance;
}

CompileRequest compile_request(const std::string& source, const std::string& name_expression,
                               std::vector<std::pair<std::string, std::string>> defines) {
  CompileRequest request;
  request.id = 1;
  request.arch = "cpu";
  request.source.file = "kernel.cu";
  request.source.text = source;
  request.instantiation.entry = name_expression.substr(0, name_expression.find('<'));
  request.instantiation.name_expression = name_expression;
  request.instantiation.defines = std::move(defines);
  return request;
}

std::string compile(const std::string& source, const std::string& name_expression,
                    std::vector<std::pair<std::string, std::string>> defines) {
  const CompileReply reply = compiler().compile(compile_request(source, name_expression, std::move(defines)));
  EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
  return reply.artifact;
}

LaunchShape shape(std::array<std::int64_t, 3> grid, std::array<std::int64_t, 3> block, std::int64_t shared_bytes) {
  LaunchShape result;
  result.grid = grid;
  result.block = block;
  result.shared_bytes = shared_bytes;
  return result;
}

std::vector<float> small_integers(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.below(9)) - 4.0f;
  return values;
}

}  // namespace tunebook::test
