#include "cpu/problem_buffers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <new>

#include <fmt/format.h>

#include "core/fill_value.h"
#include "cpu/element_check.h"

namespace tunebook {
namespace {

constexpr std::int64_t kPieceElements = std::int64_t{1} << 16;
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;

using Access = Argument::Access;

}  // namespace

ProblemBuffers::ProblemBuffers(const ProblemSetup& setup, WorkerThreads& threads) : setup_(setup), threads_(threads) {
  slots_.resize(setup_.arguments.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const ArgumentSetup& argument = setup_.arguments[i];
    Slot& slot = slots_[i];
    if (!argument.pointer) {
      store_scalar(argument.dtype, argument.integer, argument.real, slot.scalar);
      pointers_.push_back(slot.scalar);
      continue;
    }
    const std::size_t bytes = static_cast<std::size_t>(argument.count) * dtype_size(argument.dtype);
    slot.count = argument.count;
    slot.pointer = slot.buffer.emplace(bytes).data();
    pointers_.push_back(&slot.pointer);
    if (argument.access == Access::in || argument.access == Access::inout) {
      fill(argument, slot.pointer);
      slot.original.resize(bytes);
      copy(slot.original.data(), slot.pointer, bytes);
    }
  }
}

void ProblemBuffers::fill(const ArgumentSetup& argument, void* data) {
  const std::size_t size = dtype_size(argument.dtype);
  const int kind = static_cast<int>(argument.fill.kind);
  const int fraction = fraction_bits(argument.dtype);
  threads_.parallel_for(argument.count, kPieceElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<std::uint64_t>(i);
      char* const element = static_cast<char*>(data) + static_cast<std::size_t>(i) * size;
      const unsigned special = fraction > 0 ? special_of(argument.fill.special, argument.seed, index) : 0;
      if (special != 0) {
        const std::uint64_t bits = special_bits(special, static_cast<int>(size), fraction);
        std::memcpy(element, &bits, size);  // little-endian: the low bytes
      } else {
        store_from_double(argument.dtype, fill_value(kind, argument.fill.low, argument.fill.high, argument.seed, index), element);
      }
    }
  });
}

void ProblemBuffers::copy(void* to, const void* from, std::size_t bytes) {
  threads_.parallel_for(static_cast<std::int64_t>(bytes), kPieceBytes, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, static_cast<std::size_t>(end - begin));
  });
}

bool ProblemBuffers::is_output(std::size_t i) const {
  return setup_.arguments[i].pointer && setup_.arguments[i].access != Access::in && !is_workspace(i);
}

bool ProblemBuffers::is_workspace(std::size_t i) const {
  return setup_.arguments[i].pointer && setup_.arguments[i].access == Access::workspace;
}

void** ProblemBuffers::arguments(const std::vector<ScalarValue>& scalars) {
  launch_pointers_ = pointers_;
  for (const ScalarValue& scalar : scalars) {
    const auto i = static_cast<std::size_t>(scalar.argument);
    store_scalar(setup_.arguments.at(i).dtype, scalar.integer, scalar.real, slots_[i].launch_scalar);
    launch_pointers_[i] = slots_[i].launch_scalar;
  }
  return launch_pointers_.data();
}

void ProblemBuffers::make_workspaces(const std::vector<WorkspaceSize>& sizes, std::uint8_t poison) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!is_workspace(i)) continue;
    const ArgumentSetup& argument = setup_.arguments[i];
    Slot& slot = slots_[i];
    const auto given = std::find_if(sizes.begin(), sizes.end(), [&](const WorkspaceSize& size) { return std::cmp_equal(size.argument, i); });
    const std::int64_t count = given == sizes.end() ? argument.count : given->count;
    if (count != slot.count) {
      slot.count = 0;
      try {
        slot.buffer.reset();  // the old one first: both may not fit
        slot.pointer = slot.buffer.emplace(static_cast<std::size_t>(count) * dtype_size(argument.dtype)).data();
      } catch (const std::bad_alloc&) {
        slot.pointer = slot.buffer.emplace(0).data();  // for the next candidate, which may want less
        throw;
      }
      slot.count = count;
    }
    const int value = argument.fill.kind == Fill::Kind::zero ? 0 : poison;
    threads_.parallel_for(static_cast<std::int64_t>(slot.buffer->bytes()), kPieceBytes, [&](std::int64_t begin, std::int64_t end) {
      std::memset(static_cast<char*>(slot.pointer) + begin, value, static_cast<std::size_t>(end - begin));
    });
  }
}

