#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/template_folder.h"
#include "worker/message.h"

namespace tunebook {

// The problems of a session: the tuned one (index 0) and those it is verified on, with everything a worker needs to set
// them up and launch on them.
class VerificationPlan {
 public:
  // Throws InputError if an expression of the spec fails on one of the problems.
  VerificationPlan(const KernelTemplate& kernel, const Problem& tuned, const Device& device, std::uint64_t seed);

  // Buffers of all problems, or of the tuned one only. `reference` is the compiled reference kernel.
  SetupRequest setup(const CompileReply& reference, bool tuned_only) const;

  struct Candidate {
    Outcome outcome = Outcome::ok;         // invalid, no_resources: never compiled
    std::string message;
    LaunchSequence launches;               // on the tuned problem
    struct Applicable {
      std::int64_t problem;
      LaunchSequence launches;
      bool nondeterministic = false;
      bool restore = false;
      ProblemLaunch with(const CompileReply& compiled) const;
    };
    std::vector<Applicable> verify;        // small problems first, the tuned one last
    std::int64_t skipped_problems = 0;     // excluded by the constraints or the launch limits
  };
  // Constraints, launch sizes and limits of one configuration, before any compile.
  Candidate candidate(const Configuration& configuration) const;

  std::size_t problem_count() const { return problems_.size(); }
  const Problem& tuned() const { return problems_.front().problem; }

 private:
  struct Entry {
    Problem problem;
    KernelSpec::Scope scope;
    std::vector<ArgumentSetup> arguments;
    LaunchShape reference_launch;
  };
  std::vector<ArgumentSetup> evaluate_arguments(const Entry& entry, std::uint64_t seed) const;
  // The launches of a bound scope within the device's limits; else the outcome and the reason.
  struct Launchable {
    Outcome outcome = Outcome::ok;
    std::string message;
    LaunchSequence launches;
  };
  Launchable launchable(const Entry& entry, const Configuration& configuration, const KernelSpec::Scope& scope) const;

  bool holds(const Expression& expression, const KernelSpec::Scope& scope, const char* key, const std::string& of_what) const;

  const KernelTemplate& kernel_;
  bool has_inout_ = false;
  Device device_;
  std::vector<Entry> problems_;
};

}  // namespace tunebook
