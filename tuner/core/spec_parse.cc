// KernelSpec::parse: kernel.json to a KernelSpec, reporting everything that is wrong with it at once.

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"
#include "core/spec.h"
#include "core/spec_baseline.h"
#include "core/spec_check.h"
#include "core/spec_dimensions.h"
#include "core/spec_fill.h"
#include "core/spec_names.h"
#include "core/spec_reader.h"

namespace tunebook {
namespace {

using nlohmann::ordered_json;
using Mode = Expression::Mode;

// Which names an expression may use: what is known, and means something, at the place where it is evaluated.
enum Uses : unsigned {
  kSizes = 1,       // dimensions and T
  kParameters = 2,
  kDevice = 4,
  kNative = 8,
  kTolerance = 16,  // eps, scale
  kIteration = 32,
};
constexpr unsigned kLaunchUses = kSizes | kParameters | kDevice;

template <typename Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

bool contains(const std::vector<std::string>& list, std::string_view text) { return std::find(list.begin(), list.end(), text) != list.end(); }

class SpecParser {
 public:
  KernelSpec parse(const ordered_json& json, const std::string& file) {
    const SpecNode root{json, ""};
    if (reader_.object(root, spec_object("kernel"))) {
      read_header(root);
      read_dimensions(root);
      read_parameters(root);
      name_everything();
      read_whole_verify(root);
      read_instantiation(root);
      read_constraints(root);
      read_launch(root);
      read_arguments(root);
      read_reference(root);
      read_tolerance(root);
      read_options_of_devices(root);
      read_features(root);
      read_presets(root);
      if (root.find("baseline") != nullptr) {
        read_baseline(reader_, root.at("baseline"), spec_, [this](const SpecNode& node) { return expression(node, kSizes, Mode::real); },
                      [this](const SpecNode& node) { return expression(node, kSizes | kDevice); });
      }
    }
    report(file, reader_.problems());
    report(file, check_default_preset(spec_));
    return std::move(spec_);
  }

 private:
  static void report(const std::string& file, const std::vector<std::string>& problems) {
    if (problems.empty()) return;
    std::string message;
    for (const std::string& problem : problems) message += fmt::format("{}{}: {}", message.empty() ? "" : "\n", file, problem);
    throw InputError(message);
  }

  void read_header(const SpecNode& root) {
    if (root.find("tunebook") != nullptr) reader_.integer(root.at("tunebook"), 1, 1);
    if (root.find("kernel") != nullptr) {
      if (const auto name = reader_.identifier(root.at("kernel"))) spec_.name = *name;
    }
    spec_.summary = reader_.optional_text(root, "summary");
    spec_.source = read_file_name(root, "source");
    spec_.entry = read_entry(root);
  }

  // A file in the template's folder: a template never reaches outside of it.
  std::string read_file_name(const SpecNode& parent, const std::string& key) {
    if (parent.find(key) == nullptr) return "";
    const SpecNode node = parent.at(key);
    const auto text = reader_.text(node, "a file name");
    if (!text) return "";
    const std::filesystem::path path(*text);
    if (path.is_absolute() || text->find('\0') != std::string::npos || std::find(path.begin(), path.end(), "..") != path.end()) {
      reader_.wrong(node, "a file in the template's folder");
    }
    return *text;
  }

  std::string read_entry(const SpecNode& parent) {
    if (parent.find("entry") == nullptr) return "";
    const SpecNode node = parent.at("entry");
    const auto text = reader_.text(node, "the name of a __global__ function");
    if (!text) return "";
    for (std::size_t start = 0; start <= text->size();) {
      const std::size_t colons = std::min(text->find("::", start), text->size());
      if (!is_identifier(std::string_view(*text).substr(start, colons - start))) {
        reader_.wrong(node, "the name of a __global__ function (an identifier, perhaps with namespaces)");
        break;
      }
      start = colons + 2;
      if (colons == text->size()) break;
    }
    return *text;
  }

