#pragma once

#include <string>
#include <vector>

namespace tunebook::baselines {

// A library opened at run time, for the life of the process: what a library leaves behind (threads, contexts) outlives its last use.
class DynamicLibrary {
 public:
  // Tries the names, in order, in: the folders of $TUNEBOOK_LIBRARY_PATH (a list; of each also its lib and nvidia/*/lib, so that a
  // Python's site-packages can be named), the loader's own path, $CUDA_HOME, $CUDA_PATH and /usr/local/cuda, the site-packages of
  // $VIRTUAL_ENV. Throws Unavailable saying what was looked for and what to do.
  DynamicLibrary(const std::string& what, const std::vector<std::string>& names);

  // Throws Unavailable if the library lacks the function: it is too old.
  void* symbol(const char* name) const;
  template <typename Function>
  void resolve(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(symbol(name));
  }
  // Where it lies, as the loader says.
  std::string file_of(const void* function) const;

 private:
  std::string what_;
  void* handle_ = nullptr;
};

}  // namespace tunebook::baselines
