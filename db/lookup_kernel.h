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

// One version of the asked kernel in the book, or the declaration that the application brought along (row -1, no hash).
struct KernelVersion {
  std::int64_t row = -1;
  std::string hash;
  std::shared_ptr<const KernelSpec> spec;  // null: this program cannot read it (a recording has no full declaration)
  std::vector<std::string> parameter_order;
  std::optional<Problem> problem;  // the asked one, complete by this version's declaration; none: it does not fit it
  std::string complaint;           // why it does not
};

// Parsed declarations by the hash of their text, kept for the life of a Lookup. Used under the Lookup's lock.
class SpecCache {
 public:
  std::shared_ptr<const KernelSpec> parse(const std::string& text, const std::string& where);

 private:
  std::unordered_map<std::string, std::shared_ptr<const KernelSpec>> specs_;
};

// The versions of the query's kernel: the asked hash first, then the newest first; the application's declaration last.
std::vector<KernelVersion> kernel_versions(sqlite::Database& book, SpecCache& specs, const Query& query,
                                           const std::shared_ptr<const KernelSpec>& brought);

}  // namespace tunebook