  void read_dimensions(const SpecNode& root) {
    if (root.find("problem") == nullptr) return;
    const SpecNode problem = root.at("problem");
    if (!reader_.object(problem, "an object with the dimensions of the problem")) return;
    DimensionReader dimensions(reader_, spec_.dimensions);
    for (const auto& [name, json] : problem.json.items()) {
      if (name == "verify") continue;  // whole problems, read when all dimensions are known
      check_name(problem.at(name), name, "dimension");
      dimensions.read(problem.at(name), name);
    }
    dimensions.finish();
    const auto is_size = [](const Dimension& dimension) { return !dimension.categorical; };
    if (std::none_of(spec_.dimensions.begin(), spec_.dimensions.end(), is_size)) {
      reader_.problem(problem.path, "found no dimension of size, expected at least one, as \"n\": {\"default\": 1024}");
    }
  }

  void read_parameters(const SpecNode& root) {
    if (root.find("parameters") == nullptr) return;
    const SpecNode parameters = root.at("parameters");
    if (!reader_.object(parameters, "an object with the parameters")) return;
    for (const auto& [name, json] : parameters.json.items()) {
      const SpecNode node = parameters.at(name);
      check_name(node, name, "parameter");
      Parameter parameter;
      parameter.name = name;
      if (reader_.object(node, spec_object("parameter"))) {
        parameter.help = reader_.optional_text(node, "help");
        if (node.find("type") != nullptr) parameter.is_type = reader_.boolean(node.at("type")).value_or(false);
        if (node.find("values") != nullptr) read_domain(node.at("values"), parameter);
      }
      spec_.parameters.push_back(std::move(parameter));
    }
  }

  void read_domain(const SpecNode& node, Parameter& parameter) {
    if (!reader_.array(node, "an array of values")) return;
    if (node.json.empty()) return reader_.wrong_empty(node);
    for (std::size_t i = 0; i < node.json.size(); ++i) {
      const SpecNode item = node.at(i);
      const std::optional<Value> value = reader_.value(item);
      if (!value) continue;
      if (!parameter.values.empty() && value->index() != parameter.values.front().index()) {
        static constexpr const char* kKinds[] = {"an integer", "true or false", "a string"};
        reader_.wrong(item, fmt::format("{}, as the parameter's first value", kKinds[parameter.values.front().index()]));
      } else if (std::find(parameter.values.begin(), parameter.values.end(), *value) != parameter.values.end()) {
        reader_.problem(item.path, fmt::format("found {} a second time, expected each value once", describe(item.json)));
      } else if (!parameter.is_type || read_dtype_name(reader_, item, to_text(*value))) {
        parameter.values.push_back(*value);
      }
    }
  }

  // A dimension's or parameter's name must be usable in expressions and as a macro, and new.
  void check_name(const SpecNode& node, const std::string& name, std::string_view what) {
    using namespace spec_names;
    if (!is_identifier(name)) {
      reader_.problem(node.path, fmt::format("found the {} name {}, expected an identifier (letters, digits and underscores)", what, in_quotes(name)));
    } else if (std::find(kFixed.begin(), kFixed.end(), name) != kFixed.end() ||
               std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end() || parse_dtype(name)) {
      reader_.problem(node.path, fmt::format("found the {} name {}, which has its own meaning in expressions; expected another name", what, in_quotes(name)));
    } else if (spec_.find_dimension(name) != nullptr) {
      reader_.problem(node.path, fmt::format("found the {} name {}, which is a dimension of the problem; expected another name", what, in_quotes(name)));
    } else {
      nameable_.insert(name);
    }
  }

