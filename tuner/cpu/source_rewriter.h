#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tunebook {

// A piece of inline PTX that was replaced: using it makes the linked kernel refer to `marker`.
struct PtxUse {
  std::string marker;  // part of a symbol's name, unique over all files of a kernel
  std::string file;
  int line = 0;
};

struct RewrittenSource {
  std::string text;                  // as many lines as the input
  std::vector<PtxUse> ptx_uses;
};

// Turns CUDA C++ into C++ for the device header tunebook_cpu.h, token by token; comments, strings, preprocessor directives and
// line numbers stay as they are.
// - `extern __shared__ T NAME[];` becomes a pointer to the block's dynamic shared memory (at namespace scope: a function, which
//   later uses of NAME call).
// - `__shared__ T A[..], B;` becomes a local struct with these members, placed in the block's static shared memory, and
//   references to them.
// - `#pragma unroll` is dropped: on the host it keeps compilers from vectorising.
// - an `asm` statement becomes a call of an undefined function, so that only a kernel that really uses it is refused.
// - `while (...) ;` that only waits gives way to other threads.
// `file_number` keeps names of different files of one kernel apart. Any text is accepted; what is not understood stays.
RewrittenSource rewrite_cuda_source(std::string_view text, const std::string& file, int file_number);

}  // namespace tunebook
