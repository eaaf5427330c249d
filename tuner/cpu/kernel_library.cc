#include "cpu/kernel_library.h"

#include <map>
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

// Initialisers run, and tell what they reserve, at the first loading only: kernels of one file share what that gave.
std::map<std::string, std::weak_ptr<const OpenLibrary>>& open_libraries() {
  static thread_local std::map<std::string, std::weak_ptr<const OpenLibrary>> libraries;
  return libraries;
}

}  // namespace

// A shared object in this process.
class OpenLibrary {
 public:
  explicit OpenLibrary(const std::string& path) {
    t_reserved_bytes = t_laid_out_bytes = 0;
    t_reserved.clear();
    handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw std::runtime_error(::dlerror());
    static_shared_bytes = t_reserved_bytes;
    static_shared_ranges = std::move(t_reserved);
    if (!sanitizing()) static_shared_ranges = {{0, static_shared_bytes}};
  }
  ~OpenLibrary() { ::dlclose(handle_); }
  OpenLibrary(const OpenLibrary&) = delete;
  OpenLibrary& operator=(const OpenLibrary&) = delete;
  void* find(const std::string& symbol) const { return ::dlsym(handle_, symbol.c_str()); }

  std::size_t static_shared_bytes = 0;  // of all its kernels together
  std::vector<SharedRange> static_shared_ranges;

 private:
  void* handle_ = nullptr;
};

KernelLibrary::KernelLibrary(const std::string& path, const std::string& symbol) {
  std::weak_ptr<const OpenLibrary>& known = open_libraries()[path];
  library_ = known.lock();
  if (library_ == nullptr) known = library_ = std::make_shared<const OpenLibrary>(path);
  entry_ = reinterpret_cast<KernelEntry>(library_->find(symbol));
  if (entry_ == nullptr) throw std::runtime_error(path + " has no symbol " + symbol);
}

std::size_t KernelLibrary::static_shared_bytes() const { return library_->static_shared_bytes; }
const std::vector<SharedRange>& KernelLibrary::static_shared_ranges() const { return library_->static_shared_ranges; }

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
