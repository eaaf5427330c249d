#pragma once

#include <string>
#include <vector>

namespace tunebook {

// What the CUDA worker of this installation can compare with.
struct BaselineListing {
  bool module = false;             // it was found and loads
  std::vector<std::string> lines;  // where it lies and which libraries it finds, one each; else why not
};

// Asks the worker program, which ends right after; takes up to some seconds, because the libraries are opened.
BaselineListing list_baselines();

}  // namespace tunebook
