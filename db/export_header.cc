#include "db/export_header.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/expression_compiler.h"
#include "core/json_text.h"
#include "core/spec.h"
#include "db/book_reader.h"
#include "db/encoding.h"
#include "db/frozen_runtime.h"
#include "db/header_text.h"
#include "db/lookup_kernel.h"
#include "db/lookup_limits.h"
#include "db/lookup_predicted.h"
#include "db/lookup_rows.h"
#include "db/schema.h"
#include "db/time_model.h"

namespace tunebook {
namespace {

using header_text::integer;
using header_text::limits_text;
using header_text::literal;
using header_text::real;
using header_text::Table;
using header_text::value_text;

// A model of the book, of one version of the kernel that is written.
struct HeaderModel {
  std::uint32_t version = 0;      // index into the kernel's versions, the newest first
  std::int64_t row = -1;          // in the book; a larger one was learned later
  std::int64_t device_row = -1;
  std::shared_ptr<const PreparedModel> prepared;
};

class HeaderWriter {
 public:
  explicit HeaderWriter(std::string name_space) : name_space_(std::move(name_space)) {
    // Wherever the limits change with the compute capability.
    std::optional<DeviceLimits> last;
    constexpr int kMostComputeCapability = 1000;
    for (int capability = 0; capability <= kMostComputeCapability; ++capability) {
      const DeviceLimits limits = limits_of_compute_capability(capability);
      if (!last || limits != *last) {
        architectures_.add(fmt::format("{{{}, {}}}", capability, limits_text(limits)));
        last = limits;
      }
    }
  }

