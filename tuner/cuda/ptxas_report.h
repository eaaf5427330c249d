#pragma once

#include <string>
#include <string_view>

#include "core/device.h"
#include "core/outcome.h"

namespace tunebook {

// Resources of the entry function `symbol` from the log that -Xptxas=-v gives; what the log does not say stays -1.
// Static shared memory is 0 where the report of the entry mentions none.
Resources parse_ptxas_report(std::string_view log, std::string_view symbol);

// Bytes of machine code of `symbol` in a cubin (its .text section), -1 if it has none.
std::int64_t code_bytes(std::string_view cubin, std::string_view symbol);

// The compiler's words for a person: without ptxas' resource lines, the temporary names of NVRTC, and anything over 16 KiB
// (the middle is cut: the first error and the summary are what is read).
std::string clean_log(std::string_view log);

// no_resources if the log of a failed compile says that registers, shared or local memory are over the device's limit; else
// compile_error.
Outcome classify_failure(std::string_view log);

}  // namespace tunebook
