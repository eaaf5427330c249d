#pragma once

// Internal to the spec's source files: "fill" of an input.

#include <string>
#include <string_view>

#include "core/spec.h"

namespace tunebook {

inline constexpr std::string_view kFillForms = "uniform(low, high), uniform_int(low, high), normal(mean, deviation) or iota(start, step)";

// Reads "uniform(-1, 1)". On a fault, `fault` says what was expected. Fills that give one value only are refused: a kernel that
// mixes up its inputs' elements would pass. `integer`: the elements are, or can be, of an integer type, which truncates.
Fill parse_fill(std::string_view text, bool integer, std::string& fault);

}  // namespace tunebook