  // The names of expressions. Also those of dimensions and parameters with faults, so that one fault is reported once.
  void name_everything() {
    const auto add = [&](const std::string& name, unsigned uses) {
      if (spec_.names.find(name)) return;
      spec_.names.add(name);
      uses_.push_back(uses);
    };
    for (const Dimension& dimension : spec_.dimensions) if (nameable_.count(dimension.name) != 0) add(dimension.name, kSizes);
    for (const Parameter& parameter : spec_.parameters) if (nameable_.count(parameter.name) != 0) add(parameter.name, kParameters);
    for (std::size_t i = 0; i < spec_names::kFixed.size(); ++i) {
      const unsigned uses = i == spec_names::kType ? kSizes : i == spec_names::kNative ? kNative : i < spec_names::kEps ? kDevice
                            : i == spec_names::kIteration ? kIteration : kTolerance;
      add(std::string(spec_names::kFixed[i]), uses);
    }
  }

  void read_whole_verify(const SpecNode& root) {
    if (root.find("problem") == nullptr || root.at("problem").find("verify") == nullptr) return;
    const SpecNode list = root.at("problem").at("verify");
    if (!reader_.array(list, "an array of whole problems (a dimension cannot be called verify)")) return;
    for (std::size_t i = 0; i < list.json.size(); ++i) read_whole_problem(list.at(i));
  }

  void read_whole_problem(const SpecNode& node) {
    if (!reader_.object(node, "an object with a size for every dimension")) return;
    Problem problem;
    for (const auto& [name, json] : node.json.items()) {
      if (spec_.find_dimension(name) != nullptr) continue;
      const auto known = names_of(spec_.dimensions);
      reader_.problem(node.path + '/' + json_pointer_step(name),
                      fmt::format("found the unknown dimension {}, expected one of {}{}", in_quotes(name), fmt::join(known, ", "), did_you_mean(name, known)));
    }
    for (const Dimension& dimension : spec_.dimensions) {
      if (node.find(dimension.name) == nullptr) {
        if (!dimension.categorical) reader_.problem(node.path, fmt::format("found no size for the dimension \"{}\", expected one", dimension.name));
        continue;
      }
      const SpecNode value = node.at(dimension.name);
      if (!dimension.categorical) {
        if (const auto size = reader_.integer(value, 1, kMaxDimension)) problem.set(dimension.name, *size);
      } else if (value.json.is_string() && contains(dimension.values, value.json.get_ref<const std::string&>())) {
        problem.set(dimension.name, value.json.get<std::string>());
      } else {
        reader_.wrong(value, fmt::format("one of {}", fmt::join(dimension.values, ", ")));
      }
    }
    spec_.whole_verify.push_back(std::move(problem));
  }

  void read_instantiation(const SpecNode& root) {
    if (root.find("instantiate") != nullptr) {
      const SpecNode node = root.at("instantiate");
      if (node.json == "macros") {
        spec_.macros = true;
      } else if (!node.json.is_array()) {
        reader_.wrong(node, "\"macros\" or an array of template arguments (T, parameters, dimensions)");
      } else {
        spec_.instantiate = read_names(node, true);
      }
    }
    if (root.find("define") != nullptr) {
      const SpecNode node = root.at("define");
      spec_.define = read_names(node, false);
      if (!spec_.macros && !spec_.define.empty()) reader_.problem(node.path, "found \"define\" without \"instantiate\": \"macros\", expected it only there");
    }
    if (root.find("options") == nullptr) return;
    const SpecNode options = root.at("options");
    spec_.options = reader_.texts(options, "an array of compile options");
    for (std::size_t i = 0; options.json.is_array() && i < options.json.size(); ++i) {
      if (options.json[i].is_string() && !options.json[i].get_ref<const std::string&>().starts_with('-')) reader_.wrong(options.at(i), "an option that starts with -");
    }
  }

