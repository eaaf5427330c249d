#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nvrtc.h>

namespace tunebook {

// NVRTC, opened at run time: the runner, which is the same program, then starts without its 100 MB, and a machine
// without it gets a message instead of a loader error. Stays open for the life of the process.
class NvrtcLibrary {
 public:
  // Looks in the loader's path (the program's RPATH names the toolkit it was built with), then under $CUDA_HOME, $CUDA_PATH and
  // /usr/local/cuda. Throws EnvironmentError if there is none, naming what was tried.
  NvrtcLibrary();

  std::string version() const;   // "13.0"
  // What distinguishes builds of one version: file name with all links resolved, and size.
  std::string identity() const;
  const std::filesystem::path& file() const { return file_; }

  // Folders for -I: the toolkit's include folder beside this NVRTC (else that of $CUDA_HOME, $CUDA_PATH, /usr/local/cuda), and
  // its cccl folder. Empty if there is none: kernels that include no toolkit header still compile.
  std::vector<std::filesystem::path> include_folders() const;

  decltype(&nvrtcVersion) get_version = nullptr;
  decltype(&nvrtcGetErrorString) error_string = nullptr;
  decltype(&nvrtcCreateProgram) create_program = nullptr;
  decltype(&nvrtcDestroyProgram) destroy_program = nullptr;
  decltype(&nvrtcCompileProgram) compile_program = nullptr;
  decltype(&nvrtcAddNameExpression) add_name_expression = nullptr;
  decltype(&nvrtcGetLoweredName) lowered_name = nullptr;
  decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&nvrtcGetCUBIN) cubin = nullptr;
  decltype(&nvrtcGetPTXSize) ptx_size = nullptr;
  decltype(&nvrtcGetPTX) ptx = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;

 private:
  std::filesystem::path file_;
};

}  // namespace tunebook