// What starts at zero must be zero for the next launch.
std::optional<Rejection> ProblemBuffers::check_workspace(std::size_t i) const {
  const ArgumentSetup& argument = setup_.arguments[i];
  if (argument.fill.kind != Fill::Kind::zero) return std::nullopt;
  const auto* const bytes = static_cast<const unsigned char*>(slots_[i].pointer);
  const auto* const end = bytes + slots_[i].buffer->bytes();
  const auto* const dirty = std::find_if(bytes, end, [](unsigned char byte) { return byte != 0; });
  if (dirty == end) return std::nullopt;
  const std::int64_t index = (dirty - bytes) / static_cast<std::ptrdiff_t>(dtype_size(argument.dtype));
  return Rejection{Outcome::wrong_result, fmt::format("{} of the workspace is left at {}, expected zero again after the last launch",
                                                      element(i, index), element_text(argument.dtype, slots_[i].pointer, index))};
}

void ProblemBuffers::prepare(std::uint8_t poison) {
  poison_ = poison;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!is_output(i) || setup_.arguments[i].access != Access::out) continue;
    GuardedBuffer& buffer = *slots_[i].buffer;
    threads_.parallel_for(static_cast<std::int64_t>(buffer.bytes()), kPieceBytes, [&](std::int64_t begin, std::int64_t end) {
      std::memset(static_cast<char*>(buffer.data()) + begin, poison, static_cast<std::size_t>(end - begin));
    });
  }
  restore_changed_inputs();
}

bool ProblemBuffers::has_changed_inputs() const {
  return std::any_of(setup_.arguments.begin(), setup_.arguments.end(),
                     [](const ArgumentSetup& argument) { return argument.pointer && argument.access == Access::inout; });
}

void ProblemBuffers::restore_changed_inputs() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!setup_.arguments[i].pointer || setup_.arguments[i].access != Access::inout) continue;
    copy(slots_[i].buffer->data(), slots_[i].original.data(), slots_[i].original.size());
  }
}

void ProblemBuffers::repair() {
  for (Slot& slot : slots_) {
    if (!slot.buffer) continue;
    slot.buffer->repair();
    if (slot.original.empty()) continue;
    copy(slot.buffer->data(), slot.original.data(), slot.original.size());
  }
}

void ProblemBuffers::keep_expected() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!is_output(i)) continue;
    slots_[i].expected.resize(slots_[i].buffer->bytes());
    copy(slots_[i].expected.data(), slots_[i].buffer->data(), slots_[i].expected.size());
  }
}

std::string ProblemBuffers::element(std::size_t i, std::int64_t index) const {
  return fmt::format("{}: {}[{}]", setup_.display, setup_.arguments[i].name, index);
}

// Whether the element still holds what outputs were filled with.
bool ProblemBuffers::unwritten(std::size_t i, std::int64_t index) const {
  if (setup_.arguments[i].access != Access::out) return false;
  const std::size_t size = dtype_size(setup_.arguments[i].dtype);
  const auto* const bytes = static_cast<const unsigned char*>(slots_[i].pointer) + static_cast<std::size_t>(index) * size;
  return std::all_of(bytes, bytes + size, [this](unsigned char byte) { return byte == poison_; });
}

