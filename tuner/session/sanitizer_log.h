#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tunebook {

// What a run of compute-sanitizer wrote to its log.
struct SanitizerLog {
  bool complete = false;             // it got as far as its summary
  std::vector<std::string> findings; // errors of the kernels asked for, one line each, in the order of the log
  std::string failure;               // not complete: what the tool itself says, if anything
};

// `symbols`: the kernels' names as in their cubins. Errors of other kernels and of host calls, and warnings, are no findings. The
// log may be damaged or cut off anywhere.
SanitizerLog parse_compute_sanitizer_log(std::string_view text, const std::vector<std::string>& symbols);

// The first report of AddressSanitizer in what a process printed, in one line:
// "stack-buffer-overflow: WRITE of size 4 at kernel.cu:12; 'tile' (line 5) is overrun". Empty if there is none.
std::string parse_asan_report(std::string_view text);

// The name of a function as in its source, without arguments and template arguments: "matmul" for "_Z6matmulIfLi64EEvPT_".
std::string function_name(const std::string& symbol);

}  // namespace tunebook
