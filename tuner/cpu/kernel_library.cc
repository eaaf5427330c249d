#include "cpu/kernel_library.h"

#include <stdexcept>
#include <utility>

#include <dlfcn.h>

namespace tunebook {
namespace {

// Static shared memory that the kernel being loaded asks for. Libraries are loaded by one thread.
thread_local std::size_t t_reserved_bytes = 0;

}  // namespace

KernelLibrary::KernelLibrary(const std::string& path, const std::string& symbol) {
  t_reserved_bytes = 0;
  handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) throw std::runtime_error(::dlerror());
  static_shared_bytes_ = t_reserved_bytes;
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
    : handle_(std::exchange(other.handle_, nullptr)), entry_(other.entry_), static_shared_bytes_(other.static_shared_bytes_) {}

}  // namespace tunebook

extern "C" unsigned tunebook_cpu_reserve_shared(unsigned bytes, unsigned alignment) {
  std::size_t& reserved = tunebook::t_reserved_bytes;
  const std::size_t offset = (reserved + alignment - 1) / alignment * alignment;
  reserved = offset + bytes;
  return static_cast<unsigned>(offset);
}
