#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/configuration_option.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/template_folder.h"
#include "db/lookup_limits.h"
#include "search/space.h"
#include "search/space_file.h"
#include "session/device_listing.h"
#include "session/subject.h"

namespace tunebook::cli {
namespace {

struct Options {
  std::string target, shape, device;
  std::vector<std::string> templates, where;
  bool json = false;
};

// The limits that constraints may use. A space can be looked at without a device, so the default is a stand-in that says so.
struct SpaceDevice {
  Device device;
  std::string note;
};
SpaceDevice space_device(const std::string& text) {
  if (text.empty()) {
    Device generic;
    generic.kind = "cuda";
    generic.name = "generic sm_90";
    generic.compute_capability = 90;
    generic.sm_count = 132;
    generic.limits = limits_of_compute_capability(generic.compute_capability);
    return {generic, "limits of a generic sm_90 device; name one with --device"};
  }
  const DeviceChoice choice = DeviceChoice::parse(text);
  for (const DeviceListing& listing : list_devices()) {
    if (listing.id == choice.text() && listing.hello && listing.hello->device) return {*listing.hello->device, ""};
  }
  throw InputError(fmt::format("device '{}' is not usable here; see: tunebook devices", text));
}

bool is_file(const std::string& target) {
  return target.find('/') != std::string::npos || target.ends_with(".json") || std::filesystem::is_regular_file(target);
}

// "1234", "3.2e+21", "about 4.5e+13 (+- 2 %)".
std::string size_text(const SpaceSize& size) {
  if (size.exact) return std::to_string(*size.exact);
  if (size.relative_error == 0) return fmt::format("{:.6g}", size.count);
  return fmt::format("about {:.3g} (+- {:.2g} %)", size.count, 100 * size.relative_error);
}

// `note`: what to tell once all is well.
SpaceDefinition chosen_definition(const Options& options, std::string& note) {
  if (is_file(options.target)) return load_space_file(options.target, options.where).definition;
  const KernelTemplate kernel = find_template(options.target, template_search_path(options.templates));
  const SpaceDevice device = space_device(options.device);
  note = device.note;
  return template_space(kernel.spec, chosen_problem(kernel.spec, options.shape), device.device, options.where);
}

int run_space(const Options& options) {
  std::string note;
  const SpaceDefinition definition = chosen_definition(options, note);
  SpaceSize size = space_size(definition);
  const bool fits = size.fits();
  SpaceExplanation explanation;
  if (fits) {
    const SearchSpace space = SearchSpace::build(definition);
    size = {static_cast<double>(space.size()), space.size()};
    explanation = explain(space);
  } else {
    if (size.failing > 0) {
      throw InputError(fmt::format("{}: a constraint fails to evaluate for {:.3g} configurations that no other constraint rejects; narrow the space "
                                   "with --where until it can be listed, then the message names one of them", options.target, size.failing));
    }
    explanation = explain(definition);
  }
  if (!note.empty() && !options.json) fmt::print(stderr, "note: {}\n", note);
  if (options.json) {
    nlohmann::ordered_json constraints = nlohmann::ordered_json::array();
    for (const auto& effect : explanation.constraints) {
      constraints.push_back({{"text", effect.text}, {"removes_alone", effect.alone}, {"exact", effect.exact},
                             {"valid_without", effect.valid_without ? nlohmann::ordered_json(*effect.valid_without)
                                                                    : nlohmann::ordered_json(nullptr)}});
    }
    nlohmann::ordered_json unused = nlohmann::ordered_json::object();
    for (const auto& [name, values] : explanation.unused_values) {
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      for (const Value& value : values) list.push_back(nlohmann::ordered_json(to_json_value(value)));
      unused[name] = list;
    }
    print_json({{"target", options.target}, {"cartesian", definition.cartesian_size_text()},
                {"valid", size.exact ? nlohmann::ordered_json(*size.exact) : nlohmann::ordered_json(size.count)}, {"valid_exact", size.exact.has_value()}, {"valid_relative_error", size.relative_error}, {"can_be_searched", fits},
                {"parameters", definition.parameters.size()}, {"constraints", constraints}, {"unused_values", unused}});
  } else {
    fmt::print("{} parameters, {} configurations in the Cartesian product, {} valid ({:.3g} %)\n", definition.parameters.size(),
               definition.cartesian_size_text(), size_text(size), 100.0 * size.count / definition.cartesian_size());
    if (!fits) {
      fmt::print("too many to search: narrow it with --where, or declare fewer values; tune takes {} configurations of coupled parameters\n",
                 SearchSpace::kMaxGroup);
    }
    fmt::print("\n");
    TextTable table;
    table.header = {"constraint", "removes alone", "valid without it"};
    table.right = {false, true, true};
    for (const auto& effect : explanation.constraints) {
      table.rows.push_back({effect.text, fmt::format("{}{:.2f} %", effect.exact ? "" : "~", 100 * effect.alone),
                            effect.valid_without ? std::to_string(*effect.valid_without) : "too many to count"});
    }
    fmt::print("{}", terminal_text(table));
    for (const auto& [name, values] : explanation.unused_values) {
      std::string list;
      for (const Value& value : values) list += (list.empty() ? "" : ", ") + to_text(value);
      fmt::print("never occurs: {} = {}\n", name, list);
    }
  }
  if (fits && size.exact == 0u) {
    throw InputError(fmt::format("{}: no configuration satisfies the constraints; the table above shows what each one removes",
                                 options.target));
  }
  return kDone;
}

}  // namespace

void add_space(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("space", "Show the size of a search space and what each constraint removes");
  verb->add_option("kernel", options->target, "Kernel template, or a FILE.json with parameters and constraints")->required();
  verb->add_option("--shape", options->shape, "Problem (default: the template's)");
  verb->add_option("--where", options->where, "Narrow the space by a constraint; repeatable")
      ->allow_extra_args(false)->type_name("EXPR");
  add_device_option(*verb, options->device);
  add_templates_option(*verb, options->templates);
  add_json_option(*verb, options->json);
  verb->footer("Example:  tunebook space matmul --shape 1024,1024,1024");
  verb->callback([options, &invocation] { invocation.exit_code = run_space(*options); });
}

}  // namespace tunebook::cli