  // "T", dimensions and, if `parameters`, parameters; each once.
  std::vector<std::string> read_names(const SpecNode& node, bool parameters) {
    std::vector<std::string> known = {"T"};
    for (const Dimension& dimension : spec_.dimensions) known.push_back(dimension.name);
    if (parameters) for (const Parameter& parameter : spec_.parameters) known.push_back(parameter.name);
    const auto names = reader_.texts(node, "an array of names");
    for (std::size_t i = 0; node.json.is_array() && i < node.json.size(); ++i) {
      const ordered_json& item = node.json[i];
      if (!item.is_string() || item.get_ref<const std::string&>().empty() || contains(known, item.get_ref<const std::string&>())) continue;
      reader_.wrong(node.at(i), fmt::format("one of {}", fmt::join(known, ", ")), did_you_mean(item.get_ref<const std::string&>(), known));
    }
    return names;
  }

  // An expression is a string; a plain number or truth value stands for itself.
  Expression expression(const SpecNode& node, unsigned uses, Mode mode = Mode::integer) {
    std::string text;
    if (node.json.is_string() && !node.json.get_ref<const std::string&>().empty()) text = node.json.get<std::string>();
    else if (node.json.is_boolean() || node.json.is_number_integer() || (mode == Mode::real && node.json.is_number())) text = node.json.dump();
    if (text.empty()) {
      reader_.wrong(node, "an expression");
      return {};
    }
    try {
      Expression compiled = Expression::compile(text, spec_.names, mode);
      for (const int slot : compiled.slots()) {
        if ((uses_.at(static_cast<std::size_t>(slot)) & uses) != 0) continue;
        std::vector<std::string> allowed;
        for (std::size_t i = 0; i < uses_.size(); ++i) if ((uses_[i] & uses) != 0) allowed.push_back(spec_.names.at(static_cast<int>(i)));
        reader_.problem(node.path, fmt::format("found \"{}\" in {}, expected only {}", spec_.names.at(slot), in_quotes(text), fmt::join(allowed, ", ")));
      }
      return compiled;
    } catch (const ExpressionError& error) {
      reader_.problem(node.path, fmt::format("found {}, expected an expression: column {}: {}", in_quotes(text), error.column, error.what()));
      return {};
    }
  }

  Expression optional_expression(const SpecNode& parent, const std::string& key, unsigned uses, Mode mode = Mode::integer) {
    return parent.find(key) == nullptr ? Expression() : expression(parent.at(key), uses, mode);
  }

  void read_constraints(const SpecNode& root) {
    if (root.find("constraints") == nullptr) return;
    const SpecNode list = root.at("constraints");
    if (!reader_.array(list, "an array of expressions")) return;
    for (std::size_t i = 0; i < list.json.size(); ++i) spec_.constraints.push_back(expression(list.at(i), kLaunchUses));
  }

  void read_launch(const SpecNode& root) {
    if (root.find("launch") == nullptr) return;
    const SpecNode node = root.at("launch");
    if (!node.json.is_array()) return read_one_launch(node);
    if (node.json.empty()) return reader_.wrong_empty(node);
    for (std::size_t i = 0; i < node.json.size(); ++i) read_one_launch(node.at(i));
  }

  void read_one_launch(const SpecNode& node) {
    if (!reader_.object(node, spec_object("launch"))) return;
    Launch launch;
    launch.entry = node.find("entry") == nullptr ? spec_.entry : read_entry(node);
    launch.instantiate = spec_.instantiate;
    if (node.find("instantiate") != nullptr) {
      const SpecNode list = node.at("instantiate");
      if (spec_.macros) {
        reader_.problem(list.path, "found \"instantiate\" of a launch, expected none: the kernel takes its parameters as macros");
      } else if (!list.json.is_array()) {
        reader_.wrong(list, "an array of template arguments (T, parameters, dimensions)");
      } else {
        launch.instantiate = read_names(list, true);
      }
    }
    launch.repeat = optional_expression(node, "repeat", kLaunchUses);
    read_extents(node, launch, kLaunchUses);
    launch.static_shared_bytes = optional_expression(node, "static_shared_bytes", kLaunchUses);
    spec_.launches.push_back(std::move(launch));
  }

