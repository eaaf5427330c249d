#include "portfolio/portfolio_header.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "core/error.h"
#include "portfolio/cpp_condition.h"

namespace tunebook {
namespace {

void check_namespace(const std::string& name) {
  bool good = !name.empty();
  std::size_t start = 0;
  while (good && start <= name.size()) {
    const std::size_t end = std::min(name.find("::", start), name.size());
    const std::string part = name.substr(start, end - start);
    const bool word = std::all_of(part.begin(), part.end(), [](unsigned char c) {
      return c < 128 && (std::isalnum(c) != 0 || c == '_');
    });
    good = word && !part.empty() && part[0] != '_' && cpp_name(part) == part &&
           std::isdigit(static_cast<unsigned char>(part[0])) == 0 &&
           part.find("__") == std::string::npos;
    start = end + 2;
  }
  if (!good) {
    throw InputError(fmt::format(
        "--namespace: '{}' is no C++ namespace; expected a name such as app::matmul", name));
  }
}

std::string value_type(const Parameter& parameter) {
  const Value& value = parameter.values.front();
  if (std::holds_alternative<bool>(value)) return "bool";
  return std::holds_alternative<std::int64_t>(value) ? "std::int64_t" : "std::string_view";
}

std::string value_text(const Value& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return *number == std::numeric_limits<std::int64_t>::min() ? "INT64_MIN"
                                                               : fmt::format("{}", *number);
  }
  const std::string& text = std::get<std::string>(value);
  return fmt::format("std::string_view({}, {})", cpp_literal(text), text.size());
}

std::string text_view(const std::string& text) {
  return fmt::format("std::string_view({}, {})", cpp_literal(text), text.size());
}

class Writer {
 public:
  Writer(const Portfolio& portfolio, const std::vector<std::string>& about)
      : portfolio_(portfolio), spec_(*portfolio.spec), about_(about) {
    Problem known;
    if (!portfolio.dtype.empty()) known.set("dtype", portfolio.dtype);
    for (const Dimension& dimension : spec_.dimensions) {
      if (dimension.categorical || dimension.name == "dtype") continue;
      add(typed_, fmt::format("std::int64_t {}", cpp_name(dimension.name)));
      add(numbers_, fmt::format("[[maybe_unused]] number {}", cpp_name(dimension.name)));
      add(names_, cpp_name(dimension.name));
      add(sensible_, fmt::format("{0} >= 1 && {0} <= {1}", cpp_name(dimension.name), kMaxDimension),
          " && ");
    }
    for (const Dimension& dimension : spec_.dimensions) {
      if (!dimension.categorical || dimension.name == "dtype") continue;
      const std::string standard = to_text(spec_.default_of(dimension, known));
      add(typed_, fmt::format("[[maybe_unused]] std::string_view {} = {}", cpp_name(dimension.name),
                              text_view(standard)));
      add(numbers_, fmt::format("[[maybe_unused]] std::string_view {}", cpp_name(dimension.name)));
      add(names_, cpp_name(dimension.name));
    }
  }

  std::string text(const std::string& name_space) const {
    std::string out;
    for (const std::string& line : about_) out += "// " + printable(line) + "\n";
    out +=
        "//\n// C++17, the standard library only; gcc, clang or nvcc on a 64-bit system. Do not "
        "edit.\n"
        "#pragma once\n\n#include <cstdint>\n#include <string_view>\n\n";
    out += fmt::format("namespace {} {{\n\n{}\n", name_space, configurations());
    out += fmt::format("namespace detail {{\n\n{}\n{}}}  // namespace detail\n\n",
                       kCppConditionRuntime, conditions());
    out += validity();
    out += picking();
    return out + fmt::format("}}  // namespace {}\n", name_space);
  }

 private:
  static void add(std::string& list, const std::string& item, const char* between = ", ") {
    list += (list.empty() ? "" : between) + item;
  }

  // Comments hold what a book said: no line end may begin code.
  static std::string printable(const std::string& line) {
    std::string out;
    for (const char c : line) out += static_cast<unsigned char>(c) < 32 || c == '\\' ? ' ' : c;
    return out;
  }

  std::string configurations() const {
    std::string out = "struct Configuration {\n";
    for (const Parameter& parameter : spec_.parameters) {
      out += fmt::format("  {} {};\n", value_type(parameter), cpp_name(parameter.name));
    }
    out +=
        fmt::format("}};\n\ninline constexpr int kCount = {};\n", portfolio_.configurations.size());
    out += "inline constexpr Configuration kConfigurations[kCount] = {\n";
    for (const Configuration& configuration : portfolio_.configurations) {
      std::string values;
      for (const Parameter& parameter : spec_.parameters) {
        add(values, value_text(configuration.at(parameter.name)));
      }
      out += fmt::format("    {{{}}},\n", values);
    }
    return out + "};\n";
  }

  std::string conditions() const {
    std::string out;
    for (std::size_t i = 0; i < portfolio_.configurations.size(); ++i) {
      const KernelSpec::Scope scope = portfolio_.scope_of(i);
      std::vector<std::string> lines;
      bool never = false;
      for (const std::string& condition : portfolio_.conditions_of()) {
        const CppCondition written = cpp_condition(condition, spec_, scope);
        if (!written.constant) lines.push_back(fmt::format("{}.holds()", written.code));
        never = never || written.constant == false;
      }
      if (never) lines = {"false"};
      if (lines.empty()) lines = {"true"};
      out += fmt::format("constexpr bool valid_{}({}) {{\n  return {};\n}}\n", i, numbers_,
                         fmt::join(lines, " &&\n         "));
    }
    return out;
  }

