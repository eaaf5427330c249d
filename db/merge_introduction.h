#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/merge_rows.h"
#include "db/merge_source.h"
#include "db/sqlite.h"

namespace tunebook {

// Of two texts for one key one is kept: a damaged one would take the place of the right one, in every session that refers to it. A kernel's
// spec has to be an object; so has a device, with the values that its key says it has. (Other texts are known by their hash.) Throws InputError.
void check_described(const std::string& book, const MergeTable& table, const std::string& name, const std::vector<sqlite::Cell>& cells);

// A larger id of a kernel or a device tells that it was first seen later: those that the target has not come in the order in which their
// first sessions began, whichever book they are in. `name`: of the table. Returns their ids.
std::vector<std::int64_t> introduce(const std::string& name, std::vector<MergeSource>& sources, sqlite::Database& target);

// Takes back what was introduced for books that were then not merged, because one of them was refused: what no session refers to.
void withdraw(sqlite::Database& target, const std::vector<std::int64_t>& kernels, const std::vector<std::int64_t>& devices);

}  // namespace tunebook
