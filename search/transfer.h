#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "search/recording.h"
#include "search/space.h"

namespace tunebook {

// "nvidia", "amd" or "intel" by a GPU's name; "" if the name tells nothing.
std::string_view gpu_vendor(std::string_view name);

// What tells a recording's GPU: its device's name, or the recording's own if that is empty.
const std::string& gpu_of(const Recording& recording);

// Proposes configurations for a GPU that was never tuned on, from what other GPUs (the donors) made of the same kernel and
// problem. search/transfer.md tells the rule and how it was found.
//
// What a donor says of a configuration is the logarithm of its time over the donor's best; a configuration that failed there, or is
// not known there, counts as the slowest. First choice: the least weighted mean over the donors, in which
//  * a donor of the target's vendor counts three times;
//  * each donor's word is averaged with that about the neighbours (one parameter differs), the more so if no donor is of
//    the target's vendor: a lonely peak seldom is one elsewhere;
//  * donors' disagreement counts against a configuration, if one of them is of the target's vendor.
// Further trials: a Gaussian process over what the target adds to the donors' mean (one part per donor, one by distance in the
// space), asked by lower confidence bounds that become tighter with each trial.
class GpuTransfer {
 public:
  // Throws InputError if there is no donor, or one without any time.
  GpuTransfer(const SearchSpace& space, std::string_view target_gpu, const std::vector<const Recording*>& donors);

  // All configurations, the most promising first, before anything was tried.
  std::vector<std::uint64_t> order() const;

  // The next configuration to try if `trials` (at least 1) are to be made in all; nothing if all have been tried.
  std::optional<std::uint64_t> next(std::size_t trials);
  // What became of it: its time, or nothing if it failed.
  void tell(std::uint64_t index, std::optional<double> time_us);

 private:
  struct Trial {
    std::uint64_t index = 0;
    std::optional<double> log_time;
  };

  std::vector<double> smoothed(const std::vector<double>& values) const;
  void condition();
  double covariance(std::uint64_t x, std::uint64_t y) const;

  const SearchSpace& space_;
  std::size_t size_ = 0, width_ = 0;
  std::vector<std::uint16_t> rows_;             // width_ value indices each
  std::vector<double> place_;                   // the same on a scale from 0 to 1
  std::vector<std::vector<double>> donors_;     // log slowdowns, by donor
  std::vector<std::vector<double>> features_;   // the same, centred and capped: what the process weighs anew
  std::vector<double> score_;                   // of the first choice
  std::vector<double> mean_;                    // prior of the process
  std::vector<Trial> trials_;
  std::vector<bool> tried_;
  // Of the process: a Cholesky row per trial, and that applied to all configurations.
  std::vector<std::vector<double>> factor_, solved_;
  std::vector<double> variance_;
};

// One GPU left out, as GpuTransfer answers for it. Shares of the optimum's speed: 1 is the best, 0 a configuration that failed.
struct TransferScore {
  std::string target;                 // name of its recording
  std::vector<std::string> donors;
  double similar_winner = 0;          // of the best configuration of the first donor of the target's vendor, else of the first donor
  double answered = 0;                // of the first choice
  std::vector<double> best_after;     // best_after[n]: of the best of the first n + 1 trials
};
// Makes `trials` trials on the recording. Throws InputError if the target has no time.
TransferScore score_transfer(const Recording& target, const std::vector<const Recording*>& donors, std::size_t trials);

// Recordings of the same kernel, problem and parameter names, by number: groups of at least two GPUs, in order of their first member.
std::vector<std::vector<std::size_t>> transfer_groups(const std::vector<Recording>& recordings);

}  // namespace tunebook
