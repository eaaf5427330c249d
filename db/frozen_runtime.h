#pragma once

namespace tunebook {

// The code of a frozen header (db/frozen_*.inc), the same in each and in this order: types, expressions, checks,
// models of time, the lookup.
extern const char* const kFrozenTables;
extern const char* const kFrozenExpressions;
extern const char* const kFrozenCheck;
extern const char* const kFrozenModel;
extern const char* const kFrozenQuestion;

}  // namespace tunebook
