#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "cpu/host_compiler.h"
#include "worker/artifact_cache.h"
#include "worker/worker_main.h"

namespace tunebook {

// The function that every compiled kernel exports: void(void** arguments), one call per CUDA thread.
inline constexpr const char* kCpuEntrySymbol = "tunebook_cpu_entry";

// Compiles CUDA C++ to shared objects with the host compiler, through the artifact cache.
class CpuCompiler : public CompilerBackend {
 public:
  // Never throws: what is missing is told by hello().
  CpuCompiler();
  Hello hello() override;
  CompileReply compile(const CompileRequest& request) override;

 private:
  std::string cache_key(const CompileRequest& request) const;

  HostCompiler compiler_;
  std::filesystem::path headers_;
  std::string headers_hash_;
  std::unique_ptr<ArtifactCache> cache_;
  std::string error_;
};

}  // namespace tunebook
