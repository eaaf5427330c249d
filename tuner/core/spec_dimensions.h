#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/spec.h"
#include "core/spec_reader.h"

namespace tunebook {

// Reads the dimensions of a problem as kernel.json writes them, noting what is wrong with them.
class DimensionReader {
 public:
  DimensionReader(SpecReader& reader, std::vector<Dimension>& dimensions) : reader_(reader), dimensions_(dimensions) {}
  // The next one, in order.
  void read(const SpecNode& node, const std::string& name);
  // When all are read: defaults that depend on the data type.
  void finish();

 private:
  void read_size(const SpecNode& node, Dimension& dimension);
  void read_category(const SpecNode& node, Dimension& dimension);
  void read_default_by_dtype(const SpecNode& node, Dimension& dimension);

  SpecReader& reader_;
  std::vector<Dimension>& dimensions_;
  std::vector<std::pair<std::string, SpecNode>> defaults_by_dtype_;  // dimensions with the default as written
};

// The data type of that name; else noted.
std::optional<DType> read_dtype_name(SpecReader& reader, const SpecNode& node, std::string_view text);

}  // namespace tunebook
