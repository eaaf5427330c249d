#include "cpu/kernel_library.h"

#include <stdexcept>
#include <utility>

#include <dlfcn.h>

#include "cpu/asan_hooks.h"
#include "cpu/shared_arena.h"

namespace tunebook {
namespace {

// After each declaration, in a worker that sanitizes: what lies there cannot be taken for a neighbour.
constexpr std::size_t kSharedGapBytes = 64;

// Static shared memory that the kernel being loaded asks for. Libraries are loaded by one thread.
thread_local std::size_t t_reserved_bytes = 0;
thread_local std::vector<SharedRange> t_reserved;
thread_local std::size_t t_laid_out_bytes = 0;  // with the gaps

}  // namespace

KernelLibrary::KernelLibrary(const std::string& path, const std::string& symbol) {
  t_reserved_bytes = t_laid_out_bytes = 0;
  t_reserved.clear();
  handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) throw std::runtime_error(::dlerror());
  static_shared_bytes_ = t_reserved_bytes;
  static_shared_ranges_ = std::move(t_reserved);
  if (!sanitizing()) static_shared_ranges_ = {{0, static_shared_bytes_}};
  entry_ = reinterpret_cast<KernelEntry>(::dlsym(handle_, symbol.c_str()));
  if (entry_ == nullptr) {
    ::dlclose(handle_);
    throw std::runtime_error(path + " has no symbol " + symbol);
  }
}

KernelLibrary::~KernelLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

KernelLibrary::KernelLibrary(KernelLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), entry_(other.entry_), static_shared_bytes_(other.static_shared_bytes_),
      static_shared_ranges_(std::move(other.static_shared_ranges_)) {}

}  // namespace tunebook

extern "C" unsigned tunebook_cpu_reserve_shared(unsigned bytes, unsigned alignment) {
  const auto aligned = [alignment](std::size_t offset) { return (offset + alignment - 1) / alignment * alignment; };
  std::size_t& reserved = tunebook::t_reserved_bytes;
  reserved = aligned(reserved) + bytes;
  if (!tunebook::sanitizing()) return static_cast<unsigned>(reserved - bytes);
  const std::size_t offset = aligned(tunebook::t_laid_out_bytes);
  tunebook::t_reserved.push_back({offset, bytes});
  // Near the most that there can be, a gap less is better than a kernel that cannot run.
  const bool room = offset + bytes + tunebook::kSharedGapBytes < tunebook::SharedArena::kMaxBytes / 2;
  tunebook::t_laid_out_bytes = offset + bytes + (room ? tunebook::kSharedGapBytes : 0);
  return static_cast<unsigned>(offset);
}
