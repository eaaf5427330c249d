#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>

#include <stdlib.h>  // mkdtemp, setenv

#include <gtest/gtest.h>

namespace tunebook {

// Each test sees one GPU through a fake NVML (fake_nvml.cc), which notes changes of clocks in a file of the test.
class FakeNvmlTest : public ::testing::Test {
 protected:
  static constexpr const char* kPci = "0000:1b:00.0";
  static constexpr const char* kUuid = "GPU-00000000-1111-2222-3333-444444444444";

  FakeNvmlTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tunebook-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    folder_ = pattern;
    ::setenv("TUNEBOOK_NVML", FAKE_NVML_FILE, 1);
    ::setenv("FAKE_NVML_PCI", kPci, 1);
    ::setenv("FAKE_NVML_UUID", kUuid, 1);
    ::setenv("FAKE_NVML_LOG", (folder_ / "log").c_str(), 1);
    for (const char* name : {"FAKE_NVML_REASONS", "FAKE_NVML_MIG", "FAKE_NVML_DENY", "FAKE_NVML_BROKEN"}) ::unsetenv(name);
  }
  ~FakeNvmlTest() override {
    ::unsetenv("TUNEBOOK_NVML");  // tests behind this one may use the real one
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string log() const {
    std::ifstream file(folder_ / "log");
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace tunebook