  void read_extents(const SpecNode& node, Launch& launch, unsigned uses) {
    for (auto [key, extents] : {std::pair{"block", &launch.block}, std::pair{"grid", &launch.grid}}) {
      if (node.find(key) == nullptr) continue;
      const SpecNode list = node.at(key);
      if (!list.json.is_array() || list.json.empty() || list.json.size() > 3) {
        reader_.wrong(list, "an array of one to three expressions (x, y, z)");
        continue;
      }
      for (std::size_t i = 0; i < list.json.size(); ++i) (*extents)[i] = expression(list.at(i), uses);
    }
    launch.shared_bytes = optional_expression(node, "shared_bytes", uses);
    if (node.find("shared_bytes") == nullptr) launch.shared_bytes = Expression::compile("0", spec_.names);
  }

  void read_arguments(const SpecNode& root) {
    if (root.find("arguments") == nullptr) return;
    const SpecNode list = root.at("arguments");
    if (!reader_.array(list, "an array of arguments")) return;
    for (std::size_t i = 0; i < list.json.size(); ++i) read_argument(list.at(i));
    if (std::none_of(spec_.arguments.begin(), spec_.arguments.end(), [](const Argument& argument) { return argument.is_result(); })) {
      reader_.problem(list.path, "found no argument with access \"out\" or \"inout\", expected at least one: there would be no result to verify");
    }
  }

  void read_argument(const SpecNode& node) {
    Argument argument;
    // What the object must hold follows from its type; "count" or "access" tell a pointer whose type is missing.
    const bool has_type = node.find("type") != nullptr && node.at("type").json.is_string();
    argument.pointer = has_type ? node.at("type").json.get_ref<const std::string&>().ends_with('*')
                                : node.find("count") != nullptr || node.find("access") != nullptr;
    if (!reader_.object(node, spec_object(argument.pointer ? "pointer" : "scalar"))) return;
    if (node.find("name") != nullptr) {
      argument.name = reader_.identifier(node.at("name")).value_or("");
      if (contains(names_of(spec_.arguments), argument.name) && !argument.name.empty()) {
        reader_.problem(node.at("name").path, fmt::format("found {} a second time, expected each argument once", in_quotes(argument.name)));
      }
    }
    if (node.find("type") != nullptr) read_type(node.at("type"), argument);
    if (argument.pointer) {
      const bool workspace = node.find("access") != nullptr && node.at("access").json == "workspace";
      argument.count = optional_expression(node, "count", workspace ? kLaunchUses : kSizes);
      read_access(node, argument);
    } else {
      const bool real = argument.dtype ? is_floating(*argument.dtype) : floating_type();
      argument.value = optional_expression(node, "value", kSizes | kParameters | kIteration, real ? Mode::real : Mode::integer);
    }
    spec_.arguments.push_back(std::move(argument));
  }

  void read_type(const SpecNode& node, Argument& argument) {
    const auto text = reader_.text(node, "a type");
    if (!text) return;
    argument.type_text = *text;
    const std::string element = text->substr(0, text->size() - (argument.pointer ? 1 : 0));
    if (element == "T") return;
    argument.dtype = parse_dtype(element);
    if (!argument.dtype) reader_.wrong(node, fmt::format("T or a data type ({}), with * for a pointer", dtype_names()));
  }

