#include "cuda/problem_buffers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "core/dtype.h"
#include "core/error.h"

namespace tunebook {
namespace {

// Byte patterns of unwritten outputs: a NaN in every floating type and -1; and a large finite number (6e4 as f16, 1e36 as f32) for
// kernels that would turn NaN into the right answer, as by max(x, 0).
constexpr std::array<int, 2> kPoison = {0xFF, 0x7B};
// In the run after timing: a large negative number. With the other it shows who takes a minimum or a maximum with what was there.
constexpr int kPoisonAfterTiming = 0xFB;

FillRule rule_of(const ArgumentSetup& setup) {
  return {static_cast<int>(setup.fill.kind), setup.fill.low, setup.fill.high, setup.seed, setup.fill.special};
}

std::uint64_t count_of(const ArgumentSetup& setup) { return static_cast<std::uint64_t>(setup.count); }

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

}  // namespace

ProblemBuffers::ProblemBuffers(const ProblemSetup& setup, cudaStream_t stream) : setup_(setup), stream_(stream) {
  reference_ = std::make_shared<LoadedKernel>(setup.reference.artifact, setup.reference.symbol);
  reference_->prepare(setup.reference.shape);
  allocate();
  fill_inputs();
  run_reference();
}

void ProblemBuffers::allocate() {
  arguments_.resize(setup_.arguments.size());
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    Bound& bound = arguments_[i];
    bound.setup = setup_.arguments[i];
    if (!bound.setup.pointer) {
      store_scalar(bound.setup.dtype, bound.setup.integer, bound.setup.real, bound.scalar.data());
      continue;
    }
    bound.count = bound.setup.count;
    const std::size_t bytes = count_of(bound.setup) * dtype_size(bound.setup.dtype);
    for (const Slot slot : {kRunA, kRunB, kReference}) {
      if (!bound.is_output() && slot != kRunA) {
        bound.pointers[slot] = bound.pointers[kRunA];
        continue;
      }
      bound.buffers[slot] = GuardedBuffer(bytes);
      bound.pointers[slot] = bound.buffers[slot].payload();
    }
  }
  list_ranges();
}

// The guard bands of all buffers as they are now.
void ProblemBuffers::list_ranges() {
  std::vector<GuardedRange> ranges;
  range_names_.clear();
  for (std::size_t i = 0; i < arguments_.size() && !exact_buffers(); ++i) {
    const Bound& bound = arguments_[i];
    for (const Slot slot : {kRunA, kRunB, kReference}) {
      if (!bound.setup.pointer || (!bound.is_output() && slot != kRunA)) continue;
      ranges.push_back(bound.buffers[slot].range());
      range_names_.push_back({i, slot});
    }
  }
  const std::size_t check_bytes = arguments_.size() * sizeof(CheckResult) + ranges.size() * sizeof(std::uint64_t);
  checks_ = DeviceMemory(check_bytes);
  host_checks_ = PinnedMemory(check_bytes);
  checksum_ = DeviceMemory(sizeof(std::uint64_t));
  ranges_ = DeviceMemory(ranges.size() * sizeof(GuardedRange));
  if (ranges.empty()) return;
  check_cuda(cudaMemcpyAsync(ranges_.get(), ranges.data(), ranges.size() * sizeof(GuardedRange), cudaMemcpyHostToDevice, stream_), "setup");
  check_cuda(cudaStreamSynchronize(stream_), "setup");  // `ranges` is about to go
}

void ProblemBuffers::size_workspaces(const std::vector<WorkspaceSize>& sizes) {
  bool changed = false;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    Bound& bound = arguments_[i];
    if (!bound.is_workspace()) continue;
    const auto given = std::find_if(sizes.begin(), sizes.end(), [&](const WorkspaceSize& size) { return std::cmp_equal(size.argument, i); });
    const std::int64_t count = given == sizes.end() ? bound.setup.count : given->count;
    if (count == bound.count) continue;
    changed = true;
    bound.count = count;
    bound.buffers[kRunA] = GuardedBuffer();  // the old one first: both may not fit
    bound.buffers[kRunA] = GuardedBuffer(static_cast<std::size_t>(count) * dtype_size(bound.setup.dtype));
    for (void*& pointer : bound.pointers) pointer = bound.buffers[kRunA].payload();
  }
  if (!changed) return;
  list_ranges();
  fill_guards();
}

