#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/baseline.h"
#include "core/device.h"
#include "core/dtype.h"
#include "core/expression.h"
#include "core/problem.h"

namespace tunebook {

// One dimension of the problem. A size is an integer in [1, kMaxDimension]; a categorical one (dtype, math) has `values`.
struct Dimension {
  std::string name;
  bool categorical = false;
  std::vector<std::string> values;    // categorical only
  Value default_value;                // int64 or string
  std::map<std::string, std::string> default_by_dtype;  // categorical only: by the value of the dimension dtype; empty: default_value for all
  std::vector<std::int64_t> verify;   // sizes only; may be empty
  std::string help;
};
inline constexpr std::int64_t kMaxDimension = std::int64_t{1} << 36;  // 10^12 is a typing error, 6.8 * 10^10 is not impossible

struct Parameter {
  std::string name;
  std::vector<Value> values;  // at least one, all of one kind, no duplicates; in the declared order
  bool is_type = false;       // {"type": true}: values are dtype names, rendered as CUDA types
  std::string help;
};

// How an input is filled; the numbers are a function of (seed, index) only, the same on every device.
struct Fill {
  enum class Kind { none, uniform, uniform_int, normal, iota, zero };
  Kind kind = Kind::none;
  double low = 0;   // uniform: [low, high); uniform_int: [low, high] inclusive; normal: mean, standard deviation; iota: start, step; zero: inout only
  double high = 0;
  std::string text;  // as written: "uniform(-1, 1)"
  unsigned special = 0;  // bits of kSpecial* (core/fill_value.h): values that are mixed in, about one element in 61
  // Of the values it gives without the special ones (normal: |mean| + 6 sigma; iota: infinity; zero: 0); for `scale`.
  double largest_magnitude() const;
};

struct Argument {
  // workspace: memory that a launch works in and nobody reads afterwards, one piece for all launches of a configuration.
  enum class Access { in, out, inout, workspace };
  std::string name;
  std::string type_text;          // "T*", "f32*", "i64"
  bool pointer = false;
  std::optional<DType> dtype;     // empty: T, the problem's dtype
  Access access = Access::in;     // pointers only
  Expression count;               // pointers only: elements, over problem sizes; a workspace's over parameters and the device too
  Fill fill;                      // in and inout; a workspace: none, or zero (it must be zero again after the last launch)
  Expression value;               // scalars only (real mode for floating types), over problem sizes, parameters and `iteration`
  bool is_result() const { return pointer && (access == Access::out || access == Access::inout); }
  bool is_workspace() const { return pointer && access == Access::workspace; }
};

// One kernel of a configuration, launched `repeat` times in a row with the arguments of all.
struct Launch {
  std::string entry;
  std::vector<std::string> instantiate;  // "T", parameters or dimensions, in template-argument order; empty for macros
  Expression repeat;                // optional: 1; 0: not at all
  std::array<Expression, 3> grid;   // missing ones are 1
  std::array<Expression, 3> block;
  Expression shared_bytes;          // dynamic shared memory
  Expression static_shared_bytes;   // optional: declared static shared memory, for pruning before a compile
};

struct Reference {
  std::string source;              // file in the template folder
  std::string entry;
  bool instantiate_type = false;   // entry<T>
  Launch launch;                   // over problem sizes only; it names no entry
};

// |result - reference| <= abs + rel * |reference|, evaluated in real mode with `eps` (unit roundoff) and `scale`.
struct Tolerance {
  Expression rel;
  Expression abs;
};

struct Work {
  Expression flops;  // empty if not given
  Expression bytes;
};

// One choice of what the preset "default" is.
struct DefaultChoice {
  Expression when;     // over problem dimensions, T and the device; empty: always
  std::string preset;  // a name in KernelSpec::presets
};

// A kernel.json, checked. All expressions share `names`: problem dimensions, then parameters, then "T", "native" and the
// device.* names, then "eps", "scale" and "iteration"; a Scope is a value per name.
class KernelSpec {
 public:
  std::string name;
  std::string summary;
  std::string source;                      // file in the template folder
  std::string entry;
  bool macros = false;                     // "instantiate": "macros"
  std::vector<std::string> instantiate;    // else: "T", parameters or dimensions, in template-argument order
  std::vector<std::string> define;         // macros: problem dimensions (and "T") also given as -D
  std::vector<std::string> options;        // extra compile options, e.g. "--use_fast_math"
  std::vector<Dimension> dimensions;
  std::vector<Parameter> parameters;
  std::vector<Expression> constraints;
  // In order; "default" is required. Where the declaration chooses it by the problem, it is here
  // what the last choice names: what is valid everywhere.
  std::vector<std::pair<std::string, Configuration>> presets;
  std::vector<DefaultChoice> default_choices;  // at least one; the last has no condition
  std::vector<Launch> launches;            // at least one, in order
  std::vector<Argument> arguments;
  Reference reference;
  std::map<DType, Tolerance> tolerance;
  Work work;
  // Named expressions over problem dimensions, parameters, T and the device that a model of time
  // learns from (integer mode, exact fractions allowed). One that cannot be evaluated for some
  // configuration has no value there; that is no fault.
  static constexpr std::size_t kMaxFeatures = 64;
  std::vector<std::pair<std::string, Expression>> features;
  Expression arch;   // optional: text, "native" or "sm_90a"
  Expression cpu;    // optional: which configurations the cpu device runs
  Expression nondeterministic;  // optional
  Expression restore;           // optional: which configurations need their inout arguments anew before each launch; all if absent
  BaselineSpec baseline;        // optional: empty() where there is none
  std::vector<Problem> whole_verify;  // "problem": {"verify": [{...}]}
  Names names;