  void read_access(const SpecNode& node, Argument& argument) {
    using Access = Argument::Access;
    if (node.find("access") == nullptr) return;
    const SpecNode access = node.at("access");
    if (access.json == "in") argument.access = Access::in;
    else if (access.json == "out") argument.access = Access::out;
    else if (access.json == "inout") argument.access = Access::inout;
    else if (access.json == "workspace") argument.access = Access::workspace;
    else return reader_.wrong(access, "\"in\", \"out\", \"inout\" or \"workspace\"");
    const bool has_fill = node.find("fill") != nullptr;
    const std::vector<DType> types = argument.dtype ? std::vector{*argument.dtype} : type_values();
    if (argument.access == Access::workspace) return read_workspace(node, argument);
    if (argument.access == Access::out) {
      for (const char* key : {"fill", "special"}) {
        if (node.find(key) != nullptr) reader_.problem(node.at(key).path, fmt::format("found a {} for an output, expected none: outputs are poisoned before every run", key));
      }
      return;
    }
    if (!has_fill) {
      reader_.problem(node.path, fmt::format("found no key \"fill\", expected an input to have it: {}", kFillForms));
    } else if (const auto text = reader_.text(node.at("fill"), kFillForms)) {
      std::string fault;
      argument.fill = parse_fill(*text, types, argument.access == Access::inout, fault);
      if (!fault.empty()) reader_.wrong(node.at("fill"), fault);
    }
    if (node.find("special") != nullptr) read_special(reader_, node.at("special"), types, argument.fill);
  }

  // Scratch memory holds garbage at first, or zeros.
  void read_workspace(const SpecNode& node, Argument& argument) {
    if (node.find("special") != nullptr) {
      reader_.problem(node.at("special").path, "found special values for a workspace, expected none: it is no input");
    }
    if (node.find("fill") == nullptr) return;
    if (node.at("fill").json != "zero") return reader_.wrong(node.at("fill"), "\"zero\", or no fill: a workspace is zeroed, or holds garbage");
    argument.fill.kind = Fill::Kind::zero;
    argument.fill.text = "zero";
  }

  std::vector<DType> type_values() const {
    std::vector<DType> types;
    if (const Dimension* dimension = spec_.find_dimension("dtype")) {
      for (const std::string& value : dimension->values) if (const auto type = parse_dtype(value)) types.push_back(*type);
    } else {
      types.push_back(DType::f32);
    }
    return types;
  }
  // Whether T can be a floating type.
  bool floating_type() const {
    const auto types = type_values();
    return std::any_of(types.begin(), types.end(), is_floating);
  }

  void read_reference(const SpecNode& root) {
    Reference& reference = spec_.reference;
    if (root.find("reference") == nullptr) return;
    const SpecNode node = root.at("reference");
    if (!reader_.object(node, spec_object("reference"))) return;
    reference.source = read_file_name(node, "source");
    reference.entry = read_entry(node);
    reference.instantiate_type = contains(spec_.instantiate, "T");
    if (node.find("instantiate") != nullptr) {
      const SpecNode instantiate = node.at("instantiate");
      if (instantiate.json != ordered_json::array() && instantiate.json != ordered_json::array({"T"})) reader_.wrong(instantiate, "[] or [\"T\"]");
      reference.instantiate_type = instantiate.json == ordered_json::array({"T"});
    }
    read_extents(node, reference.launch, kSizes);
  }

  // The types of results: a tolerance for another one would never be used, and a floating one needs its own.
  std::vector<DType> result_types() const {
    std::vector<DType> types;
    const auto add = [&](DType type) { if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type); };
    for (const Argument& argument : spec_.arguments) {
      if (!argument.is_result()) continue;
      if (argument.dtype) add(*argument.dtype);
      else for (const DType type : type_values()) add(type);
    }
    return types;
  }

