#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "learn/learn_book.h"

namespace tunebook::cli {

// A row per model, and a line for each group that has none, with the reason. Ends with a newline.
std::string learned_text(const learn::LearnedBook& learned);
// A list with an object per group; what is not known is null.
nlohmann::ordered_json learned_json(const learn::LearnedBook& learned);

// "3.2 %": a share of time.
std::string percent(double share);

}  // namespace tunebook::cli
