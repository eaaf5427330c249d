#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/dtype.h"

namespace tunebook {

struct ElementCheck {
  std::optional<std::int64_t> first_bad;  // smallest index that differs too much
  double max_error = 0;                   // largest |d| / (abs + rel |expected|) of the others
};

// Elements [begin, end): integers must be equal; floating ones satisfy |d| <= abs + rel |expected|, where NaN expects NaN and
// an infinity the same infinity.
ElementCheck check_elements(DType type, const void* got, const void* expected, std::int64_t begin, std::int64_t end, double rel,
                            double abs);

// One element as text, all its digits.
std::string element_text(DType type, const void* elements, std::int64_t index);

}  // namespace tunebook
