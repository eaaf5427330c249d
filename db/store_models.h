#pragma once

#include <vector>

#include "db/sqlite.h"
#include "db/store.h"

namespace tunebook {

// Inside a write transaction of the caller: replaces the row of the same kernel, device, data type
// and method.
void write_model(sqlite::Database& database, const ModelRecord& model);

// Likewise removes it, if it is there.
void delete_model(sqlite::Database& database, const ModelRecord& model);

inline constexpr const char* kAllModels =
    "SELECT kernel_id, device_id, dtype, method, format, body, trials, problems, learned_from, "
    "learned_utc, content_hash "
    "FROM model ORDER BY kernel_id, device_id, dtype, method";
// `select` gives these columns. A row whose body is not what its hash says is left out: it is
// damaged.
std::vector<ModelRecord> read_models(sqlite::Database& database, const char* select = kAllModels);

}  // namespace tunebook
