#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>

#include "db/encoding.h"
#include "db/sqlite.h"
#include "db/store.h"

namespace tunebook {

// The hash of everything in the context that makes a trial another trial.
Hash context_hash(const TrialContext& context);
Hash trial_key(const TrialContext& context, const Problem& problem, const Configuration& configuration);
Hash session_identity(const TrialContext& context, const std::string& identity_text);

// Row ids of what trials refer to. Each row is looked up or added once per connection; what is held here is a hash and an id
// per row, so that a session over 100,000 configurations needs a few MB.
// All calls run inside a write transaction of the caller; if that is rolled back, forget() must follow, since the rows are gone.
class Interner {
 public:
  explicit Interner(sqlite::Database& database);

  std::int64_t device(const Device& device);
  std::int64_t environment(const nlohmann::json& environment);
  std::int64_t kernel(const TrialContext& context);
  std::int64_t problem(const Problem& problem);
  std::int64_t configuration(const Configuration& configuration);
  void forget();

 private:
  struct HashOfHash {
    std::size_t operator()(const Hash& hash) const {
      std::size_t value = 0;
      std::memcpy(&value, hash.data(), sizeof(value));  // already well mixed
      return value;
    }
  };
  using Ids = std::unordered_map<Hash, std::int64_t, HashOfHash>;

  // The id of the row of this hash; a new one with this text if there is none.
  static std::int64_t intern(Ids& ids, sqlite::Statement& find, sqlite::Statement& insert, std::string_view text);

  sqlite::Statement find_device_, insert_device_;
  sqlite::Statement find_environment_, insert_environment_;
  sqlite::Statement find_kernel_, insert_kernel_;
  sqlite::Statement find_problem_, insert_problem_;
  sqlite::Statement find_configuration_, insert_configuration_;
  Ids devices_, environments_, kernels_, problems_, configurations_;
};

}  // namespace tunebook
