#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"
#include "search/space.h"
#include "search/space_file.h"

namespace tunebook::test {

inline Parameter integers(std::string name, std::vector<std::int64_t> values) {
  Parameter parameter;
  parameter.name = std::move(name);
  for (const std::int64_t value : values) parameter.values.emplace_back(value);
  return parameter;
}

// 0, 1, ..., count - 1.
inline Parameter counting(std::string name, std::int64_t count) {
  Parameter parameter;
  parameter.name = std::move(name);
  for (std::int64_t value = 0; value < count; ++value) parameter.values.emplace_back(value);
  return parameter;
}

inline SpaceDefinition define(std::vector<Parameter> parameters, const std::vector<std::string>& constraints = {}) {
  Names names;
  SpaceDefinition definition = define_space(std::move(parameters), {}, names);
  for (const std::string& text : constraints) definition.constraints.push_back(Expression::compile(text, names));
  return definition;
}

inline std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "(no InputError)";
}

// A folder of this test case, removed at its end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    std::string pattern = testing::TempDir() + "tunebook_" + info->test_suite_name() + "_XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp: " + pattern);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream file(path_ / name, std::ios::binary);
    file << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace tunebook::test