  void add_devices(const std::vector<KnownDevice>& devices) {
    for (const KnownDevice& known : devices) {
      const Device& device = known.device;
      device_index_.emplace(known.row, device_index_.size());
      devices_.add(fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}}}", literal(device.kind), literal(device.name), device.compute_capability,
                               literal(device.instruction_set), integer(device.sm_count), integer(device.memory_gib),
                               literal(device.host_compiler), limits_text(device.limits)));
    }
  }

  // `models`: the preferred first.
  void add_kernel(const std::string& name, const std::vector<KernelVersion>& versions,
                  const std::vector<std::shared_ptr<const DeviceRows>>& rows, const std::vector<HeaderModel>& models) {
    const std::size_t first_version = versions_.size();
    for (const KernelVersion& version : versions) {
      versions_.add(version_text(version));
    }
    const std::size_t first_row = rows_.size();
    for (const std::shared_ptr<const DeviceRows>& of_device : rows) {
      for (const DeviceRows::Row& row : of_device->rows()) {
        add_row(versions[row.version], *of_device, row);
      }
    }
    const std::size_t first_model = models_.size();
    for (const HeaderModel& model : models) {
      add_model(versions[model.version], model);
    }
    kernels_.add(fmt::format("{{{}, {{{}, {}}}, {}, {}}}", literal(name), first_version, versions.size(), rows_.range_since(first_row),
                             models_.range_since(first_model)));
  }

  std::string text(HeaderSummary& summary) const {
    summary.kernels = static_cast<std::int64_t>(kernels_.size());
    summary.devices = static_cast<std::int64_t>(devices_.size());
    summary.winners = static_cast<std::int64_t>(rows_.size());
    summary.models = static_cast<std::int64_t>(models_.size());
    std::string out =
        "// A frozen book of Tunebook: the winners and the rules of the lookup, written by `tunebook export --format header`.\n"
        "// C++17, the standard library only; gcc, clang or nvcc on a 64-bit system. Do not edit: export again.\n"
        "#pragma once\n\n"
        "#include <algorithm>\n#include <charconv>\n#include <cmath>\n#include <cstddef>\n#include <cstdint>\n#include <limits>\n"
        "#include <optional>\n#include <stdexcept>\n#include <string>\n#include <string_view>\n#include <system_error>\n"
        "#include <type_traits>\n#include <utility>\n#include <vector>\n\n";
    out += fmt::format("namespace {} {{\n\n{}\n{}\n{}\n{}\n{}\nnamespace detail {{\n\n", name_space_, kFrozenTables, kFrozenExpressions,
                       kFrozenCheck, kFrozenModel, kFrozenQuestion);
    std::string names;  // in the order of Book's members
    for (const Table* const table : {&kernels_, &versions_, &rows_, &devices_, &dimensions_, &texts_, &values_, &expressions_, &code_,
                                     &constants_, &launches_, &needs_, &choices_, &architectures_, &models_, &roots_, &nodes_, &parameters_, &candidates_,
                                     &value_indices_, &anchors_, &loss_}) {
      out += table->text();
      names += (names.empty() ? "" : ", ") + table->name();
    }
    out += fmt::format("inline constexpr Book kBook = {{{}}};\n\n}}  // namespace detail\n\n", names);
    out += "// The best configuration that the book knows, and how it matched; nothing if neither a winner nor a preset fits. Throws\n"
           "// std::invalid_argument for a query without a kernel, or whose problem fits no version of it. `near_cap`: where the tier near ends.\n"
           "inline std::optional<Answer> best(const Query& query, double near_cap = 2.0) {\n"
           "  return detail::best(detail::kBook, query, near_cap);\n}\n\n";
    out += fmt::format("}}  // namespace {}\n", name_space_);
    return out;
  }

 private:
  std::string named_values(const NamedValues& values) {
    std::vector<std::string> rows;
    for (const auto& [name, value] : values.items()) {
      rows.push_back(fmt::format("{{{}, {}}}", literal(name), value_text(value)));
    }
    return values_.add_range(rows);
  }

  std::string constant(const Scalar& scalar) {
    constexpr const char* kKinds[] = {"unset", "integer", "boolean", "rational"};
    if (scalar.kind == Scalar::Kind::text) {
      return fmt::format("{{Scalar::Kind::text, 0, 1, {}}}", literal(*scalar.s));
    }
    if (scalar.kind == Scalar::Kind::real) {
      throw InputError("export: a constraint with a real number cannot be written into a header");
    }
    return fmt::format("{{Scalar::Kind::{}, {}, {}, {{}}}}", kKinds[static_cast<std::size_t>(scalar.kind)], integer(scalar.a), integer(scalar.b));
  }

  std::string code(const KernelSpec& spec, const Expression& expression) {
    if (expression.empty()) {
      return "{0, 0}";
    }
    const ExpressionProgram program = compile_expression(expression.text(), spec.names, Expression::Mode::integer);
    const std::size_t first_constant = constants_.size();
    for (const Scalar& scalar : program.constants) {
      constants_.add(constant(scalar));
    }
    std::vector<std::string> rows;
    for (const Instruction& one : program.code) {
      const std::int64_t operand = one.operand + (one.source == Instruction::Source::constant ? static_cast<std::int64_t>(first_constant) : 0);
      rows.push_back(fmt::format("{{Op({}), Op({}), Source({}), {}, {}}}", static_cast<int>(one.operation), static_cast<int>(one.comparison),
                                 static_cast<int>(one.source), operand, one.jump));
    }
    return code_.add_range(rows);
  }

  std::string dimension_text(const Dimension& dimension) {
    std::vector<std::string> values;
    for (const std::string& value : dimension.values) {
      values.push_back(literal(value));
    }
    const auto* const fallback = std::get_if<std::string>(&dimension.default_value);
    NamedValues by_dtype;
    for (const auto& [type, value] : dimension.default_by_dtype) {
      by_dtype.set(type, value);
    }
    return fmt::format("{{{}, {}, {}, {}, {}}}", literal(dimension.name), dimension.categorical, texts_.add_range(values),
                       literal(fallback != nullptr ? *fallback : ""), by_dtype.empty() ? "{}" : named_values(by_dtype));
  }

  std::string needs_text(const std::vector<PresetNeeds>& recorded) {
    std::vector<std::string> rows;
    for (const PresetNeeds& needs : recorded) {
      const auto device = device_index_.find(needs.device_row);
      rows.push_back(fmt::format("{{{}, {}, {}}}", device == device_index_.end() ? -1 : static_cast<std::int64_t>(device->second),
                                 needs.registers.value_or(-1), needs.shared_bytes.value_or(-1)));
    }
    return needs_.add_range(rows);
  }

  std::string choices_text(const KernelVersion& version) {
    const KernelSpec& spec = *version.spec;
    std::vector<std::string> rows;
    for (std::size_t i = 0; i < spec.default_choices.size(); ++i) {
      const DefaultChoice& choice = spec.default_choices[i];
      if (const std::optional<Configuration> usable = declared(spec, *spec.find_preset(choice.preset))) {
        const std::string needs = i < version.preset_needs.size() ? needs_text(version.preset_needs[i]) : "{0, 0}";
        rows.push_back(fmt::format("{{{}, {}, {}}}", code(spec, choice.when), named_values(*usable), needs));
      }
    }
    return choices_.add_range(rows);
  }

  std::string launch_text(const KernelSpec& spec, const Launch& launch) {
    const auto three = [&](const std::array<Expression, 3>& extents) {
      return fmt::format("{{{}, {}, {}}}", code(spec, extents[0]), code(spec, extents[1]), code(spec, extents[2]));
    };
    return fmt::format("{{{}, {}, {}, {}, {}}}", code(spec, launch.repeat), three(launch.block), three(launch.grid),
                       code(spec, launch.shared_bytes), code(spec, launch.static_shared_bytes));
  }

  std::string version_text(const KernelVersion& version) {
    if (version.spec == nullptr) {
      return fmt::format("{{{}, false, {{}}, 0, 0, {{}}, {{}}, {{}}, {{}}, {{}}, false, {{}}, {{}}}}", literal(version.hash));
    }
    const KernelSpec& spec = *version.spec;
    std::vector<std::string> dimensions, constraints;
    for (const Dimension& dimension : spec.dimensions) {
      dimensions.push_back(dimension_text(dimension));
    }
    for (const Expression& constraint : spec.constraints) {
      constraints.push_back(code(spec, constraint));
    }
    std::vector<std::string> launches;
    for (const Launch& launch : spec.launches) {
      launches.push_back(launch_text(spec, launch));
    }
    const bool has_work = is_exact(spec, spec.work.flops) && is_exact(spec, spec.work.bytes);
    return fmt::format("{{{}, true, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}", literal(version.hash),
                       dimensions_.add_range(dimensions), spec.parameters.size(), spec.names.size(), expressions_.add_range(constraints),
                       launches_.add_range(launches), code(spec, spec.arch), code(spec, spec.cpu), choices_text(version), has_work, has_work ? code(spec, spec.work.flops) : "{}",
                       has_work ? code(spec, spec.work.bytes) : "{}");
  }

  // True if an expression written for real numbers gives the same in the exact arithmetic of the header.
  static bool is_exact(const KernelSpec& spec, const Expression& expression) {
    if (expression.empty()) {
      return true;
    }
    try {
      const ExpressionProgram program = compile_expression(expression.text(), spec.names, Expression::Mode::integer);
      return std::all_of(program.code.begin(), program.code.end(), [&](const Instruction& one) {
        if (one.operation != Instruction::Operation::power) {
          return one.operation != Instruction::Operation::log2;
        }
        const bool constant = one.source == Instruction::Source::constant;
        return constant && program.constants[static_cast<std::size_t>(one.operand)].kind == Scalar::Kind::integer &&
               program.constants[static_cast<std::size_t>(one.operand)].a >= 0;
      });
    } catch (const ExpressionError&) {
      return false;  // a decimal, or a square root
    }
  }

  // The configuration in declared order; nothing if it is none of the declaration, which the lookup would pass over.
  static std::optional<Configuration> declared(const KernelSpec& spec, const Configuration& configuration) {
    try {
      spec.check_configuration(configuration, "configuration");
    } catch (const InputError&) {
      return std::nullopt;
    }
    Configuration ordered;
    for (const Parameter& parameter : spec.parameters) {
      ordered.set(parameter.name, configuration.at(parameter.name));
    }
    return ordered;
  }

  void add_row(const KernelVersion& version, const DeviceRows& rows, const DeviceRows::Row& row) {
    std::vector<std::string> dimensions;
    if (version.spec != nullptr) {
      for (const Dimension& dimension : version.spec->dimensions) {
        dimensions.push_back(dimension.name);
      }
    }
    std::optional<Configuration> configuration;
    Problem problem;
    try {
      problem = read_values(std::string(rows.text(row.problem)), dimensions, "problem in the book");
      configuration = read_values(std::string(rows.configuration(row)), version.parameter_order, "configuration in the book");
    } catch (const InputError&) {
      return;  // what this program cannot read is no answer
    }
    if (version.spec != nullptr) {
      configuration = declared(*version.spec, *configuration);
    }
    if (!configuration) {
      return;
    }
    rows_.add(fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}", row.version, device_index_.at(rows.device().row),
                          literal(rows.name(row.objective)), literal(rows.name(row.method)), literal(rows.text(row.session)),
                          literal(rows.text(row.finished_utc)), literal(rows.text(row.problem)), named_values(problem),
                          named_values(*configuration), real(row.median_us), real(row.ci_low_us), real(row.ci_high_us),
                          row.registers.value_or(-1), row.shared_bytes.value_or(-1)));
  }

  void add_model(const KernelVersion& version, const HeaderModel& known) {
    const KernelSpec& spec = *version.spec;
    const TimeModel& model = known.prepared->model();
    std::vector<std::string> features, parameters, loss;
    for (const std::string& feature : model.features) {
      features.push_back(code(spec, Expression::compile(feature, spec.names)));
    }
    for (const Parameter& parameter : spec.parameters) {
      std::vector<std::string> values;
      for (const Value& value : parameter.values) {
        values.push_back(fmt::format("{{{}, {}}}", literal(parameter.name), value_text(value)));
      }
      parameters.push_back(values_.add_range(values));
    }
    for (const TimeModel::LossBin& bin : model.loss) {
      loss.push_back(fmt::format("{{{}, {}, {}, {}}}", real(bin.distance_upto), real(bin.predicted_mean), real(bin.predicted_bound),
                                 real(bin.nearest_mean)));
    }
    const std::size_t first_root = roots_.size(), first_node = nodes_.size(), first_candidate = candidates_.size(),
                      first_index = value_indices_.size(), first_anchor = anchors_.size();
    for (const std::uint32_t root : model.roots) {
      roots_.add(fmt::format("{}", root));
    }
    for (const TimeModel::Node& node : model.nodes) {
      nodes_.add(fmt::format("{{{}, {:a}f, {}}}", node.feature, node.threshold, node.next));
    }
    for (const TimeModel::Candidate& candidate : model.candidates) {
      candidates_.add(fmt::format("{{{}, {}}}", candidate.registers, candidate.shared_bytes));
      for (const std::uint16_t index : candidate.values) {
        value_indices_.add(fmt::format("{}", index));
      }
    }
    for (const TimeModel::Anchor& anchor : model.anchors) {
      Problem problem;
      for (std::size_t i = 0; i < spec.dimensions.size(); ++i) {
        problem.set(spec.dimensions[i].name, anchor.problem[i]);
      }
      anchors_.add(fmt::format("{{{}, {}}}", named_values(problem), real(anchor.best_us)));
    }
    models_.add(fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}", known.version, device_index_.at(known.device_row),
                            literal(model.dtype), literal(model.method), literal(model.learned_utc), expressions_.add_range(features),
                            roots_.range_since(first_root), nodes_.range_since(first_node), integer(model.base),
                            parameters_.add_range(parameters), candidates_.range_since(first_candidate), first_index,
                            anchors_.range_since(first_anchor), loss_.add_range(loss)));
  }

  std::string name_space_;
  std::map<std::int64_t, std::size_t> device_index_;
  Table values_{"NamedValue", "Values"}, texts_{"std::string_view", "Texts"}, dimensions_{"Dimension", "Dimensions"},
      constants_{"Scalar", "Constants"}, code_{"Instruction", "Code"}, expressions_{"Range", "Expressions"},
      launches_{"Launch", "Launches"}, needs_{"PresetNeeds", "PresetNeeds"}, choices_{"Choice", "Choices"}, architectures_{"ArchitectureLimits", "Architectures"}, devices_{"Device", "Devices"},
      versions_{"Version", "Versions"}, rows_{"Row", "Rows"}, kernels_{"Kernel", "Kernels"}, models_{"Model", "Models"},
      roots_{"std::uint32_t", "Roots", Table::Layout::packed}, nodes_{"Node", "Nodes", Table::Layout::packed}, parameters_{"Range", "Parameters"},
      candidates_{"Candidate", "Candidates", Table::Layout::packed}, value_indices_{"std::uint16_t", "ValueIndices", Table::Layout::packed},
      anchors_{"Anchor", "Anchors"}, loss_{"LossBin", "LossBins"};
};

