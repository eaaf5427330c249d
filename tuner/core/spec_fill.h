#pragma once

// Internal to the spec's source files: "fill" and "special" of an input.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/spec.h"
#include "core/spec_reader.h"

namespace tunebook {

inline constexpr std::string_view kFillForms = "uniform(low, high), uniform_int(low, high), normal(mean, deviation) or iota(start, step)";

// Reads "uniform(-1, 1)". On a fault, `fault` says what was expected. Fills that give (almost) one value only in one of `types`,
// the types that the elements can have, are refused: a kernel that mixes up its inputs' elements would pass. "zero" is accepted for
// inout arguments only, for kernels that add to what is there.
Fill parse_fill(std::string_view text, const std::vector<DType>& types, bool inout, std::string& fault);

// Reads ["nan", "-0"] into fill.special; `types` as above.
void read_special(SpecReader& reader, const SpecNode& node, const std::vector<DType>& types, Fill& fill);

// Names of Fill::special's bits as written in "special", in the bits' order.
const std::vector<std::pair<std::string, unsigned>>& special_names();

}  // namespace tunebook
