#include "cuda/nvrtc_library.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.h"

namespace tunebook {
namespace fs = std::filesystem;
namespace {

std::vector<fs::path> toolkit_roots() {
  std::vector<fs::path> roots;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') roots.emplace_back(value);
  }
  roots.emplace_back("/usr/local/cuda");
  return roots;
}

// Names of the library by major version: the one this was built with first; the functions used exist since 11.2.
std::vector<std::string> library_names() {
  const int built_with = CUDART_VERSION / 1000;
  std::vector<std::string> names = {fmt::format("libnvrtc.so.{}", built_with)};
  for (const int other : {14, 13, 12}) {
    if (other != built_with) names.push_back(fmt::format("libnvrtc.so.{}", other));
  }
  return names;
}

void* open_library(std::string& tried) {
  std::vector<std::string> candidates = library_names();
  for (const fs::path& root : toolkit_roots()) {
    for (const std::string& name : library_names()) {
      for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib"}) candidates.push_back((root / folder / name).string());
    }
  }
  for (const std::string& candidate : candidates) {
    if (void* handle = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    // A file that is there and does not load has the more useful message.
    const char* reason = ::dlerror();
    if (tried.empty() && reason != nullptr) tried = reason;
  }
  return nullptr;
}

template <typename Function>
void resolve(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  if (function == nullptr) {
    throw EnvironmentError(fmt::format("the NVRTC found lacks {}: it is too old; install a CUDA toolkit 12.4 or newer", name));
  }
}

}  // namespace

NvrtcLibrary::NvrtcLibrary() {
  std::string tried;
  void* handle = open_library(tried);
  if (handle == nullptr) {
    throw EnvironmentError(fmt::format(
        "no NVRTC (the CUDA run-time compiler) was found: {}; install a CUDA toolkit, or set CUDA_HOME to where one is", tried));
  }
  resolve(handle, "nvrtcVersion", get_version);
  resolve(handle, "nvrtcGetErrorString", error_string);
  resolve(handle, "nvrtcCreateProgram", create_program);
  resolve(handle, "nvrtcDestroyProgram", destroy_program);
  resolve(handle, "nvrtcCompileProgram", compile_program);
  resolve(handle, "nvrtcAddNameExpression", add_name_expression);
  resolve(handle, "nvrtcGetLoweredName", lowered_name);
  resolve(handle, "nvrtcGetCUBINSize", cubin_size);
  resolve(handle, "nvrtcGetCUBIN", cubin);
  resolve(handle, "nvrtcGetPTXSize", ptx_size);
  resolve(handle, "nvrtcGetPTX", ptx);
  resolve(handle, "nvrtcGetProgramLogSize", log_size);
  resolve(handle, "nvrtcGetProgramLog", log);
  Dl_info info = {};
  if (::dladdr(reinterpret_cast<void*>(get_version), &info) != 0 && info.dli_fname != nullptr) {
    std::error_code error;
    file_ = fs::canonical(info.dli_fname, error);
    if (error) file_ = info.dli_fname;
  }
}

std::string NvrtcLibrary::version() const {
  int major = 0, minor = 0;
  get_version(&major, &minor);
  return fmt::format("{}.{}", major, minor);
}

std::string NvrtcLibrary::identity() const {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file_, error);
  return fmt::format("{} {} {}", version(), file_.filename().string(), error ? 0 : bytes);
}

std::vector<fs::path> NvrtcLibrary::include_folders() const {
  const fs::path beside = file_.parent_path();
  // A toolkit (lib, lib64, targets/.../lib), a distribution's /usr/lib/x86_64-linux-gnu, and the pip packages
  // (nvidia/cu13/lib; nvidia/cuda_nvrtc/lib beside nvidia/cuda_runtime/include).
  std::vector<fs::path> candidates = {beside / "../include", beside / "../../include", beside / "../targets/x86_64-linux/include",
                                      beside / "../../cuda_runtime/include"};
  for (const fs::path& root : toolkit_roots()) {
    candidates.push_back(root / "include");
    candidates.push_back(root / "targets/x86_64-linux/include");
  }
  for (const fs::path& candidate : candidates) {
    std::error_code error;
    if (!fs::exists(candidate / "cuda_fp16.h", error)) continue;
    const fs::path include = fs::canonical(candidate, error);
    if (error) continue;
    std::vector<fs::path> folders = {include};
    if (fs::is_directory(include / "cccl", error)) folders.push_back(include / "cccl");
    return folders;
  }
  return {};
}

}  // namespace tunebook