void ProblemBuffers::fill_workspaces(int pattern) {
  for (const Bound& bound : arguments_) {
    if (!bound.is_workspace()) continue;
    const bool zero = bound.setup.fill.kind == Fill::Kind::zero;
    check_cuda(cudaMemsetAsync(bound.pointers[kRunA], zero ? 0 : pattern, bound.buffers[kRunA].bytes(), stream_), "filling workspaces");
  }
}

void ProblemBuffers::share_workspaces(const std::vector<const PreparedLaunches*>& candidates) {
  std::vector<WorkspaceSize> largest;
  for (const PreparedLaunches* candidate : candidates) enlarge(largest, candidate->workspaces);
  size_workspaces(largest);
  fill_workspaces(kPoison[0]);
}

void ProblemBuffers::fill_guards() {
  if (!range_names_.empty()) {
    queue_fill_guards(static_cast<const GuardedRange*>(ranges_.get()), static_cast<int>(range_names_.size()), stream_);
  }
}

void ProblemBuffers::fill_inputs() {
  fill_guards();
  for (const Bound& bound : arguments_) {
    if (bound.is_input()) queue_fill(bound.setup.dtype, bound.pointers[kRunA], count_of(bound.setup), rule_of(bound.setup), stream_);
  }
  check_cuda(cudaGetLastError(), "filling inputs");
}

void ProblemBuffers::run_reference() {
  poison(kReference, kPoison[0]);
  launch_on({{{reference_, setup_.reference.shape, {}}}, {}}, kReference);
  queue_checks();
  fetch_checks();
  std::vector<std::string> faults = guard_violations();
  for (std::string& text : modified_inputs()) faults.push_back(std::move(text));
  if (!faults.empty()) throw EnvironmentError(fmt::format("{}: the reference {}", setup_.display, join(faults)));
  reference_sum_ = reference_checksum();
}

std::uint64_t ProblemBuffers::reference_checksum() {
  std::uint64_t sum = 0;
  check_cuda(cudaMemsetAsync(checksum_.get(), 0, sizeof sum, stream_), "checksum");
  for (const Bound& bound : arguments_) {
    if (!bound.is_output()) continue;
    queue_checksum(bound.pointers[kReference], bound.buffers[kReference].bytes(), static_cast<std::uint64_t*>(checksum_.get()), stream_);
  }
  check_cuda(cudaGetLastError(), "checksum");
  check_cuda(cudaMemcpyAsync(&sum, checksum_.get(), sizeof sum, cudaMemcpyDeviceToHost, stream_), "checksum");
  check_cuda(cudaStreamSynchronize(stream_), "checksum");
  return sum;
}

void ProblemBuffers::repair() {
  fill_inputs();
  copies_.invalidate();
  if (reference_checksum() != reference_sum_) run_reference();
}

void ProblemBuffers::poison(Slot slot, int pattern) {
  poisons_[slot] = pattern;
  for (const Bound& bound : arguments_) {
    if (bound.is_output() && bound.setup.access == Argument::Access::out) {
      check_cuda(cudaMemsetAsync(bound.pointers[slot], pattern, bound.buffers[slot].bytes(), stream_), "poisoning outputs");
    }
  }
  fill_inout(slot);
  fill_workspaces(pattern);
}

void ProblemBuffers::fill_inout(Slot slot) {
  for (const Bound& bound : arguments_) {
    if (bound.is_output() && bound.setup.access == Argument::Access::inout) {
      queue_fill(bound.setup.dtype, bound.pointers[slot], count_of(bound.setup), rule_of(bound.setup), stream_);
    }
  }
  check_cuda(cudaGetLastError(), "filling inputs");
}