  void read_tolerance(const SpecNode& root) {
    std::vector<std::string> declared;
    const std::vector<DType> results = result_types();
    for (const DType type : results) declared.emplace_back(dtype_name(type));
    for (const DType type : type_values()) if (!contains(declared, dtype_name(type))) declared.emplace_back(dtype_name(type));
    std::set<std::string> given;
    if (root.find("tolerance") != nullptr) {
      const SpecNode node = root.at("tolerance");
      if (!reader_.object(node, "an object with a tolerance for each data type")) return;
      for (const auto& [name, json] : node.json.items()) {
        given.insert(name);
        const SpecNode entry = node.at(name);
        if (!contains(declared, name)) {
          reader_.problem(entry.path, fmt::format("found a tolerance for {}, expected one of the kernel's data types {}{}", in_quotes(name), fmt::join(declared, ", "), did_you_mean(name, declared)));
        }
        if (!reader_.object(entry, spec_object("tolerance"))) continue;
        Tolerance tolerance{read_bound(entry, "rel"), read_bound(entry, "abs")};
        if (const auto type = parse_dtype(name)) spec_.tolerance[*type] = std::move(tolerance);
      }
    }
    for (const DType type : results) {
      if (!is_floating(type) || given.count(std::string(dtype_name(type))) != 0) continue;
      reader_.problem("/tolerance", fmt::format("found no tolerance for {}, expected one: {{\"{}\": {{\"rel\": \"...\", \"abs\": \"...\"}}}}", dtype_name(type), dtype_name(type)));
    }
  }

  Expression read_bound(const SpecNode& entry, const std::string& key) {
    Expression bound = optional_expression(entry, key, kSizes | kTolerance, Mode::real);
    if (bound.empty()) return bound;
    const auto uses_scale = [&](int slot) { return spec_.names.at(slot) == "scale"; };
    if (std::none_of(bound.slots().begin(), bound.slots().end(), uses_scale)) return bound;
    for (const Argument& argument : spec_.arguments) {
      const bool floating = argument.dtype ? is_floating(*argument.dtype) : floating_type();
      if (argument.pointer && floating && argument.fill.kind == Fill::Kind::iota) {
        reader_.problem(entry.at(key).path, fmt::format("found \"scale\", expected a bound without it: the input \"{}\" is filled by iota, which has no largest value", argument.name));
      }
    }
    return bound;
  }

  void read_options_of_devices(const SpecNode& root) {
    if (root.find("work") != nullptr && reader_.object(root.at("work"), spec_object("work"))) {
      spec_.work.flops = optional_expression(root.at("work"), "flops", kSizes, Mode::real);
      spec_.work.bytes = optional_expression(root.at("work"), "bytes", kSizes, Mode::real);
    }
    spec_.arch = optional_expression(root, "arch", kLaunchUses | kNative);
    spec_.cpu = optional_expression(root, "cpu", kLaunchUses);
    spec_.nondeterministic = optional_expression(root, "nondeterministic", kLaunchUses);
    spec_.restore = optional_expression(root, "restore", kLaunchUses);
  }

  void read_presets(const SpecNode& root) {
    if (root.find("presets") == nullptr) return;
    const SpecNode presets = root.at("presets");
    if (!reader_.object(presets, "an object with the presets")) return;
    for (const auto& [name, json] : presets.json.items()) {
      const SpecNode node = presets.at(name);
      if (!is_identifier(name)) reader_.problem(node.path, fmt::format("found the preset name {}, expected an identifier (letters, digits and underscores)", in_quotes(name)));
      if (name == "default" && json.is_array())
        spec_.presets.emplace_back(name, Configuration());  // known when all presets are
      else if (reader_.object(node, "an object with a value for every parameter"))
        spec_.presets.emplace_back(name, read_preset(node));
    }
    if (const ordered_json* given = presets.find("default"); given != nullptr && given->is_array())
      read_choices(presets.at("default"));
    else
      spec_.default_choices = {{Expression(), "default"}};
    if (presets.find("default") == nullptr) reader_.problem(presets.path, "found no preset \"default\", expected it: it is what runs where nothing was tuned");
  }

