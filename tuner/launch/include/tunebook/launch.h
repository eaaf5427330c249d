#pragma once

// From lookup to launch: an application names a kernel and a problem and gets a callable, compiled with the best configuration that
// the book knows. Needs the standard library only, and no CUDA header.
//
//   tunebook::LaunchOptions options;
//   options.templates = {"/opt/kernels"};
//   options.book = "/data/book.db";
//   tunebook::Launcher launcher(options);
//   const tunebook::Kernel matmul = launcher.get("matmul", {{"m", 4096}, {"n", 4096}, {"k", 4096}, {"dtype", "f32"}});
//   matmul(stream, c, a, b, m, n, k);  // the arguments in the order of kernel.json; returns when the launch is queued
//
// Kernel templates are code: launching one runs its author's code. A book is data: a configuration that it names is compiled only if
// each of its values is one that the template declares; otherwise the template's preset `default` runs, and note() says so.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tunebook/lookup.h>

struct CUstream_st;  // cudaStream_t and CUstream are pointers to it

namespace tunebook {

// Refining where it runs: configurations that the book puts first for a problem which nobody tuned are timed
// inside the application, and the fastest of them is launched from then on.
//
// After get() the first `candidates` of Lookup::ranked() are compiled on a thread of the Launcher. The next launch
// of the application lends its arguments: they are copied in the order of its stream, before that launch. All
// timing works on these copies, on a stream of its own; the application's data are only read, and its launches
// go on meanwhile. A configuration whose results differ from those of the one at hand by more than the
// declared tolerance is never chosen. One that does not compile, load or run is passed over.
//
// Nothing is refined, and note() says why, if the copies do not fit the budget, if buffers overlap of which one is
// written, or if two runs of the configuration at hand differ. A launch that is captured in a graph lends nothing.
struct RefineOptions {
  int candidates = 0;             // how many are timed, the one at hand included; 0 or 1: off
  double seconds = 0.5;           // time on the GPU per problem; exceeded by one launch at most
  std::int64_t bytes = std::int64_t{256} << 20;  // device memory per problem: copies, results to compare with, workspaces, L2 flush
  int samples = 7;                // per configuration, taken in turn
  // Results are appended to this file, if one is named: one JSON object per line, each refinement in one piece, by any
  // number of processes. `tunebook merge FILE` puts them into a book; a sweep's {"from_misses": FILE} tunes the
  // problems. tuner/launch/launching.md has the format.
  std::string learned_file;
};

struct LaunchOptions {
  // Folders of kernel templates (or template folders themselves). After these: $TUNEBOOK_TEMPLATES, the installed default.
  std::vector<std::string> templates;
  // A published or a working book. Empty: $TUNEBOOK_BOOK; if that is not set either, presets alone.
  std::string book;
  // CUDA device ordinal. Its primary context is used, which is the one that the CUDA runtime (and PyTorch, ...) uses.
  int device = 0;
  // Compile on a thread of the Launcher. Until it is done the preset `default` runs, for which get() may have to compile once itself.
  bool background = false;
  // Not empty ("sm_90"): compile for this architecture and touch no device. Only cubin() can be used then.
  std::string architecture;
  // With `architecture`: the device to look up, as far as it is known (DeviceKey::compute_capability is that of `architecture`).
  DeviceKey offline_device;
  std::string objective = "time";  // as Query::objective
  std::string method = "cold";     // as Query::method
  // How the book is asked (near_cap, refresh_interval, record_misses). The declarations are those of the templates: spec_json,
  // more_specs_json and no_book are not used.
  LookupOptions lookup;
  // Time the book's first configurations in the application. Objective "time" only, and not with `architecture`.
  RefineOptions refine;
};

struct CompiledLaunch {
  std::string symbol;              // the lowered name of the kernel in the cubin
  std::array<std::int64_t, 3> grid = {1, 1, 1};   // in blocks
  std::array<std::int64_t, 3> block = {1, 1, 1};  // in threads
  std::int64_t shared_bytes = 0;   // dynamic, of one block
};

// One configuration that was tried by RefineOptions.
struct RefinedCandidate {
  LookupValues configuration;    // in declared order
  // "ok" (timed), "abandoned" (timed less often, as it is much slower), "not_tried" (the budget was used up), or why it was
  // passed over: "wrong_result", "compile_error", "launch_error", "no_resources", "out_of_memory".
  std::string outcome;
  std::string message;           // of a failure
  double median_us = 0;          // of one launch on the copies; 0: no times
  std::vector<double> samples_us;
};

// What a kernel is compiled with, and why. Immutable.
struct CompiledKernel {
  std::string kernel;
  LookupValues problem;            // complete and in declared order
  LookupValues configuration;      // in declared order
  Tier tier = Tier::preset_default;  // how the configuration matched
  double distance = 0;             // as Answer::distance
  Stale stale = Stale::unknown;    // yes: the template has changed since this configuration was tuned
  std::shared_ptr<const Answer> answer;  // what the book said, used or not; null: nothing
  std::string architecture;        // "sm_90", "sm_90a"
  std::string name_expression;     // "matmul<float, 64, 64>"
  std::string symbol;              // the lowered name of the first kernel in the cubin
  std::string cubin_path;          // in the user's cache
  std::vector<CompiledLaunch> launches;  // of the problem, in order; at least one
  std::int64_t registers = -1;     // per thread; -1: not known
  bool cached = false;             // the cubin was compiled before
  double compile_seconds = 0;      // 0 if cached
  bool pending = false;            // the best configuration is being compiled; this one runs meanwhile
  bool refining = false;           // other configurations are being compiled or timed, or wait for a launch's arguments
  // What RefineOptions tried, the configuration that ran before first; empty: nothing (yet).
  std::vector<RefinedCandidate> refined;
  // What a user should know, one line each: another version of the template was tuned; a configuration was refused, or did not
  // compile, and what runs instead. Empty: nothing.
  std::string note;
};

// A compiled kernel for launching with other means (cuModuleLoadData, cuLaunchKernel, ...).
struct Cubin {
  std::string bytes;
  CompiledKernel about;
};

// A launch that CUDA refused, or an earlier asynchronous error that it reported.
class LaunchError : public std::runtime_error {
 public:
  LaunchError(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  int code() const { return code_; }  // a cudaError_t

 private:
  int code_;
};

// The type of an argument as far as a kernel's declaration can be checked against it.
struct ArgumentShape {
  enum class Kind : std::uint8_t { integer, floating, object, nothing };  // nothing: void
  Kind kind = Kind::nothing;   // of the argument, or of what it points to
  bool pointer = false;
  bool read_only = false;      // a pointer to const
  std::uint32_t bytes = 0;     // of the argument, or of what it points to; 0 for void

