#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "db/time_model.h"

namespace tunebook {
namespace {

// Collects texts, each once and as far as they compile: a text that is too long or too deep is left
// out.
class FeatureList {
 public:
  explicit FeatureList(const KernelSpec& spec) : spec_(spec) {}

  void add(std::string text) {
    if (features_.size() == TimeModel::kMaxFeatures || seen_.contains(text)) return;
    try {
      Expression::compile(text, spec_.names);
    } catch (const ExpressionError&) {
      return;
    }
    seen_.insert(text);
    features_.push_back(std::move(text));
  }
  std::vector<std::string> take() { return std::move(features_); }

 private:
  const KernelSpec& spec_;
  std::set<std::string> seen_;
  std::vector<std::string> features_;
};

std::string quoted(const std::string& text) {
  const char quote = text.find('\'') == std::string::npos ? '\'' : '"';
  return quote + text + quote;
}

void add_problem(const KernelSpec& spec, FeatureList& list) {
  std::string volume;
  for (const Dimension& dimension : spec.dimensions) {
    const std::string& name = dimension.name;
    if (dimension.categorical) continue;
    list.add(name);
    list.add(
        fmt::format("16 if {0} % 16 == 0 else 8 if {0} % 8 == 0 else 4 if {0} % 4 == 0 else 2 if "
                    "{0} % 2 == 0 else 1",
                    name));
    volume += (volume.empty() ? "" : " * ") + name;
  }
  if (!volume.empty()) list.add(volume);
  for (const Dimension& dimension : spec.dimensions) {
    // Each data type has a model of its own.
    if (!dimension.categorical || dimension.name == "dtype") continue;
    for (std::size_t i = 1; i < dimension.values.size(); ++i) {
      list.add(fmt::format("{} == {}", dimension.name, quoted(dimension.values[i])));
    }
  }
}

void add_parameters(const KernelSpec& spec, FeatureList& list) {
  for (const Parameter& parameter : spec.parameters) {
    if (parameter.values.size() < 2) continue;
    if (std::holds_alternative<std::int64_t>(parameter.values.front())) {
      list.add(parameter.name);
    } else if (std::holds_alternative<bool>(parameter.values.front())) {
      list.add(fmt::format("1 if {} else 0", parameter.name));
    } else {
      // Of two values one feature tells both.
      for (std::size_t i = parameter.values.size() == 2 ? 1 : 0; i < parameter.values.size(); ++i) {
        list.add(fmt::format("{} == {}", parameter.name,
                             quoted(std::get<std::string>(parameter.values[i]))));
      }
    }
  }
}

// One launch as texts, each of which may stand wherever an operand may.
struct LaunchTexts {
  std::string repeat;  // "": once
  std::string blocks, threads, shared, blocks_per_sm;