std::vector<BufferCopies::Source> ProblemBuffers::copy_sources() const {
  std::vector<BufferCopies::Source> sources;
  for (const Bound& bound : arguments_) {
    if (bound.in_every_set()) sources.push_back({bound.buffers[kRunA].bytes(), bound.is_input() ? bound.pointers[kRunA] : nullptr});
  }
  return sources;
}

std::int64_t ProblemBuffers::ensure_sets(std::int64_t wanted) {
  const std::int64_t sets = 1 + copies_.ensure(wanted - 1, copy_sources(), stream_);
  // Kernels that work in place and need no restoring start from the same values in each set.
  for (std::int64_t set = 0; set < std::min(sets, wanted); ++set) restore_inout(set);
  return sets;
}

void* ProblemBuffers::address(std::size_t argument, std::int64_t set) const {
  if (set == 0 || arguments_[argument].is_workspace()) return arguments_[argument].pointers[kRunA];
  const auto place = std::count_if(arguments_.begin(), arguments_.begin() + static_cast<std::ptrdiff_t>(argument),
                                   [](const Bound& bound) { return bound.in_every_set(); });
  return copies_.address(set - 1, static_cast<std::size_t>(place));
}

void ProblemBuffers::restore_inout(std::int64_t set) {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const Bound& bound = arguments_[i];
    if (!bound.setup.pointer || bound.setup.access != Argument::Access::inout) continue;
    queue_fill(bound.setup.dtype, address(i, set), count_of(bound.setup), rule_of(bound.setup), stream_);
  }
  check_cuda(cudaGetLastError(), "filling inputs");
}

void ProblemBuffers::launch(const PreparedLaunches& launches, std::int64_t set) {
  std::vector<void*> pointers(arguments_.size());
  std::vector<void*> addresses(arguments_.size());
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    Bound& bound = arguments_[i];
    if (bound.setup.pointer) pointers[i] = address(i, set);
    addresses[i] = bound.setup.pointer ? static_cast<void*>(&pointers[i]) : static_cast<void*>(bound.scalar.data());
  }
  launch_all(launches, std::move(addresses));
}

void ProblemBuffers::launch_all(const PreparedLaunches& launches, std::vector<void*> addresses) {
  for (const PreparedLaunch& launch : launches.launches) {
    std::vector<std::array<unsigned char, 8>> scalars(launch.scalars.size());
    std::vector<void*> own = addresses;
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      const ScalarValue& scalar = launch.scalars[i];
      const auto argument = static_cast<std::size_t>(scalar.argument);
      store_scalar(arguments_.at(argument).setup.dtype, scalar.integer, scalar.real, scalars[i].data());
      own[argument] = scalars[i].data();
    }
    launch.kernel->launch(launch.shape, own.data(), stream_);
  }
}

void ProblemBuffers::launch_on(const PreparedLaunches& launches, Slot slot) {
  std::vector<void*> addresses(arguments_.size());
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    Bound& bound = arguments_[i];
    addresses[i] = bound.setup.pointer ? static_cast<void*>(&bound.pointers[slot]) : static_cast<void*>(bound.scalar.data());
  }
  launch_all(launches, std::move(addresses));
}

void ProblemBuffers::queue_checks() {
  auto* results = static_cast<CheckResult*>(checks_.get());
  auto* first_bytes = reinterpret_cast<std::uint64_t*>(results + arguments_.size());
  const int ranges = static_cast<int>(range_names_.size());
  queue_reset(results, static_cast<int>(arguments_.size()), first_bytes, ranges, stream_);
  if (ranges > 0) queue_check_guards(static_cast<const GuardedRange*>(ranges_.get()), ranges, first_bytes, stream_);
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const Bound& bound = arguments_[i];
    const bool zero_again = bound.is_workspace() && bound.setup.fill.kind == Fill::Kind::zero;
    if (bound.is_input() || zero_again) {
      queue_check_fill(bound.setup.dtype, bound.pointers[kRunA], static_cast<std::uint64_t>(bound.count), rule_of(bound.setup), results + i, stream_);
    }
  }
  check_cuda(cudaGetLastError(), "checking");
}

