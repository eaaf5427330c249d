// Shapes and configurations as a user writes them, and the checks of those that come from elsewhere.

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"
#include "core/spec.h"
#include "core/spec_reader.h"

namespace tunebook {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The parts between commas, trimmed; none for a blank text.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  if (trimmed(text).empty()) return parts;
  for (std::size_t start = 0;;) {
    const std::size_t comma = text.find(',', start);
    parts.emplace_back(trimmed(text.substr(start, comma == std::string_view::npos ? comma : comma - start)));
    if (comma == std::string_view::npos) return parts;
    start = comma + 1;
  }
}

bool is_whole_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// A size within the limits; else nothing, and `fault` says why not.
std::optional<std::int64_t> read_size(std::string_view text, std::string& fault) {
  const std::string expected = fmt::format("expected an integer from 1 to {}", kMaxDimension);
  fault = fmt::format("found {}, {}", in_quotes(text), expected);
  if (!is_whole_number(text)) return std::nullopt;
  constexpr std::size_t kShownDigits = 32;
  fault = fmt::format("found {}, {}", text.size() > kShownDigits ? in_quotes(text) : std::string(text), expected);
  std::int64_t size = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || end != text.data() + text.size() || size < 1 || size > kMaxDimension) return std::nullopt;
  return size;
}

[[noreturn]] void fail(const std::string& what, const std::vector<std::string>& problems) {
  std::string message;
  for (const std::string& problem : problems) message += fmt::format("{}{}: {}", message.empty() ? "" : "\n", what, problem);
  throw InputError(message);
}

template <typename Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

class ShapeReader {
 public:
  explicit ShapeReader(const KernelSpec& spec) : spec_(spec) {}

  void read(const std::string& part) {
    if (part.empty()) {
      problems_.push_back("found nothing between two commas, expected a size or NAME=VALUE");
    } else if (const std::size_t equals = part.find('='); equals != std::string::npos) {
      read_named(std::string(trimmed(std::string_view(part).substr(0, equals))), trimmed(std::string_view(part).substr(equals + 1)));
    } else if (const Dimension* category = category_with(part)) {
      give(*category, part);
    } else {
      read_positional(part);
    }
  }

  Problem finish(bool allow_defaults) {
    if (positional_ > sizes().size()) {
      problems_.push_back(fmt::format("found {} sizes, expected {} ({})", positional_, sizes().size(), fmt::join(sizes(), ",")));
    }
    Problem problem;
    std::vector<std::string> missing;
    for (const Dimension& dimension : spec_.dimensions) {
      if (const Value* given = given_.find(dimension.name)) problem.set(dimension.name, *given);
      else if (dimension.categorical || allow_defaults) problem.set(dimension.name, spec_.default_of(dimension, given_));
      else if (std::find(faulty_.begin(), faulty_.end(), dimension.name) == faulty_.end()) missing.push_back(dimension.name);
    }
    if (!missing.empty()) {
      problems_.push_back(fmt::format("found no {}, expected a size for each of {}", fmt::join(missing, " and no "), fmt::join(sizes(), ",")));
    }
    if (!problems_.empty()) fail(fmt::format("shape of {}", spec_.name), problems_);
    return problem;
  }

 private:
  std::vector<std::string> sizes() const {
    std::vector<std::string> names;
    for (const Dimension& dimension : spec_.dimensions) if (!dimension.categorical) names.push_back(dimension.name);
    return names;
  }

  // The one dimension that has this value, if it is one only.
  const Dimension* category_with(const std::string& value) const {
    const Dimension* found = nullptr;
    for (const Dimension& dimension : spec_.dimensions) {
      if (std::find(dimension.values.begin(), dimension.values.end(), value) == dimension.values.end()) continue;
      if (found != nullptr) return nullptr;
      found = &dimension;
    }
    return found;
  }

  void read_named(const std::string& name, std::string_view text) {
    const Dimension* dimension = spec_.find_dimension(name);
    if (dimension == nullptr) {
      const auto known = names_of(spec_.dimensions);
      problems_.push_back(fmt::format("found the unknown dimension {}, expected one of {}{}", in_quotes(name), fmt::join(known, ", "), did_you_mean(name, known)));
    } else {
      give(*dimension, text);
    }
  }

  void read_positional(const std::string& text) {
    if (!is_whole_number(text)) {
      std::vector<std::string> words;
      for (const Dimension& dimension : spec_.dimensions) words.insert(words.end(), dimension.values.begin(), dimension.values.end());
      problems_.push_back(fmt::format("found {}, expected a size, NAME=VALUE{}{}", in_quotes(text),
                                      words.empty() ? "" : fmt::format(" or one of {}", fmt::join(words, ", ")), did_you_mean(text, words)));
    }
    const auto names = sizes();
    if (positional_ < names.size()) {
      const Dimension& dimension = *spec_.find_dimension(names[positional_]);
      if (is_whole_number(text)) give(dimension, text);
      else faulty_.push_back(dimension.name);
    }
    ++positional_;
  }

  void give(const Dimension& dimension, std::string_view text) {
    std::optional<Value> value;
    if (dimension.categorical) {
      if (std::find(dimension.values.begin(), dimension.values.end(), text) != dimension.values.end()) value = std::string(text);
      else problems_.push_back(fmt::format("{}: found {}, expected one of {}{}", dimension.name, in_quotes(text), fmt::join(dimension.values, ", "), did_you_mean(text, dimension.values)));
    } else {
      std::string fault;
      if (const auto size = read_size(text, fault)) value = *size;
      else problems_.push_back(fmt::format("{}: {}", dimension.name, fault));
    }
    if (!value) {
      faulty_.push_back(dimension.name);
    } else if (given_.find(dimension.name) != nullptr) {
      problems_.push_back(fmt::format("{}: given twice, expected once", dimension.name));
    } else {
      given_.set(dimension.name, *value);
    }
  }

