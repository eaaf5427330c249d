#pragma once

namespace tunebook {

// The code of a frozen header (db/frozen_*.inc), the same in each: types and expressions, then the lookup.
extern const char* const kFrozenExpressions;
extern const char* const kFrozenQuestion;

}  // namespace tunebook
