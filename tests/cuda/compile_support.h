#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <stdlib.h>  // mkdtemp

#include "cuda/cuda_backend.h"

namespace tunebook {

// A cache of this test alone, removed at its end.
class PrivateCache {
 public:
  PrivateCache() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tunebook-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    folder_ = pattern;
    ::setenv("TUNEBOOK_CACHE", (folder_ / "cache").c_str(), 1);
    ::unsetenv("TUNEBOOK_CACHE_MIB");
  }
  ~PrivateCache() {
    std::error_code ignored;
    std::filesystem::permissions(folder_ / "cache", std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(folder_, ignored);
  }
  PrivateCache(const PrivateCache&) = delete;
  PrivateCache& operator=(const PrivateCache&) = delete;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

inline CompileRequest compile_request(std::string text, std::string entry, std::string arch = "sm_90") {
  CompileRequest request;
  request.id = 7;
  request.source.file = "kernel.cu";
  request.source.text = std::move(text);
  request.instantiation.name_expression = entry;
  request.instantiation.entry = entry.substr(0, entry.find('<'));
  request.arch = std::move(arch);
  return request;
}

}  // namespace tunebook