  std::string validity() const {
    std::string out = fmt::format(
        "// Whether configuration `index` can run the problem.\nconstexpr bool valid(int index, "
        "{}) {{\n"
        "  if (!({})) return false;\n  switch (index) {{\n",
        typed_, sensible_);
    for (std::size_t i = 0; i < portfolio_.configurations.size(); ++i) {
      out += fmt::format("    case {0}: return detail::valid_{0}({1});\n", i, names_);
    }
    return out + "    default: return false;\n  }\n}\n\n";
  }

  std::string picking() const {
    std::string out = fmt::format(
        "// Index of the configuration for the problem; -1 if none can run it.\n"
        "constexpr int pick({}) {{\n",
        typed_);
    node(out, 0, 1);
    return out + "}\n\n";
  }

  void node(std::string& out, std::size_t index, std::size_t level) const {
    const PortfolioRule::Node& one = portfolio_.rule.nodes[index];
    const std::string indent(2 * level, ' ');
    if (!one.condition) {
      std::string order;
      for (const std::size_t i : one.order) add(order, fmt::format("{}", i));
      out += fmt::format(
          "{0}constexpr int order[] = {{{1}}};\n{0}for (const int index : order) {{\n"
          "{0}  if (valid(index, {2})) return index;\n{0}}}\n{0}return -1;\n",
          indent, order, names_);
      return;
    }
    out += fmt::format("{}if ({}) {{\n", indent, question(*one.condition));
    node(out, one.yes, level + 1);
    out += fmt::format("{}}} else {{\n", indent);
    node(out, one.no, level + 1);
    out += fmt::format("{}}}\n", indent);
  }

  static std::string question(const RuleCondition& condition) {
    const std::string first = cpp_name(condition.dimensions.front());
    if (condition.kind == RuleCondition::Kind::category) {
      return fmt::format("{} == {}", first, text_view(condition.value));
    }
    if (condition.kind == RuleCondition::Kind::divisible) {
      return fmt::format("{} % {} == 0", first, condition.number);
    }
    if (condition.dimensions.size() == 1) return fmt::format("{} >= {}", first, condition.number);
    std::string product;
    for (const std::string& name : condition.dimensions) {
      add(product, fmt::format("static_cast<double>({})", cpp_name(name)), " * ");
    }
    return fmt::format("{} >= {}.0", product, condition.number);
  }

  const Portfolio& portfolio_;
  const KernelSpec& spec_;
  const std::vector<std::string>& about_;
  std::string typed_, numbers_, names_, sensible_;
};

}  // namespace

std::vector<std::string> Portfolio::conditions_of() const {
  std::vector<std::string> conditions;
  for (const Expression& constraint : spec->constraints) conditions.push_back(constraint.text());
  if (device.kind == "cpu" && !spec->cpu.empty()) conditions.push_back(spec->cpu.text());
  for (const Launch& launch : spec->launches) {
    const std::string repeat = launch.repeat.empty() ? "1" : launch.repeat.text();
    for (std::size_t i = 0; i < launch.grid.size(); ++i) {
      if (launch.grid[i].empty()) continue;
      conditions.push_back(fmt::format("({}) == 0 or 1 <= ({}) <= {}", repeat,
                                       launch.grid[i].text(), device.limits.max_grid[i]));
    }
    if (!launch.shared_bytes.empty()) {
      conditions.push_back(fmt::format("({}) == 0 or 0 <= ({}) <= {}", repeat,
                                       launch.shared_bytes.text(),
                                       device.limits.shared_bytes_per_block_optin));
    }
  }
  return conditions;
}

KernelSpec::Scope Portfolio::scope_of(std::size_t index) const {
  Problem problem;
  for (const Dimension& dimension : spec->dimensions) {
    problem.set(dimension.name, spec->default_of(dimension, problem));
    if (dimension.name == "dtype" && !dtype.empty()) problem.set("dtype", dtype);
  }
  KernelSpec::Scope scope = spec->scope(problem, device);
  spec->bind(scope, configurations[index]);
  return scope;
}

bool Portfolio::valid(std::size_t index, const Problem& problem) const {
  KernelSpec::Scope scope = spec->scope(problem, device);
  spec->bind(scope, configurations[index]);
  for (const std::string& condition : conditions_of()) {
    try {
      if (!Expression::compile(condition, spec->names).evaluate_bool(scope)) return false;
    } catch (const ExpressionError&) {
      return false;
    }
  }
  return true;
}

std::optional<std::size_t> Portfolio::pick(const Problem& problem) const {
  return rule.pick(problem, [&](std::size_t index) { return valid(index, problem); });
}

std::string portfolio_header(const Portfolio& portfolio, const std::string& name_space,
                             const std::vector<std::string>& about) {
  check_namespace(name_space);
  return Writer(portfolio, about).text(name_space);
}

}  // namespace tunebook
