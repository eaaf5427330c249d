#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cpu/block_runner.h"

namespace tunebook {

// A compiled kernel, loaded. Loading runs its static initialisers.
class KernelLibrary {
 public:
  // Throws std::runtime_error with the loader's words.
  KernelLibrary(const std::string& path, const std::string& symbol);
  ~KernelLibrary();
  KernelLibrary(KernelLibrary&& other) noexcept;
  KernelLibrary& operator=(KernelLibrary&&) = delete;

  KernelEntry entry() const { return entry_; }
  std::size_t static_shared_bytes() const { return static_shared_bytes_; }
  // Where its static shared memory lies. One piece, but in a worker that sanitizes: there each declaration, with gaps between.
  const std::vector<SharedRange>& static_shared_ranges() const { return static_shared_ranges_; }

 private:
  void* handle_ = nullptr;
  KernelEntry entry_ = nullptr;
  std::size_t static_shared_bytes_ = 0;
  std::vector<SharedRange> static_shared_ranges_;
};

}  // namespace tunebook