void ProblemBuffers::fetch_checks() {
  const std::size_t bytes = arguments_.size() * sizeof(CheckResult) + range_names_.size() * sizeof(std::uint64_t);
  check_cuda(cudaMemcpyAsync(host_checks_.get(), checks_.get(), bytes, cudaMemcpyDeviceToHost, stream_), setup_.display.c_str());
  check_cuda(cudaStreamSynchronize(stream_), setup_.display.c_str());
}

Judgement ProblemBuffers::verify(const PreparedLaunches& launches, bool nondeterministic) {
  size_workspaces(launches.workspaces);
  for (const Slot run : {kRunA, kRunB}) {
    poison(run, kPoison[run]);
    launch_on(launches, run);
  }
  return judge(kRunB, nondeterministic);
}

Judgement ProblemBuffers::verify_once(const PreparedLaunches& launches) {
  size_workspaces(launches.workspaces);
  poison(kRunA, kPoisonAfterTiming);
  launch_on(launches, kRunA);
  return judge(kRunA, true);
}

Judgement ProblemBuffers::verify_queued(const std::function<void()>& queue, const std::vector<std::size_t>& arguments) {
  poison(kRunA, kPoisonAfterTiming);
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const Bound& bound = arguments_[i];
    if (!bound.is_output() || std::find(arguments.begin(), arguments.end(), i) != arguments.end()) continue;
    // Not its result: it is right beforehand, and must be so afterwards.
    check_cuda(cudaMemcpyAsync(bound.pointers[kRunA], bound.pointers[kReference], bound.buffers[kRunA].bytes(), cudaMemcpyDeviceToDevice, stream_),
               "verifying a baseline");
  }
  queue();
  return judge(kRunA, true);
}

Judgement ProblemBuffers::judge(Slot second, bool nondeterministic) {
  queue_checks();
  auto* results = static_cast<CheckResult*>(checks_.get());
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const Bound& bound = arguments_[i];
    if (!bound.is_output()) continue;
    queue_compare(bound.setup.dtype,
                  {bound.pointers[kRunA], bound.pointers[second], bound.pointers[kReference], count_of(bound.setup), bound.setup.rel,
                   bound.setup.abs, !nondeterministic},
                  results + i, stream_);
  }
  check_cuda(cudaGetLastError(), "comparing");
  fetch_checks();

  Judgement verdict;
  std::vector<std::string> faults = guard_violations();
  for (std::string& text : modified_inputs()) faults.push_back(std::move(text));
  for (std::string& text : dirty_workspaces()) faults.push_back(std::move(text));
  const auto* checks = static_cast<const CheckResult*>(host_checks_.get());
  std::vector<std::string> differences;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (!arguments_[i].is_output()) continue;
    verdict.max_error = std::max(verdict.max_error, checks[i].max_error);
    if (checks[i].first_wrong != kNone) faults.push_back(wrong_element(i, checks[i].first_wrong));
    if (const std::uint64_t at = checks[i].first_difference; at != kNone) {
      differences.push_back(fmt::format("{}[{}] is {} in one run and {} in the next", arguments_[i].setup.name, at,
                                        element_text(arguments_[i], kRunA, at), element_text(arguments_[i], kRunB, at)));
    }
  }
  if (!faults.empty()) {
    verdict.outcome = Outcome::wrong_result;
    verdict.message = fmt::format("{}: {}", setup_.display, join(faults));
  } else if (!differences.empty()) {
    verdict.outcome = Outcome::nondeterministic;
    verdict.message = fmt::format("{}: {}", setup_.display, join(differences));
  }
  return verdict;
}

std::vector<std::string> ProblemBuffers::guard_violations() const {
  const auto* results = static_cast<const CheckResult*>(host_checks_.get());
  const auto* first_bytes = reinterpret_cast<const std::uint64_t*>(results + arguments_.size());
  std::vector<std::string> faults;
  std::vector<bool> named(arguments_.size(), false);  // once per argument, not per copy of it
  for (std::size_t i = 0; i < range_names_.size(); ++i) {
    const std::uint64_t at = first_bytes[i];
    const Bound& bound = arguments_[range_names_[i].argument];
    if (at == kNone || named[range_names_[i].argument]) continue;
    named[range_names_[i].argument] = true;
    const std::size_t bytes = bound.buffers[range_names_[i].slot].bytes();
    faults.push_back(at < kGuardBytes ? fmt::format("writes outside of {}: {} bytes before its start", bound.setup.name, kGuardBytes - at)
                                      : fmt::format("writes outside of {}: {} bytes behind its end ({} elements of {})", bound.setup.name,
                                                    at - kGuardBytes - bytes, bound.count, dtype_name(bound.setup.dtype)));
  }
  return faults;
}