  const KernelSpec& spec_;
  Problem given_;
  std::vector<std::string> faulty_;  // dimensions already complained about
  std::vector<std::string> problems_;
  std::size_t positional_ = 0;
};

std::string declared_values(const Parameter& parameter) {
  std::vector<std::string> values;
  for (const Value& value : parameter.values) values.push_back(to_text(value));
  return fmt::format("{}", fmt::join(values, ", "));
}

}  // namespace

Problem KernelSpec::parse_shape(std::string_view text, bool allow_defaults) const {
  ShapeReader reader(*this);
  for (const std::string& part : split(text)) reader.read(part);
  return reader.finish(allow_defaults);
}

void KernelSpec::check_problem(const Problem& problem) const {
  std::vector<std::string> problems;
  const auto known = names_of(dimensions);
  for (const auto& [dimension_name, value] : problem.items()) {
    if (find_dimension(dimension_name) != nullptr) continue;
    problems.push_back(fmt::format("found the unknown dimension {}, expected one of {}{}", in_quotes(dimension_name), fmt::join(known, ", "), did_you_mean(dimension_name, known)));
  }
  for (const Dimension& dimension : dimensions) {
    const Value* value = problem.find(dimension.name);
    if (value == nullptr) {
      problems.push_back(fmt::format("found no {}, expected a value for each of {}", dimension.name, fmt::join(known, ",")));
    } else if (dimension.categorical) {
      const auto* chosen = std::get_if<std::string>(value);
      if (chosen == nullptr || std::find(dimension.values.begin(), dimension.values.end(), *chosen) == dimension.values.end()) {
        problems.push_back(fmt::format("{}: found {}, expected one of {}", dimension.name, in_quotes(to_text(*value)), fmt::join(dimension.values, ", ")));
      }
    } else {
      const auto* size = std::get_if<std::int64_t>(value);
      if (size == nullptr || *size < 1 || *size > kMaxDimension) {
        problems.push_back(fmt::format("{}: found {}, expected an integer from 1 to {}", dimension.name, in_quotes(to_text(*value)), kMaxDimension));
      }
    }
  }
  if (!problems.empty()) fail(fmt::format("problem of {}", name), problems);
}

Configuration KernelSpec::parse_configuration(std::string_view text) const {
  std::vector<std::string> problems;
  std::vector<std::string> faulty;
  Configuration given;
  const auto known = names_of(parameters);
  for (const std::string& part : split(text)) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) {
      problems.push_back(fmt::format("found {}, expected PARAMETER=VALUE", in_quotes(part)));
      continue;
    }
    const std::string parameter_name(trimmed(std::string_view(part).substr(0, equals)));
    const std::string_view value_text = trimmed(std::string_view(part).substr(equals + 1));
    const Parameter* parameter = find_parameter(parameter_name);
    if (parameter == nullptr) {
      problems.push_back(fmt::format("found the unknown parameter {}, expected one of {}{}", in_quotes(parameter_name), fmt::join(known, ", "), did_you_mean(parameter_name, known)));
      continue;
    }
    const auto value = std::find_if(parameter->values.begin(), parameter->values.end(), [&](const Value& one) { return to_text(one) == value_text; });
    if (value == parameter->values.end()) {
      problems.push_back(fmt::format("{}: found {}, expected one of {}", parameter_name, in_quotes(value_text), declared_values(*parameter)));
      faulty.push_back(parameter_name);
    } else if (given.find(parameter_name) != nullptr) {
      problems.push_back(fmt::format("{}: given twice, expected once", parameter_name));
    } else {
      given.set(parameter_name, *value);
    }
  }
  Configuration configuration;  // in declared order
  std::vector<std::string> missing;
  for (const Parameter& parameter : parameters) {
    if (const Value* value = given.find(parameter.name)) configuration.set(parameter.name, *value);
    else if (std::find(faulty.begin(), faulty.end(), parameter.name) == faulty.end()) missing.push_back(parameter.name);
  }
  if (!missing.empty()) problems.push_back(fmt::format("found no {}, expected a value for every parameter", fmt::join(missing, " and no ")));
  if (!problems.empty()) fail(fmt::format("configuration of {}", name), problems);
  return configuration;
}

void KernelSpec::check_configuration(const Configuration& configuration, std::string_view where) const {
  std::vector<std::string> problems;
  const auto known = names_of(parameters);
  for (const auto& [parameter_name, value] : configuration.items()) {
    if (find_parameter(parameter_name) != nullptr) continue;
    problems.push_back(fmt::format("found the unknown parameter {}, expected one of {}{}", in_quotes(parameter_name), fmt::join(known, ", "), did_you_mean(parameter_name, known)));
  }
  for (const Parameter& parameter : parameters) {
    const Value* value = configuration.find(parameter.name);
    if (value == nullptr) {
      problems.push_back(fmt::format("found no {}, expected a value for every parameter of {}", parameter.name, name));
    } else if (std::find(parameter.values.begin(), parameter.values.end(), *value) == parameter.values.end()) {
      problems.push_back(fmt::format("{}: found {}, expected one of {}", parameter.name, in_quotes(to_text(*value)), declared_values(parameter)));
    }
  }
  if (!problems.empty()) fail(std::string(where), problems);
}

}  // namespace tunebook
