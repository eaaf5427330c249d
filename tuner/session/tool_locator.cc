#include "session/tool_locator.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

namespace tunebook {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::vector<fs::path> folders_of_path() {
  std::vector<fs::path> folders;
  const std::string path = environment("PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    // An empty entry means the current folder, where nobody expects a tool.
    if (end > begin) folders.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

// Folders directly in `parent` whose name starts with `prefix`, the last by name first: mostly the newest version.
std::vector<fs::path> versions(const fs::path& parent, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with(prefix)) found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

std::vector<fs::path> folders_of_toolkits() {
  std::vector<fs::path> toolkits;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string folder = environment(variable); !folder.empty()) toolkits.emplace_back(folder);
  }
  toolkits.emplace_back("/usr/local/cuda");
  for (const fs::path& toolkit : versions("/usr/local", "cuda-")) toolkits.push_back(toolkit);
  std::vector<fs::path> folders;
  for (const fs::path& toolkit : toolkits) {
    folders.push_back(toolkit / "bin");
    folders.push_back(toolkit / "compute-sanitizer");
    for (const fs::path& nsight : versions(toolkit, "nsight-compute")) folders.push_back(nsight);
  }
  for (const fs::path& nsight : versions("/opt/nvidia/nsight-compute", "")) folders.push_back(nsight);
  return folders;
}

}  // namespace

ToolLocation find_tool(const std::string& name, const char* variable) {
  if (const std::string named = environment(variable); !named.empty()) {
    if (is_program(named)) return {fs::absolute(named).string(), ""};
    return {"", fmt::format("{} is '{}', which is no program; correct it or unset it", variable, named)};
  }
  std::vector<fs::path> folders = folders_of_path();
  for (fs::path& folder : folders_of_toolkits()) folders.push_back(std::move(folder));
  for (const fs::path& folder : folders) {
    if (is_program(folder / name)) return {fs::absolute(folder / name).string(), ""};
  }
  return {"", fmt::format("{} is not installed (looked in PATH, the CUDA toolkit and /opt/nvidia); {} can name it", name, variable)};
}

ToolLocation find_compute_sanitizer() { return find_tool("compute-sanitizer", "TUNEBOOK_COMPUTE_SANITIZER"); }
ToolLocation find_ncu() { return find_tool("ncu", "TUNEBOOK_NCU"); }

}  // namespace tunebook