  // "default": [{"when": "...", "preset": "fast"}, ..., {"preset": "general"}]
  void read_choices(const SpecNode& list) {
    if (list.json.empty()) return reader_.wrong_empty(list);
    std::vector<std::string> known;
    for (const auto& [name, preset] : spec_.presets)
      if (name != "default") known.push_back(name);
    for (std::size_t i = 0; i < list.json.size(); ++i) {
      const SpecNode node = list.at(i);
      if (!reader_.object(node, spec_object("choice"))) continue;
      const bool last = i + 1 == list.json.size();
      if (last && node.find("when") != nullptr) {
        reader_.problem(node.path,
                        "found a condition in the last choice, expected none: the last preset must "
                        "run whatever the problem is");
      } else if (!last && node.find("when") == nullptr) {
        reader_.problem(
            node.path,
            "found no \"when\", expected a condition: choices after this one would never count");
      }
      DefaultChoice choice;
      choice.when = optional_expression(node, "when", kSizes | kDevice);
      if (node.find("preset") == nullptr) continue;
      const auto preset = reader_.text(node.at("preset"), "the name of a preset");
      if (!preset) continue;
      choice.preset = *preset;
      if (!contains(known, choice.preset)) {
        reader_.wrong(node.at("preset"),
                      fmt::format("one of the other presets {}", fmt::join(known, ", ")),
                      did_you_mean(choice.preset, known));
        continue;
      }
      spec_.default_choices.push_back(std::move(choice));
    }
    if (spec_.default_choices.empty()) return;  // told above
    const Configuration last = *spec_.find_preset(spec_.default_choices.back().preset);
    for (auto& [name, preset] : spec_.presets)
      if (name == "default") preset = last;
  }

  void read_features(const SpecNode& root) {
    if (root.find("features") == nullptr) return;
    const SpecNode features = root.at("features");
    if (!reader_.object(features, "an object with named expressions")) return;
    if (features.json.size() > KernelSpec::kMaxFeatures) {
      reader_.problem(features.path, fmt::format("found {} features, expected at most {}",
                                                 features.json.size(), KernelSpec::kMaxFeatures));
      return;
    }
    for (const auto& [name, json] : features.json.items()) {
      const SpecNode node = features.at(name);
      if (!is_identifier(name)) {
        reader_.problem(node.path, fmt::format("found the feature name {}, expected an identifier "
                                               "(letters, digits and underscores)",
                                               in_quotes(name)));
      } else if (spec_.names.find(name)) {
        reader_.problem(node.path, fmt::format("found the feature name {}, which has its own "
                                               "meaning in expressions; expected another name",
                                               in_quotes(name)));
      }
      spec_.features.emplace_back(name, expression(node, kLaunchUses));
    }
  }

  Configuration read_preset(const SpecNode& node) {
    Configuration configuration;
    const auto known = names_of(spec_.parameters);
    for (const auto& [name, json] : node.json.items()) {
      if (contains(known, name)) continue;
      reader_.problem(node.path + '/' + json_pointer_step(name),
                      fmt::format("found the unknown parameter {}, expected one of {}{}", in_quotes(name), fmt::join(known, ", "), did_you_mean(name, known)));
    }
    for (const Parameter& parameter : spec_.parameters) {
      if (node.find(parameter.name) == nullptr) {
        reader_.problem(node.path, fmt::format("found no value for the parameter \"{}\", expected one", parameter.name));
        continue;
      }
      const SpecNode item = node.at(parameter.name);
      const std::optional<Value> value = reader_.value(item);
      if (!value) continue;
      configuration.set(parameter.name, *value);
      if (parameter.values.empty() || std::find(parameter.values.begin(), parameter.values.end(), *value) != parameter.values.end()) continue;
      std::vector<std::string> declared;
      for (const Value& one : parameter.values) declared.push_back(to_text(one));
      reader_.wrong(item, fmt::format("one of the declared values {}", fmt::join(declared, ", ")));
    }
    return configuration;
  }

  SpecReader reader_;
  KernelSpec spec_;
  std::set<std::string> nameable_;
  std::vector<unsigned> uses_;  // by slot
};

}  // namespace

KernelSpec KernelSpec::parse(const ordered_json& json, const std::string& file) { return SpecParser().parse(json, file); }

}  // namespace tunebook
