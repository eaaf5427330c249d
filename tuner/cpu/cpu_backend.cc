#include "cpu/cpu_backend.h"

#include <memory>
#include <string>

#include "cpu/cpu_compiler.h"
#include "cpu/cpu_runner.h"

namespace tunebook {

BackendFactory cpu_backend_factory() {
  BackendFactory factory;
  factory.compiler = [] { return std::make_unique<CpuCompiler>(); };
  factory.runner = [](const std::string&) { return std::make_unique<CpuRunner>(); };
  return factory;
}

}  // namespace tunebook
