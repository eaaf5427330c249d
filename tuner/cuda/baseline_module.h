#pragma once

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "baselines/baseline_abi.h"

namespace tunebook {

// There is no module, no library, or it has nothing for this operation; what() says what to do.
class BaselineUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// libtunebook-baselines.so, opened at run time; stays open for the life of the process.
class BaselineModule {
 public:
  // $TUNEBOOK_BASELINES (the file), else beside this program, in ../lib/tunebook and in ../../lib/tunebook of it. Throws
  // BaselineUnavailable.
  BaselineModule();

  const std::filesystem::path& file() const { return file_; }
  // Lines of which libraries it finds, and why not.
  std::string libraries() const { return libraries_(); }

  // A prepared operation, owned.
  class Prepared {
   public:
    // Throws BaselineUnavailable, std::runtime_error.
    Prepared(const BaselineModule& module, const TunebookBaselineRequest& request);
    ~Prepared();
    Prepared(const Prepared&) = delete;
    Prepared& operator=(const Prepared&) = delete;
    std::string name() const { return module_.name_(baseline_); }
    int algorithms() const { return module_.algorithms_(baseline_); }
    std::string algorithm_name(int algorithm) const { return module_.algorithm_name_(baseline_, algorithm); }
    // Throws std::runtime_error.
    void enqueue(int algorithm, const std::vector<void*>& pointers) const;

   private:
    const BaselineModule& module_;
    TunebookBaseline* baseline_ = nullptr;
  };

 private:
  std::filesystem::path file_;
  TunebookBaselineAbi* abi_ = nullptr;
  TunebookBaselineLibraries* libraries_ = nullptr;
  TunebookBaselineCreate* create_ = nullptr;
  TunebookBaselineDestroy* destroy_ = nullptr;
  TunebookBaselineName* name_ = nullptr;
  TunebookBaselineAlgorithms* algorithms_ = nullptr;
  TunebookBaselineAlgorithmName* algorithm_name_ = nullptr;
  TunebookBaselineEnqueue* enqueue_ = nullptr;
};

// Command line `PROGRAM --list-baselines`: writes where the module is and what libraries it finds as lines to standard output, or why
// there is none; needs no GPU. Returns the exit code: 0 if there is a module.
bool is_baseline_listing(int argc, char** argv);
int list_baselines();

}  // namespace tunebook
