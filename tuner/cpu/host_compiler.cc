#include "cpu/host_compiler.h"

#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "worker/child_process.h"

namespace tunebook {
namespace {

std::map<std::string, std::string> parse_macros(const std::string& text) {
  std::map<std::string, std::string> macros;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string define, name, value;
    words >> define >> name;
    std::getline(words >> std::ws, value);
    if (define == "#define") macros[name] = value;
  }
  return macros;
}

std::string instruction_set_of(const std::map<std::string, std::string>& macros) {
  if (macros.contains("__aarch64__")) return "aarch64";
  if (!macros.contains("__x86_64__")) return "unknown";
  if (macros.contains("__AVX512F__") && macros.contains("__AVX512BW__") && macros.contains("__AVX512VL__"))
    return "x86-64 avx512";
  if (macros.contains("__AVX2__") && macros.contains("__FMA__")) return "x86-64 avx2";
  if (macros.contains("__AVX__")) return "x86-64 avx";
  return "x86-64 sse2";
}

// Nothing if there is no such program or it is not a C++ compiler.
std::optional<HostCompiler> probe(const std::string& path) {
  ChildResult result;
  try {
    result = run_child({path, "-march=native", "-dM", "-E", "-x", "c++", "/dev/null"}, {"LC_ALL=C"});
  } catch (const EnvironmentError&) {
    return std::nullopt;
  }
  if (result.exit_code != 0) return std::nullopt;
  std::map<std::string, std::string> macros = parse_macros(result.output);
  if (!macros.contains("__GNUC__")) return std::nullopt;

  HostCompiler compiler;
  compiler.path = path;
  compiler.is_clang = macros.contains("__clang__");
  compiler.identity =
      compiler.is_clang ? fmt::format("clang {}.{}.{}", macros["__clang_major__"], macros["__clang_minor__"],
                                      macros["__clang_patchlevel__"])
                        : fmt::format("gcc {}.{}.{}", macros["__GNUC__"], macros["__GNUC_MINOR__"], macros["__GNUC_PATCHLEVEL__"]);
  compiler.instruction_set = instruction_set_of(macros);
  compiler.fingerprint = content_hash(result.output);
  return compiler;
}

}  // namespace

std::vector<std::string> HostCompiler::options() const {
  std::vector<std::string> options = {
      "-O3", "-march=native", "-ffp-contract=fast",
      // CUDA has neither errno nor trapping arithmetic; without them sqrt and rounding become vector instructions.
      "-fno-math-errno", "-fno-trapping-math",
      // Kernels reinterpret memory (int4 loads from half arrays), which the CUDA compiler lets pass.
      "-fno-strict-aliasing", "-w", "-fPIC", "-shared", "-fvisibility=hidden",
      // Unused functions are dropped, so that PTX in them does not count.
      "-ffunction-sections", "-Wl,--gc-sections", "-Wl,--as-needed", "-Wl,--build-id=none"};
  if (is_clang) {
    options.insert(options.end(), {"-ferror-limit=20", "-fno-caret-diagnostics", "-fbracket-depth=1024"});
  } else {
    // Unique symbols would bind a reloaded kernel to the code of one that was unloaded before.
    options.insert(options.end(), {"-fno-gnu-unique", "-fmax-errors=20", "-fno-diagnostics-show-caret"});
  }
  return options;
}

HostCompiler find_host_compiler() {
  const char* const chosen = std::getenv("TUNEBOOK_HOST_COMPILER");
  if (chosen != nullptr && *chosen != '\0') {
    if (std::optional<HostCompiler> compiler = probe(chosen)) return *compiler;
    throw EnvironmentError(fmt::format(
        "TUNEBOOK_HOST_COMPILER is \"{}\", which is not a working clang++ or g++; correct it or unset it", chosen));
  }
  for (const char* name : {"clang++", "g++", "c++"}) {
    if (std::optional<HostCompiler> compiler = probe(name)) return *compiler;
  }
  throw EnvironmentError(
      "no C++ compiler found for the cpu device: install clang (or g++), or name one in TUNEBOOK_HOST_COMPILER");
}

}  // namespace tunebook
