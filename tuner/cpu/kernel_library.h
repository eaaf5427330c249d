#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cpu/block_runner.h"

namespace tunebook {

class OpenLibrary;

// A compiled kernel, loaded. Loading runs its static initialisers. For one thread.
class KernelLibrary {
 public:
  // Throws std::runtime_error with the loader's words.
  KernelLibrary(const std::string& path, const std::string& symbol);

  KernelEntry entry() const { return entry_; }
  // Of all kernels of its file together.
  std::size_t static_shared_bytes() const;
  // Where the static shared memory lies. One piece, but in a worker that sanitizes: there each declaration, with gaps between.
  const std::vector<SharedRange>& static_shared_ranges() const;

 private:
  std::shared_ptr<const OpenLibrary> library_;
  KernelEntry entry_ = nullptr;
};

}  // namespace tunebook