void check_namespace(const std::string& name) {
  bool good = !name.empty();
  std::size_t start = 0;
  while (good && start <= name.size()) {
    const std::size_t end = std::min(name.find("::", start), name.size());
    const std::string part = name.substr(start, end - start);
    const bool word = std::all_of(part.begin(), part.end(), [](unsigned char c) { return c < 128 && (std::isalnum(c) != 0 || c == '_'); });
    // Names with two underscores, or one and a capital letter, are the compiler's.
    good = word && !part.empty() && std::isdigit(static_cast<unsigned char>(part[0])) == 0 && part.find("__") == std::string::npos &&
           !(part[0] == '_');
    start = end + 2;
  }
  if (!good) {
    throw InputError(fmt::format("--namespace: '{}' is no C++ namespace; expected a name such as app::tuned", name));
  }
}

std::vector<std::string> kernels_to_write(sqlite::Database& book, const std::vector<std::string>& asked) {
  std::vector<std::string> known;
  sqlite::Statement select(book, "SELECT DISTINCT name FROM kernel ORDER BY name");
  sqlite::Statement::Run row = select.run();
  while (row.next()) {
    known.push_back(row.text(0));
  }
  if (asked.empty()) {
    return known;
  }
  std::vector<std::string> chosen;
  for (const std::string& name : asked) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string near = nearest_word(name, known);
      throw InputError(fmt::format("export: the book has no kernel '{}'{}", name, near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
    if (std::find(chosen.begin(), chosen.end(), name) == chosen.end()) {
      chosen.push_back(name);
    }
  }
  return chosen;
}

// The models of these versions and devices, in the order in which a question prefers them; those that cannot be read are left out, as a
// lookup passes them over.
std::vector<HeaderModel> usable_models(sqlite::Database& book, std::int64_t book_version, const std::vector<KernelVersion>& versions,
                                       const std::vector<KnownDevice>& devices) {
  std::vector<std::string> dtypes;
  if (book_version >= kModelVersion) {
    sqlite::Statement select(book, "SELECT DISTINCT dtype FROM model");
    sqlite::Statement::Run row = select.run();
    while (row.next()) {
      dtypes.push_back(row.text(0));
    }
  }
  std::vector<HeaderModel> models;
  for (const KnownDevice& device : devices) {
    for (const std::string& dtype : dtypes) {
      const std::shared_ptr<const DeviceModels> read = read_models(book, book_version, versions, device, dtype);
      for (const BookModel& model : *read) {
        if (model.prepared != nullptr) {
          models.push_back({model.version, model.row, device.row, model.prepared});
        }
      }
    }
  }
  std::sort(models.begin(), models.end(), [](const HeaderModel& x, const HeaderModel& y) {
    return std::tuple(x.version, -x.row) < std::tuple(y.version, -y.row);
  });
  return models;
}

}  // namespace

