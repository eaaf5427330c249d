#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reports/report.h"

namespace tunebook::reports {

// Collects what each value of each parameter reached, from canonical configurations (JSON objects with sorted keys) of up to millions of
// trials.
class EffectCollector {
 public:
  // Parameters and their values in the order in which they are shown; what is not declared comes behind, in order of appearance.
  void declare(const std::string& parameter, const std::vector<std::string>& values);

  // One trial; `time_us` is nothing for a failure. Returns false, and counts nothing, if the text is no object of plain values.
  bool add(std::string_view canonical, std::optional<double> time_us);

  // Of the parameters with at least two values; the largest spread of the best first, those without a spread last. Of a parameter with
  // more than `most_values` values, those with the best times.
  std::vector<ParameterEffect> effects(std::size_t most_values);

  struct Column {
    std::string name;
    std::vector<std::string> values;
    std::unordered_map<std::string, std::size_t> places;  // of the values
    std::vector<std::int64_t> trials;                     // per value
    std::vector<std::vector<double>> times;               // per value
    std::size_t last = 0;                                 // place of the value that came last: often it comes again
    std::size_t place(const std::string& value);
  };

 private:
  std::size_t column(const std::string& name, std::size_t hint);

  std::vector<Column> columns_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::vector<std::size_t> key_columns_;  // the column of the n-th key last time: keys come in the same order
};

}  // namespace tunebook::reports