std::vector<std::string> ProblemBuffers::modified_inputs() const {
  const auto* results = static_cast<const CheckResult*>(host_checks_.get());
  std::vector<std::string> faults;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (arguments_[i].is_input() && results[i].first_modified != kNone) {
      faults.push_back(fmt::format("changes its input {}[{}] to {}", arguments_[i].setup.name, results[i].first_modified,
                                   element_text(arguments_[i], kRunA, results[i].first_modified)));
    }
  }
  return faults;
}

std::vector<std::string> ProblemBuffers::dirty_workspaces() const {
  const auto* results = static_cast<const CheckResult*>(host_checks_.get());
  std::vector<std::string> faults;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const Bound& bound = arguments_[i];
    if (!bound.is_workspace() || bound.setup.fill.kind != Fill::Kind::zero || results[i].first_modified == kNone) continue;
    faults.push_back(fmt::format("leaves its workspace {}[{}] at {}, expected zero again after the last launch", bound.setup.name,
                                 results[i].first_modified, element_text(bound, kRunA, results[i].first_modified)));
  }
  return faults;
}

std::string ProblemBuffers::wrong_element(std::size_t argument, std::uint64_t first_wrong) const {
  const Bound& bound = arguments_[argument];
  const std::uint64_t index = first_wrong / 2;
  const Slot run = first_wrong % 2 == 0 ? kRunA : kRunB;
  std::string text = fmt::format("{}[{}] is {}, expected {}", bound.setup.name, index, element_text(bound, run, index),
                                 element_text(bound, kReference, index));
  if (is_floating(bound.setup.dtype)) text += fmt::format(" (tolerance {:g} + {:g} relative)", bound.setup.abs, bound.setup.rel);
  // The element still holds what the buffer was poisoned with.
  std::array<unsigned char, 8> raw = {};
  const std::size_t size = dtype_size(bound.setup.dtype);
  check_cuda(cudaMemcpy(raw.data(), static_cast<const unsigned char*>(bound.pointers[run]) + index * size, size, cudaMemcpyDeviceToHost),
             "reading a wrong element");
  if (bound.setup.access == Argument::Access::out &&
      std::all_of(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(size), [&](unsigned char byte) { return byte == poisons_[run]; })) {
    text += ": it was not written";
  }
  return text;
}

std::string ProblemBuffers::element_text(const Bound& bound, Slot slot, std::uint64_t index) const {
  std::array<unsigned char, 8> raw = {};
  const std::size_t size = dtype_size(bound.setup.dtype);
  check_cuda(cudaMemcpy(raw.data(), static_cast<const unsigned char*>(bound.pointers[slot]) + index * size, size, cudaMemcpyDeviceToHost),
             "reading an element");
  if (bound.setup.dtype == DType::i64 || bound.setup.dtype == DType::u64) {
    std::uint64_t value = 0;
    std::memcpy(&value, raw.data(), sizeof value);
    return bound.setup.dtype == DType::i64 ? fmt::format("{}", static_cast<std::int64_t>(value)) : fmt::format("{}", value);
  }
  const double value = load_as_double(bound.setup.dtype, raw.data());
  if (std::isnan(value)) return "nan";  // the sign of a NaN says nothing
  // As many digits as tell two neighbours apart.
  const int digits = bound.setup.dtype == DType::f64 ? 17 : bound.setup.dtype == DType::f32 ? 9 : is_floating(bound.setup.dtype) ? 5 : 17;
  return fmt::format("{:.{}g}", value, digits);
}

}  // namespace tunebook