std::optional<Rejection> ProblemBuffers::check(double& max_error) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const ArgumentSetup& argument = setup_.arguments[i];
    if (!argument.pointer) continue;
    const Slot& slot = slots_[i];
    if (const auto offset = slot.buffer->damage()) {
      return Rejection{Outcome::wrong_result,
                       fmt::format("{}: memory outside buffer '{}' was overwritten at byte {} (the buffer has {} bytes)",
                                   setup_.display, argument.name, *offset, slot.buffer->bytes())};
    }
    if (is_workspace(i)) {
      if (auto dirty = check_workspace(i)) return dirty;
      continue;
    }
    const bool output = is_output(i);
    const void* const expected = output ? slot.expected.data() : slot.original.data();
    std::mutex mutex;
    ElementCheck total;
    threads_.parallel_for(argument.count, kPieceElements, [&](std::int64_t begin, std::int64_t end) {
      // An input must be the same bit by bit, which the integer of the same size compares.
      const DType type = output ? argument.dtype : DType::u8;
      const auto scale = output ? 1 : static_cast<std::int64_t>(dtype_size(argument.dtype));
      const ElementCheck part = check_elements(type, slot.pointer, expected, begin * scale, end * scale, argument.rel, argument.abs);
      const std::lock_guard lock(mutex);
      total.max_error = std::max(total.max_error, part.max_error);
      if (part.first_bad) total.first_bad = std::min(total.first_bad.value_or(*part.first_bad / scale), *part.first_bad / scale);
    });
    if (total.first_bad) {
      const std::string got = element_text(argument.dtype, slot.pointer, *total.first_bad);
      const std::string wanted = element_text(argument.dtype, expected, *total.first_bad);
      if (!output) {
        return Rejection{Outcome::wrong_result, fmt::format("{} of an input was changed from {} to {}",
                                                            element(i, *total.first_bad), wanted, got)};
      }
      const double value = load_as_double(argument.dtype, static_cast<const char*>(static_cast<const void*>(expected)) +
                                                              static_cast<std::size_t>(*total.first_bad) * dtype_size(argument.dtype));
      const std::string tolerance =
          std::isfinite(value) && is_floating(argument.dtype) ? fmt::format(" (tolerance {:.3g})", argument.abs + argument.rel * (value < 0 ? -value : value))
                                      : std::string();
      return Rejection{Outcome::wrong_result,
                       fmt::format("{} is {}, expected {}{}{}", element(i, *total.first_bad), got, wanted, tolerance,
                                   unwritten(i, *total.first_bad) ? ": it was not written" : "")};
    }
    max_error = std::max(max_error, total.max_error);
  }
  return std::nullopt;
}

void ProblemBuffers::keep_first_run() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!is_output(i)) continue;
    slots_[i].first_run.resize(slots_[i].buffer->bytes());
    copy(slots_[i].first_run.data(), slots_[i].buffer->data(), slots_[i].first_run.size());
  }
}

std::optional<Rejection> ProblemBuffers::compare_with_first_run() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!is_output(i)) continue;
    const Slot& slot = slots_[i];
    const auto size = static_cast<std::int64_t>(dtype_size(setup_.arguments[i].dtype));
    const ElementCheck check =
        check_elements(DType::u8, slot.pointer, slot.first_run.data(), 0, static_cast<std::int64_t>(slot.first_run.size()), 0, 0);
    if (!check.first_bad) continue;
    const std::int64_t index = *check.first_bad / size;
    return Rejection{Outcome::nondeterministic,
                     fmt::format("{} is {} in one run and {} in another", element(i, index),
                                 element_text(setup_.arguments[i].dtype, slot.first_run.data(), index),
                                 element_text(setup_.arguments[i].dtype, slot.pointer, index))};
  }
  return std::nullopt;
}

std::string ProblemBuffers::describe_address(const void* address) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].buffer) continue;
    const std::optional<std::ptrdiff_t> offset = slots_[i].buffer->guard_offset(address);
    if (!offset) continue;
    const auto bytes = static_cast<std::ptrdiff_t>(slots_[i].buffer->bytes());
    return *offset < 0 ? fmt::format("access outside buffer '{}': {} bytes before its start", setup_.arguments[i].name, -*offset)
                       : fmt::format("access outside buffer '{}': byte offset +{} past its end", setup_.arguments[i].name,
                                     *offset - bytes);
  }
  return "";
}

}  // namespace tunebook
