// launch_consumer TEMPLATES: compiles matmul for an architecture by the installed library, and prints what it got.

#include <cstdint>
#include <cstdio>
#include <stdexcept>

#include <tunebook/launch.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  tunebook::LaunchOptions options;
  options.templates = {argv[1]};
  options.architecture = "sm_90";
  try {
    tunebook::Launcher launcher(options);
    const tunebook::Cubin cubin =
        launcher.cubin("matmul", {{"m", std::int64_t{64}}, {"n", std::int64_t{64}}, {"k", std::int64_t{64}}});
    std::printf("%s %s %d\n", tunebook::tier_name(cubin.about.tier), cubin.about.architecture.c_str(), cubin.about.cached);
    launcher.cubin("nonsense", {});
  } catch (const std::invalid_argument& error) {  // crosses the library
    std::printf("%.25s\n", error.what());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}
