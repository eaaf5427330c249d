#pragma once

#include <string>
#include <vector>

namespace tunebook {

// The C++ compiler that turns kernels into host code.
struct HostCompiler {
  std::string path;             // as started
  std::string identity;         // "clang 14.0.6", "gcc 12.2.0"
  bool is_clang = false;
  std::string instruction_set;  // what -march=native means here, as a level: "x86-64 avx512"
  std::string fingerprint;      // hash of all predefined macros: compiler, version and every CPU feature

  // Options for a kernel, without files and include paths.
  std::vector<std::string> options() const;
};

// $TUNEBOOK_HOST_COMPILER, else the first of clang++, g++, c++ that works. Throws EnvironmentError with the remedy if none does.
HostCompiler find_host_compiler();

}  // namespace tunebook
