#include <memory>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/template_folder.h"

namespace tunebook::cli {
namespace {

struct Options {
  std::vector<std::string> templates;
  bool json = false;
};

std::string dimension_text(const Dimension& dimension) {
  if (!dimension.categorical) return dimension.name;
  std::string text = dimension.name + "=";
  for (std::size_t i = 0; i < dimension.values.size(); ++i) text += (i > 0 ? "|" : "") + dimension.values[i];
  return text;
}

int run_list(const Options& options) {
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  TextTable table;
  table.header = {"kernel", "problem", "parameters", "presets", "summary"};
  table.right = {false, false, true, false, false};
  std::string errors;
  for (const TemplateEntry& entry : find_templates(template_search_path(options.templates))) {
    if (!entry.error.empty()) {
      errors += fmt::format("{}: {}\n", entry.folder.string(), entry.error);
      kernels.push_back({{"kernel", entry.name}, {"folder", entry.folder.string()}, {"error", entry.error}});
      continue;
    }
    const KernelTemplate kernel = load_template(entry.folder);
    std::string problem, presets;
    for (const Dimension& dimension : kernel.spec.dimensions) problem += (problem.empty() ? "" : ", ") + dimension_text(dimension);
    nlohmann::ordered_json preset_names = nlohmann::ordered_json::array();
    for (const auto& [name, configuration] : kernel.spec.presets) {
      presets += (presets.empty() ? "" : " ") + name;
      preset_names.push_back(name);
    }
    table.rows.push_back({kernel.spec.name, problem, std::to_string(kernel.spec.parameters.size()), presets, kernel.spec.summary});
    kernels.push_back({{"kernel", kernel.spec.name}, {"summary", kernel.spec.summary}, {"folder", entry.folder.string()},
                       {"hash", kernel.hash}, {"default_problem", kernel.spec.default_problem().to_json()},
                       {"presets", preset_names}});
  }
  if (options.json) {
    print_json({{"kernels", kernels}});
  } else if (table.rows.empty() && errors.empty()) {
    fmt::print("No kernel templates found. Name a folder with --templates DIR or in $TUNEBOOK_TEMPLATES.\n");
  } else {
    fmt::print("{}", terminal_text(table));
  }
  if (!errors.empty()) {
    fmt::print(stderr, "{}", errors);
    return kBadInput;
  }
  return kDone;
}

}  // namespace

void add_list(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("list", "List the kernel templates that are found");
  add_templates_option(*verb, options->templates);
  add_json_option(*verb, options->json);
  verb->footer("Example:  tunebook list --templates ~/my_kernels");
  verb->callback([options, &invocation] { invocation.exit_code = run_list(*options); });
}

}  // namespace tunebook::cli
