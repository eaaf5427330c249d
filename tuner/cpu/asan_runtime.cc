#include "cpu/asan_runtime.h"

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string_view>

#include <unistd.h>

#include <fmt/format.h>

#include "cpu/asan_hooks.h"
#include "cpu/host_compiler.h"
#include "worker/child_process.h"

namespace tunebook {
namespace {

constexpr const char* kVariable = "TUNEBOOK_CPU_SANITIZE";
constexpr const char* kLoaded = "TUNEBOOK_CPU_SANITIZE_LOADED";

// Memory faults stay the worker's own business (guard pages), a report ends the process, and what the process did not free is
// of no interest. Stack frames stay on the fibres, where the addresses are what the fibre switches told.
constexpr const char* kAsanOptions =
    "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0:use_sigaltstack=0:allow_user_segv_handler=1:"
    "detect_leaks=0:detect_stack_use_after_return=0:verify_asan_link_order=0:print_legend=0:color=never:exitcode=86";

std::string print(const HostCompiler& compiler, const std::string& what) {
  const ChildResult result = run_child({compiler.path, what}, {"LC_ALL=C"});
  std::string path = result.exit_code == 0 ? result.output : "";
  while (!path.empty() && path.back() == '\n') path.pop_back();
  // A compiler that has no such file answers with the bare name.
  return path.starts_with("/") && std::filesystem::exists(path) ? path : "";
}

std::string runtime_of(const HostCompiler& compiler) {
#if defined(__x86_64__)
  const std::string clang_name = "libclang_rt.asan-x86_64.so";
#else
  const std::string clang_name = "libclang_rt.asan-aarch64.so";
#endif
  return print(compiler, "-print-file-name=" + (compiler.is_clang ? clang_name : std::string("libasan.so")));
}

}  // namespace

bool sanitizer_wanted() {
  const char* value = std::getenv(kVariable);
  return value != nullptr && std::string_view(value) == "address";
}

void load_asan_runtime(char** argv) {
  if (!sanitizer_wanted() || sanitizing()) {
    if (std::getenv(kLoaded) != nullptr) ::unsetenv("LD_PRELOAD");  // not for the programs that this one starts
    return;
  }
  if (std::getenv(kLoaded) != nullptr) return;  // the runtime could not be loaded
  try {
    const HostCompiler compiler = find_host_compiler();
    const std::string runtime = runtime_of(compiler);
    if (runtime.empty()) return;
    const char* others = std::getenv("LD_PRELOAD");
    ::setenv("LD_PRELOAD", (others != nullptr && *others != '\0' ? runtime + ":" + others : runtime).c_str(), 1);
    ::setenv("ASAN_OPTIONS", kAsanOptions, 1);
    ::setenv(kLoaded, "1", 1);
    if (compiler.is_clang) {
      const std::string symbolizer = print(compiler, "-print-prog-name=llvm-symbolizer");
      if (!symbolizer.empty()) ::setenv("ASAN_SYMBOLIZER_PATH", symbolizer.c_str(), 0);
    }
    ::execv("/proc/self/exe", argv);
  } catch (const std::exception&) {
    // Without a compiler there is no kernel either; hello() tells.
  }
}

std::string sanitizer_missing() {
  if (!sanitizer_wanted() || sanitizing()) return "";
  return "the host compiler has no AddressSanitizer runtime (libclang_rt.asan or libasan); install it, with Debian's packages "
         "libclang-rt-dev or libasan8";
}

}  // namespace tunebook
