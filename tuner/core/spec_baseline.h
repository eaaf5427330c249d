#pragma once

// Internal to the spec's source files: the "baseline" of a kernel.json.

#include <functional>

#include "core/spec.h"
#include "core/spec_reader.h"

namespace tunebook {

// Reads `node` into spec.baseline once all arguments are known, reporting what is wrong with it. `expression` compiles an expression of
// a parameter, `condition` that of "when", each reporting its own faults.
using ReadExpression = std::function<Expression(const SpecNode&)>;
void read_baseline(SpecReader& reader, const SpecNode& node, KernelSpec& spec, const ReadExpression& expression,
                   const ReadExpression& condition);

nlohmann::ordered_json write_baseline(const BaselineSpec& baseline);

}  // namespace tunebook