  // Throws InputError whose message lists every problem found, one per line:
  // "FILE: /parameters/BLOCK/values/2: found "x", expected an integer". Unknown keys name the nearest valid one.
  static KernelSpec parse(const nlohmann::ordered_json& json, const std::string& file);

  // The normalised declaration: what parse() accepts, defaults written out. Stored in the book.
  nlohmann::ordered_json to_json() const;

  const Dimension* find_dimension(std::string_view dimension) const;
  const Parameter* find_parameter(std::string_view parameter) const;
  const Configuration* find_preset(std::string_view preset) const;
  // What runs where nothing was tuned: of `default_choices` the first whose condition holds and
  // whose configuration is valid for the problem on the device, else the last. A reference into
  // `presets`.
  const Configuration& default_preset(const Problem& problem, const Device& device) const;
  // Whether the declaration chooses the default by the problem, instead of giving its values.
  bool chooses_default() const {
    return default_choices.size() > 1 || default_choices.front().preset != "default";
  }
  // The choices whose condition holds, in order; the last is among them. For callers that know more
  // than constraints about what can run.
  std::vector<const DefaultChoice*> default_choices_for(const Problem& problem,
                                                        const Device& device) const;

  // From "--shape": "m=1,n=2,dtype=f16" or positional "1,2,3" (sizes in order; dtype and other categoricals only by name or
  // by a value that names one). Missing categoricals and, with `allow_defaults`, missing sizes take their default. Throws
  // InputError naming the dimension: unknown (with the nearest), missing, not an integer, outside [1, kMaxDimension].
  Problem parse_shape(std::string_view text, bool allow_defaults = false) const;
  Problem default_problem() const;
  // The default problem with every combination of the categorical dimensions' values that the constraints over these alone allow, its own
  // first (if it is allowed); at most kMaxCombinations.
  static constexpr std::size_t kMaxCombinations = 64;
  std::vector<Problem> category_problems() const;
  // Whether a constraint over nothing but categorical dimensions (and T) excludes the problem, whatever the configuration.
  bool category_excluded(const Problem& problem) const;
  // What a dimension is where nothing is given; `known`: values of other dimensions, of which dtype counts.
  Value default_of(const Dimension& dimension, const Problem& known) const;
  void check_problem(const Problem& problem) const;  // throws InputError

  // "BM=64,BN=32": every parameter once; throws InputError naming unknown, missing, or undeclared values.
  Configuration parse_configuration(std::string_view text) const;
  // Throws InputError unless each parameter is present with one of its declared values.
  void check_configuration(const Configuration& configuration, std::string_view where) const;

  // The problems to verify on besides the tuned one: whole_verify, then the dimensions' lists combined position by position, a
  // shorter one repeating its last value, a missing one giving the tuned size. Categoricals come from `tuned`; a whole problem that
  // names another value is left out (it belongs to that data type). Duplicates and `tuned` itself are left out.
  std::vector<Problem> verify_problems(const Problem& tuned) const;

  // The dtype dimension's value, or f32 when the kernel has none.
  DType problem_dtype(const Problem& problem) const;

  // A value per name: the problem, T, native, device.*; parameters unset.
  using Scope = std::vector<Scalar>;
  Scope scope(const Problem& problem, const Device& device) const;
  void bind(Scope& scope, const Configuration& configuration) const;
  // Which launch of a `repeat` it is, from 0 (where it is not set: 0).
  void bind_iteration(Scope& scope, std::int64_t iteration) const;
  // Whether the launches of a problem get a value of their own for the scalar: it depends on parameters or on `iteration`. The reference gets
  // the value for the preset `default`.
  bool varies(const Argument& scalar) const;
  // Sets eps and scale: eps = unit_roundoff(problem dtype; f16 and bf16 kernels accumulate in f32 but round their output);
  // scale = product over floating inputs of their fills' largest magnitudes, special values and inputs that start at zero apart.
  void bind_tolerance(Scope& scope, const Problem& problem) const;

  // Checks that `default` is valid on the default problem and on every verify problem, in every combination of categories (dtype, math);
  // every other preset on at least one of these: a rung may be for some data types or shapes only.
  // One located message ("/presets/default: ...") per violation, at most a few per preset. parse() has done this for `default`,
  // with generic_device().
  std::vector<std::string> check_presets(const Device& device) const;
  // Checks that `default` is valid on 1,000 random shapes (a fixed seed; with each data type in turn), so that a lookup has an
  // answer for whatever shape. Bundled templates keep this; a kernel that needs divisible sizes cannot.
  std::vector<std::string> check_default_on_random_shapes(const Device& device) const;
  // A GPU with the smallest limits among those since compute capability 8.0, for checks where no device is known.
  static Device generic_device();

  // The first constraint that is violated, or nullptr. Errors in evaluation are thrown as InputError naming the constraint.
  const Expression* violated_constraint(const Scope& scope) const;
};

}  // namespace tunebook