  template <class T>
  static constexpr ArgumentShape of() {
    using Pointee = std::remove_pointer_t<T>;
    ArgumentShape shape;
    shape.pointer = std::is_pointer_v<T>;
    shape.read_only = shape.pointer && std::is_const_v<Pointee>;
    if constexpr (!std::is_void_v<Pointee>) shape.bytes = sizeof(Pointee);
    if constexpr (std::is_integral_v<Pointee> || std::is_enum_v<Pointee>) {
      shape.kind = Kind::integer;
    } else if constexpr (std::is_floating_point_v<Pointee>) {
      shape.kind = Kind::floating;
    } else if constexpr (!std::is_void_v<Pointee>) {
      shape.kind = Kind::object;
    }
    return shape;
  }
};

class KernelSlot;  // the state behind a Kernel

// A kernel for one problem, ready to launch. A small handle: copies share their state, which lives as long as one of them or the
// Launcher does. All members may be called by several threads at once.
//
// The last handle and the Launcher must not go while launches are running: synchronise first.
class Kernel {
 public:
  explicit Kernel(std::shared_ptr<KernelSlot> slot) : slot_(std::move(slot)) {}  // made by Launcher::get()

  // Queues one launch on `stream` (null: the default stream) and returns. `arguments`: those of kernel.json, in its order: device
  // pointers and scalars of exactly the declared size; a `void*` is taken for any pointer; pointers are multiples of 16 bytes, as all that
  // CUDA allocates are; f16 and bf16 scalars are any type of two bytes. Workspaces, and scalars that depend on the configuration, are not
  // given: they are the library's. No lock; no allocation but of workspaces, in the order of the stream. The Launcher's device must be the
  // current one, as for any launch on a stream of it.
  // Throws std::invalid_argument if the arguments are not those of the declaration, LaunchError if CUDA refuses.
  template <class... Arguments>
  void operator()(CUstream_st* stream, const Arguments&... arguments) const {
    static_assert((std::is_trivially_copyable_v<Arguments> && ...), "kernel arguments are copied byte by byte");
    static_assert((!std::is_array_v<Arguments> && ...), "pass a device pointer");
    static constexpr std::array<ArgumentShape, sizeof...(Arguments)> kShapes = {ArgumentShape::of<Arguments>()...};
    std::array<void*, sizeof...(Arguments) + 1> addresses = {const_cast<void*>(static_cast<const void*>(&arguments))..., nullptr};
    launch(stream, addresses.data(), kShapes.data(), sizeof...(Arguments));
  }