std::string header_of_book(const std::filesystem::path& path, const HeaderOptions& options, HeaderSummary& summary) {
  check_namespace(options.name_space);
  BookReader reader(path);
  return reader.read([&](sqlite::Database& book) {
    HeaderWriter writer(options.name_space);
    SpecCache specs;
    const std::vector<KnownDevice> devices = read_devices(book);
    writer.add_devices(devices);
    for (const std::string& name : kernels_to_write(book, options.kernels)) {
      const std::vector<KernelVersion> versions = kernel_versions(book, reader.version(), specs, name, {});
      std::vector<std::shared_ptr<const DeviceRows>> rows;
      for (const KnownDevice& device : devices) {
        rows.push_back(DeviceRows::read(book, versions, {&device, nullptr}));
      }
      writer.add_kernel(name, versions, rows, usable_models(book, reader.version(), versions, devices));
    }
    return writer.text(summary);
  });
}

HeaderSummary export_header(const std::filesystem::path& book, const std::filesystem::path& output, const HeaderOptions& options) {
  HeaderSummary summary;
  const std::string text = header_of_book(book, options, summary);
  summary.bytes = static_cast<std::int64_t>(text.size());
  const std::filesystem::path fresh = output.string() + fmt::format(".new-{}", getpid());
  std::error_code error;
  {
    std::ofstream file(fresh, std::ios::binary);
    file << text;
    file.close();
    if (!file) {
      std::filesystem::remove(fresh, error);
      throw InputError(fmt::format("{}: cannot be written; does the folder exist, and is there room?", output.string()));
    }
  }
  std::filesystem::rename(fresh, output, error);
  if (error) {
    const std::string reason = error.message();
    std::filesystem::remove(fresh, error);
    throw InputError(fmt::format("{}: {}", output.string(), reason));
  }
  return summary;
}

}  // namespace tunebook
