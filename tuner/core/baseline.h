#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/expression.h"
#include "core/problem.h"

namespace tunebook {

struct Device;
class KernelSpec;

// The "baseline" of a kernel.json: the same work done by what people use now, a vendor's library as a rule, to which the winner is
// compared. A worker knows the operations; a template only says what is what.
struct BaselineSpec {
  std::string operation;             // "": the kernel has none
  std::vector<std::string> buffers;  // pointer arguments, in the order of BaselineOperation::buffers
  std::vector<std::pair<std::string, Expression>> parameters;  // over sizes, in real mode
  Expression when;                   // optional: for which problems
  bool empty() const { return operation.empty(); }
};

struct BaselineParameter {
  enum class Kind {
    size,     // an integer of at least 1
    padding,  // an integer of at least 0
    flag,     // false or true
    number,   // a finite real
    word,     // one of `words`
  };
  std::string_view name;
  Kind kind = Kind::size;
  std::string_view fallback = {};  // its value where it is not given; "": it must be given (of math: by the data type)
  std::vector<std::string_view> words = {};
};

struct BaselineOperation {
  std::string_view name;
  std::vector<std::string_view> buffers;
  std::size_t required_buffers = 0;  // of them, from the first
  std::vector<BaselineParameter> parameters;
};

// gemm     c, a, b[, c_in]: c = alpha * a * b + beta * c_in (without c_in: * c), row-major; a is m x k (transpose_a: k x m), b is k x n
//          (transpose_b: n x k)
// conv2d   output, input, filter: NCHW cross-correlation (flip: convolution) of n x c x h x w with k filters of c x r x s, stride 1,
//          zeros of pad_h and pad_w around the input
// reduce   output, input[, index]: sum, min, max or argmax of n elements. argmax writes the first place of the largest to `index`,
//          and its value to `output`; without `index` its place to `output`. The others leave `index` alone
// scan     output, input: prefix sums of n elements, inclusive or exclusive
// copy     destination, source: a copy of the smaller of the two buffers, whose result is not looked at
// math, of gemm and conv2d: ieee (no tensor cores of less precision; the default for f32 and f64) or tensor (f16 and bf16).
const std::vector<BaselineOperation>& baseline_operations();
const BaselineOperation* find_baseline_operation(std::string_view name);

// A baseline on one problem, all numbers known: what a worker gets.
struct BaselineLaunch {
  std::string operation;
  // Places in the kernel's argument list, in the order of BaselineOperation::buffers: what it reads or writes. A result of the kernel
  // that is none of them is not its.
  std::vector<std::int64_t> arguments;
  std::vector<std::pair<std::string, std::string>> parameters;  // all of the operation's: "128", "0.5", "ieee"; flags are "0" or "1"
  // Algorithms that another process found fast (BaselineReport::fast): only these are tried, if one of them works. Empty: all.
  std::vector<std::string> only = {};
};

// Nothing if the kernel has no baseline for this problem. Throws InputError, which begins with the place ("/baseline/parameters/m: "),
// if an expression cannot be evaluated or gives what the operation does not take.
std::optional<BaselineLaunch> evaluate_baseline(const KernelSpec& spec, const Problem& problem, const Device& device);

// How a baseline fared.
enum class BaselineState {
  ok,            // right and timed
  unavailable,   // the module, the library or the operation for these data types is not there
  wrong_result,
  failed,        // it could not be run
};
std::string_view baseline_state_name(BaselineState state);
std::optional<BaselineState> parse_baseline_state(std::string_view name);

}  // namespace tunebook
