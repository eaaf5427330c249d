#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/spec.h"
#include "db/sqlite.h"
#include "tunebook/lookup.h"

namespace tunebook {

// Resources recorded for one block of a preset, on one device.
struct PresetNeeds {
  std::int64_t device_row = -1;
  std::optional<std::int64_t> registers;
  std::optional<std::int64_t> shared_bytes;
};

// One version of a kernel in the book, or a declaration that the application brought along (row -1, no hash).
struct KernelVersion {
  std::int64_t row = -1;
  std::string hash;
  std::shared_ptr<const KernelSpec> spec;  // null: this program cannot read it (a recording has no full declaration)
  std::vector<std::string> parameter_order;
  // For each of the declaration's default_choices; empty in a book that does not say.
  std::vector<std::vector<PresetNeeds>> preset_needs;
};

// The asked problem as one version of the kernel understands it.
struct KernelFit {
  std::optional<Problem> problem;  // complete and in declared order; none: it does not fit the declaration,
  std::string complaint;           // for this reason
};
KernelFit fit_problem(const KernelVersion& version, const LookupValues& asked);

// Parsed declarations by the hash of their text, kept for the life of a Lookup. For one thread at a time.
class SpecCache {
 public:
  std::shared_ptr<const KernelSpec> parse(const std::string& text, const std::string& where);

 private:
  std::unordered_map<std::string, std::shared_ptr<const KernelSpec>> specs_;
};

// The versions of a kernel, the newest first, the application's declarations of it last.
std::vector<KernelVersion> kernel_versions(sqlite::Database& book, std::int64_t book_version, SpecCache& specs, const std::string& kernel,
                                           const std::vector<std::shared_ptr<const KernelSpec>>& brought);

}  // namespace tunebook