  // The same with addresses of the arguments, for bindings: `shapes` and `addresses` have `count` entries.
  void launch(CUstream_st* stream, void** addresses, const ArgumentShape* shapes, std::size_t count) const;

  // What the next launch runs. Changes when a compile in the background or a refinement ends, or the book has a
  // better answer.
  std::shared_ptr<const CompiledKernel> state() const;
  // As state()->note and state()->pending.
  std::string note() const;
  bool pending() const;
  // Waits until nothing is pending.
  void wait() const;

 private:
  std::shared_ptr<KernelSlot> slot_;
};

class LauncherCore;

// Kernels of one device. Movable; all members may be called by several threads at once.
//
// Compiles in the process, with NVRTC, which is opened when something is compiled; what is in the cache ($TUNEBOOK_CACHE, else
// $XDG_CACHE_HOME/tunebook, else ~/.cache/tunebook; private to the user) is used without it. A cubin of an NVRTC that is still
// installed is used as it is; if another one is found now, it is compiled again; if none is, the cubin is used, and note() says so.
// Templates are read once: what changes on disk afterwards is seen by the next Launcher.
class Launcher {
 public:
  // Throws std::runtime_error for a device or a book that cannot be used, with what to do; std::invalid_argument for options that
  // contradict each other.
  explicit Launcher(LaunchOptions options);
  // Gives up what waits in the background, and waits for a compile or a timed launch that has begun.
  ~Launcher();
  Launcher(Launcher&&) noexcept;
  Launcher& operator=(Launcher&&) noexcept;

  // The kernel for this problem: looked up, compiled, loaded. Missing categorical dimensions (dtype) have their default. Asked again,
  // it is found in a table, and the book is asked whether its answer is still the same; if not, all handles of the problem
  // change over. Without `background` that may compile.
  // Throws std::invalid_argument for an unknown kernel, a problem that does not fit its declaration, and offline use;
  // std::runtime_error if neither the book's configuration nor the preset `default` can be compiled and loaded, or there is no compiler.
  Kernel get(std::string_view kernel, const LookupValues& problem);

  // The cubin for this problem and how to launch it; loads nothing. Never in the background. Throws as get() does.
  Cubin cubin(std::string_view kernel, const LookupValues& problem);

 private:
  std::shared_ptr<LauncherCore> core_;
};

}  // namespace tunebook