  // The text where the launch takes place, else `otherwise`.
  std::string where_launched(const std::string& text, const char* otherwise = "0") const {
    return repeat.empty() ? text : fmt::format("({} if {} else {})", text, repeat, otherwise);
  }
  // The text times the number of launches.
  std::string in_all(const std::string& text) const {
    return repeat.empty() ? text : where_launched(fmt::format("{} * {}", text, repeat));
  }
};

std::string product(const std::array<Expression, 3>& extents) {
  std::string text;
  for (const Expression& extent : extents) {
    if (extent.empty() || extent.text() == "1") continue;
    text += (text.empty() ? "(" : " * (") + extent.text() + ")";
  }
  return text.empty() ? "1" : "(" + text + ")";
}

LaunchTexts texts_of(const Launch& launch) {
  LaunchTexts texts;
  if (!launch.repeat.empty() && launch.repeat.text() != "1")
    texts.repeat = "(" + launch.repeat.text() + ")";
  texts.blocks = product(launch.grid);
  texts.threads = product(launch.block);
  texts.shared = launch.shared_bytes.empty() ? "0" : "(" + launch.shared_bytes.text() + ")";
  texts.blocks_per_sm =
      fmt::format("max(1, min(device.max_blocks_per_sm, device.max_threads_per_sm // max(1, {})",
                  texts.threads);
  if (texts.shared != "0")
    texts.blocks_per_sm += fmt::format(", device.shared_bytes_per_sm // max(1, {})", texts.shared);
  texts.blocks_per_sm += "))";
  return texts;
}

// One text per launch, joined: "max(a, b)", "a + b", or the only one as it is.
template <class Text>
std::string largest(const std::vector<LaunchTexts>& launches, const char* function, Text&& text) {
  std::vector<std::string> each;
  for (const LaunchTexts& launch : launches) each.push_back(text(launch));
  return each.size() == 1 ? each.front() : fmt::format("{}({})", function, fmt::join(each, ", "));
}
template <class Text>
std::string sum(const std::vector<LaunchTexts>& launches, Text&& text) {
  std::vector<std::string> each;
  for (const LaunchTexts& launch : launches) each.push_back(text(launch));
  return fmt::format("({})", fmt::join(each, " + "));
}

void add_launches(const KernelSpec& spec, FeatureList& list) {
  std::vector<LaunchTexts> launches;
  for (const Launch& launch : spec.launches) launches.push_back(texts_of(launch));
  if (launches.empty()) return;
  const bool once = launches.size() == 1 && launches.front().repeat.empty();
  if (!once)
    list.add(sum(launches,
                 [](const LaunchTexts& one) { return one.repeat.empty() ? "1" : one.repeat; }));
  list.add(largest(launches, "max",
                   [](const LaunchTexts& one) { return one.where_launched(one.threads); }));
  list.add(largest(launches, "max",
                   [](const LaunchTexts& one) { return one.where_launched(one.blocks); }));
  list.add(largest(launches, "max",
                   [](const LaunchTexts& one) { return one.where_launched(one.shared); }));
  list.add(largest(launches, "min", [](const LaunchTexts& one) {
    return one.where_launched(one.blocks_per_sm, "device.max_blocks_per_sm");
  }));
  list.add(largest(launches, "max", [](const LaunchTexts& one) {
    return one.where_launched(one.blocks + " / device.sm_count");
  }));
  // Waves of all launches, and how much larger they are when each is rounded up to whole ones.
  const std::string waves = sum(launches, [](const LaunchTexts& one) {
    return one.in_all(fmt::format("{} / (device.sm_count * {})", one.blocks, one.blocks_per_sm));
  });
  const std::string whole_waves = sum(launches, [](const LaunchTexts& one) {
    return one.in_all(
        fmt::format("ceil_div({}, device.sm_count * {})", one.blocks, one.blocks_per_sm));
  });
  list.add(waves);
  list.add(whole_waves + " / " + waves);
  std::string volume;
  for (const Dimension& dimension : spec.dimensions) {
    if (!dimension.categorical) volume += (volume.empty() ? "" : " * ") + dimension.name;
  }
  if (!volume.empty()) {
    const auto threads = [](const LaunchTexts& one) {
      return one.in_all(one.blocks + " * " + one.threads);
    };
    list.add(fmt::format("{} / ({})", sum(launches, threads), volume));
  }
}

// The arguments of the call whose opening parenthesis is at `open`; none if it does not end.
std::optional<std::vector<std::string>> arguments_at(std::string_view text, std::size_t open) {
  std::vector<std::string> arguments(1);
  int depth = 0;
  char quote = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    const bool outermost = quote == 0 && depth == 1;
    if (quote != 0 ? c == quote : c == '\'' || c == '"')
      quote = quote != 0 ? '\0' : c;
    else if (quote == 0 && (c == '(' || c == '['))
      ++depth;
    else if (quote == 0 && (c == ')' || c == ']'))
      --depth;
    if (depth == 0) return arguments;
    if (outermost && c == ',')
      arguments.emplace_back();
    else if (i > open)
      arguments.back() += c;
  }
  return std::nullopt;
}

bool reads(const KernelSpec& spec, const std::string& text, bool parameters) {
  try {
    const Expression expression = Expression::compile(text, spec.names);
    const std::vector<int>& slots = expression.slots();
    return std::any_of(slots.begin(), slots.end(), [&](int slot) {
      const auto place = static_cast<std::size_t>(slot);
      const std::size_t sizes = spec.dimensions.size();
      return parameters ? place >= sizes && place < sizes + spec.parameters.size()
                        : place < sizes && !spec.dimensions[place].categorical;
    });
  } catch (const ExpressionError&) {
    return false;
  }
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Of each ceil_div(size, tile) in a grid: how many tiles, and what the last one wastes.
void add_tiles(const KernelSpec& spec, FeatureList& list) {
  constexpr std::string_view kCall = "ceil_div(";
  for (const Launch& launch : spec.launches) {
    for (const Expression& extent : launch.grid) {
      const std::string& text = extent.text();
      for (std::size_t at = text.find(kCall); at != std::string::npos;
           at = text.find(kCall, at + 1)) {
        const auto arguments = arguments_at(text, at + kCall.size() - 1);
        if (!arguments || arguments->size() != 2) continue;
        const std::string size = trimmed(arguments->front()), tile = trimmed(arguments->back());
        if (!reads(spec, size, false) || !reads(spec, tile, true)) continue;
        list.add(fmt::format("({}) / ({})", size, tile));
        list.add(fmt::format("ceil_div({0}, {1}) * ({1}) / ({0})", size, tile));
      }
    }
  }
}

}  // namespace

std::vector<std::string> automatic_features(const KernelSpec& spec) {
  FeatureList list(spec);
  add_problem(spec, list);
  add_parameters(spec, list);
  add_launches(spec, list);
  add_tiles(spec, list);
  for (const auto& [name, expression] : spec.features) list.add(expression.text());
  return list.take();
}

}  // namespace tunebook
