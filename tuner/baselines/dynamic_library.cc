#include "baselines/dynamic_library.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <dlfcn.h>

#include "baselines/operation.h"

namespace tunebook::baselines {
namespace fs = std::filesystem;
namespace {

void add_folder(std::vector<fs::path>& folders, const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) folders.push_back(folder);
}

// The folders of pip's packages below a site-packages: nvidia/cudnn/lib, nvidia/cu13/lib.
void add_python_packages(std::vector<fs::path>& folders, const fs::path& site_packages) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(site_packages / "nvidia", error)) add_folder(found, entry.path() / "lib");
  std::sort(found.begin(), found.end());
  folders.insert(folders.end(), found.begin(), found.end());
}

std::vector<fs::path> named_folders() {
  std::vector<fs::path> folders;
  const char* list = std::getenv("TUNEBOOK_LIBRARY_PATH");
  const std::string text = list == nullptr ? "" : list;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(':', start), text.size());
    if (end > start) {
      const fs::path folder = text.substr(start, end - start);
      add_folder(folders, folder);
      add_folder(folders, folder / "lib");
      add_python_packages(folders, folder);
    }
    start = end + 1;
  }
  return folders;
}

std::vector<fs::path> usual_folders() {
  std::vector<fs::path> folders;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* root = std::getenv(name);
    if (root == nullptr || *root == '\0') continue;
    for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib"}) add_folder(folders, fs::path(root) / folder);
  }
  for (const char* folder : {"lib64", "targets/x86_64-linux/lib"}) add_folder(folders, fs::path("/usr/local/cuda") / folder);
  if (const char* environment = std::getenv("VIRTUAL_ENV"); environment != nullptr && *environment != '\0') {
    std::error_code error;
    for (const auto& python : fs::directory_iterator(fs::path(environment) / "lib", error)) {
      add_python_packages(folders, python.path() / "site-packages");
    }
  }
  return folders;
}

}  // namespace

DynamicLibrary::DynamicLibrary(const std::string& what, const std::vector<std::string>& names) : what_(what) {
  std::vector<std::string> candidates;
  const auto add = [&](const std::vector<fs::path>& folders) {
    for (const fs::path& folder : folders) {
      for (const std::string& name : names) candidates.push_back((folder / name).string());
    }
  };
  add(named_folders());
  candidates.insert(candidates.end(), names.begin(), names.end());  // the loader's path
  add(usual_folders());
  std::string reason;
  for (const std::string& candidate : candidates) {
    handle_ = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    const char* said = ::dlerror();
    // A file that is there and does not load has the more useful message.
    std::error_code error;
    if (said != nullptr && (reason.empty() || fs::exists(candidate, error))) reason = said;
  }
  throw Unavailable("no " + what + " was found (" + reason + "); install it, or name its folder in $TUNEBOOK_LIBRARY_PATH");
}

void* DynamicLibrary::symbol(const char* name) const {
  void* function = ::dlsym(handle_, name);
  if (function == nullptr) throw Unavailable("the " + what_ + " found lacks " + name + ": it is too old");
  return function;
}

std::string DynamicLibrary::file_of(const void* function) const {
  Dl_info info = {};
  if (::dladdr(function, &info) == 0 || info.dli_fname == nullptr) return "";
  return info.dli_fname;
}

}  // namespace tunebook::baselines
