#pragma once

#include <string>
#include <vector>

#include "search/score.h"

namespace tunebook::cli {

// A self-contained page: means, a table for each space, and curves of best over optimum against evaluations.
std::string replay_html(const std::vector<StrategyScore>& scores, const std::vector<StrategyMean>& means, const std::string& command);

}  // namespace tunebook::cli
