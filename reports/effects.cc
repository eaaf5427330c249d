#include "reports/effects.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/statistics.h"
#include "core/utf8.h"

namespace tunebook::reports {
namespace {

// Reads one flat object without building it.
struct FlatReader : nlohmann::json_sax<nlohmann::json> {
  std::vector<std::pair<std::string, std::string>> members;  // the first `count` are of this object: their memory is used again
  std::size_t count = 0;
  int depth = 0;

  bool value(std::string text) {
    if (depth != 1 || count == 0) return false;
    members[count - 1].second = std::move(text);
    return true;
  }
  bool null() override { return false; }
  bool boolean(bool flag) override { return value(flag ? "true" : "false"); }
  bool number_integer(number_integer_t number) override { return value(std::to_string(number)); }
  bool number_unsigned(number_unsigned_t number) override { return value(std::to_string(number)); }
  bool number_float(number_float_t, const string_t& text) override { return value(text); }
  bool string(string_t& text) override { return value(std::move(text)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return ++depth == 1; }
  bool key(string_t& name) override {
    if (count == members.size()) members.emplace_back();
    members[count++].first = std::move(name);
    return true;
  }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return false; }
  bool end_array() override { return false; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }
};

ParameterEffect effect_of(EffectCollector::Column& column, std::size_t most_values) {
  ParameterEffect effect;
  effect.parameter = valid_utf8(column.name);
  double least = 0, most = 0;
  std::size_t timed_values = 0;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    if (column.trials[i] == 0) continue;
    EffectValue value{valid_utf8(column.values[i]), column.trials[i], static_cast<std::int64_t>(column.times[i].size()), {}, {}};
    if (std::vector<double>& times = column.times[i]; !times.empty()) {
      value.best_us = *std::min_element(times.begin(), times.end());
      value.median_us = median(times);
      least = timed_values == 0 ? *value.best_us : std::min(least, *value.best_us);
      most = timed_values == 0 ? *value.best_us : std::max(most, *value.best_us);
      ++timed_values;
    }
    effect.values.push_back(std::move(value));
  }
  if (timed_values >= 2 && least > 0) effect.spread_of_best = most / least;
  if (effect.values.size() > most_values) {
    std::vector<std::size_t> order(effect.values.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto time = [&](std::size_t i) { return effect.values[i].best_us.value_or(std::numeric_limits<double>::infinity()); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return time(x) < time(y); });
    order.resize(most_values);
    std::sort(order.begin(), order.end());
    std::vector<EffectValue> kept;
    for (const std::size_t i : order) kept.push_back(std::move(effect.values[i]));
    effect.values = std::move(kept);
  }
  return effect;
}

}  // namespace

std::size_t EffectCollector::Column::place(const std::string& value) {
  if (last < values.size() && values[last] == value) return last;
  const auto [found, fresh] = places.try_emplace(value, values.size());
  if (fresh) {
    values.push_back(value);
    trials.push_back(0);
    times.emplace_back();
  }
  return last = found->second;
}

void EffectCollector::declare(const std::string& parameter, const std::vector<std::string>& values) {
  Column& declared = columns_[column(parameter, 0)];
  for (const std::string& value : values) declared.place(value);
}

std::size_t EffectCollector::column(const std::string& name, std::size_t hint) {
  if (hint < columns_.size() && columns_[hint].name == name) return hint;
  const auto [found, fresh] = by_name_.try_emplace(name, columns_.size());
  if (fresh) {
    columns_.emplace_back();
    columns_.back().name = name;
  }
  return found->second;
}

bool EffectCollector::add(std::string_view canonical, std::optional<double> time_us) {
  thread_local FlatReader reader;
  reader.count = 0;
  reader.depth = 0;
  if (!nlohmann::json::sax_parse(canonical.begin(), canonical.end(), &reader)) return false;
  key_columns_.resize(std::max(key_columns_.size(), reader.count));
  for (std::size_t i = 0; i < reader.count; ++i) {
    const auto& [name, value] = reader.members[i];
    key_columns_[i] = column(name, key_columns_[i]);
    Column& each = columns_[key_columns_[i]];
    const std::size_t place = each.place(value);
    ++each.trials[place];
    if (time_us) each.times[place].push_back(*time_us);
  }
  return true;
}

std::vector<ParameterEffect> EffectCollector::effects(std::size_t most_values) {
  std::vector<ParameterEffect> effects;
  for (Column& each : columns_) {
    const auto used = std::count_if(each.trials.begin(), each.trials.end(), [](std::int64_t trials) { return trials > 0; });
    if (used >= 2) effects.push_back(effect_of(each, most_values));
  }
  std::stable_sort(effects.begin(), effects.end(), [](const ParameterEffect& x, const ParameterEffect& y) {
    return x.spread_of_best.value_or(0) > y.spread_of_best.value_or(0);
  });
  return effects;
}

}  // namespace tunebook::reports
