#include "cli/replay_transfer.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/cli.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "search/transfer.h"

namespace tunebook::cli {
namespace {

// A configuration that failed would make the mean 0; it counts as this share of the optimum's speed.
constexpr double kLeastShare = 1e-3;

struct Summary {
  double geometric_mean = 1, worst = 1;
};

template <class Value>
Summary summarise(const std::vector<TransferScore>& scores, const Value& value) {
  Summary summary;
  double logs = 0;
  for (const TransferScore& score : scores) {
    logs += std::log(std::max(value(score), kLeastShare));
    summary.worst = std::min(summary.worst, value(score));
  }
  summary.geometric_mean = std::exp(logs / static_cast<double>(scores.size()));
  return summary;
}

double after_all(const TransferScore& score) { return score.best_after.empty() ? 0 : score.best_after.back(); }
double similar(const TransferScore& score) { return score.similar_winner; }
double answered(const TransferScore& score) { return score.answered; }

nlohmann::ordered_json to_json(const Summary& summary) {
  return {{"geometric_mean", summary.geometric_mean}, {"worst", summary.worst}};
}

}  // namespace

void run_leave_gpu_out(const std::vector<std::filesystem::path>& files, std::size_t trials, bool json) {
  std::vector<Recording> recordings;
  for (const std::filesystem::path& file : files) recordings.push_back(Recording::load(file));
  const auto groups = transfer_groups(recordings);
  if (groups.empty()) {
    throw InputError("--leave-gpu-out: no two of the recordings are of the same kernel, problem and parameters: nothing can be left out");
  }
  std::vector<TransferScore> scores;
  for (const std::vector<std::size_t>& group : groups) {
    for (const std::size_t target : group) {
      std::vector<const Recording*> donors;
      for (const std::size_t donor : group) {
        if (donor != target) donors.push_back(&recordings[donor]);
      }
      scores.push_back(score_transfer(recordings[target], donors, trials));
    }
  }
  const Summary of_similar = summarise(scores, similar), of_first = summarise(scores, answered), of_all = summarise(scores, after_all);
  if (json) {
    nlohmann::ordered_json cases = nlohmann::ordered_json::array();
    for (const TransferScore& score : scores) {
      cases.push_back({{"target", score.target}, {"donors", score.donors}, {"similar_winner", score.similar_winner},
                       {"answered", score.answered}, {"best_after", score.best_after}});
    }
    print_json({{"trials", trials}, {"cases", cases}, {"similar_winner", to_json(of_similar)}, {"answered", to_json(of_first)},
                {"after_trials", to_json(of_all)}});
    return;
  }
  TextTable table;
  table.header = {"GPU left out", "others", "winner of a similar one", "first choice", fmt::format("best of {}", trials)};
  table.right = {false, false, true, true, true};
  for (const TransferScore& score : scores) {
    table.rows.push_back({score.target, fmt::format("{}", fmt::join(score.donors, ", ")), fmt::format("{:.3f}", score.similar_winner),
                          fmt::format("{:.3f}", score.answered), fmt::format("{:.3f}", after_all(score))});
  }
  for (const bool worst : {false, true}) {
    const auto text = [&](const Summary& summary) { return fmt::format("{:.3f}", worst ? summary.worst : summary.geometric_mean); };
    table.rows.push_back({worst ? "worst" : "geometric mean", "", text(of_similar), text(of_first), text(of_all)});
  }
  fmt::print("{}Shares of the speed of the best recorded configuration.\n", terminal_text(table));
}

}  // namespace tunebook::cli
