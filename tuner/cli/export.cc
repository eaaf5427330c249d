#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/cli.h"
#include "db/export_header.h"
#include "db/store.h"
#include "reports/html_text.h"

namespace tunebook::cli {
namespace {

using reports::page::plural;

struct Options {
  std::string format, output, book;
  HeaderOptions header;
  bool json = false;
};

int run_export(const Options& options) {
  const HeaderSummary written = export_header(default_book_path(options.book), options.output, options.header);
  if (options.json) {
    print_json({{"output", options.output},
                {"format", options.format},
                {"kernels", written.kernels},
                {"devices", written.devices},
                {"winners", written.winners},
                {"bytes", written.bytes}});
    return kDone;
  }
  fmt::print("{}\n", options.output);
  fmt::print(stderr, "exported: {} of {} on {}, {} bytes; include it and call {}::best()\n", plural(written.winners, "winner"),
             plural(written.kernels, "kernel"), plural(written.devices, "device"), written.bytes, options.header.name_space);
  return kDone;
}

}  // namespace

void add_export(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("export", "Write what the book knows in another form");
  verb->add_option("--format", options->format, "header: a self-contained C++17 header with the winners and the rules of the lookup")
      ->required()->check(CLI::IsMember({"header"}));
  verb->add_option("--output", options->output, "The file; an older one is replaced")->required()->type_name("FILE");
  verb->add_option("--kernel", options->header.kernels, "This kernel only (repeatable)")->type_name("NAME");
  verb->add_option("--namespace", options->header.name_space, "header: its C++ namespace")->capture_default_str();
  add_book_option(*verb, options->book);
  add_json_option(*verb, options->json);
  verb->footer("Example:  tunebook export --format header --output tuned.h --namespace app::tuned");
  verb->callback([options, &invocation] { invocation.exit_code = run_export(*options); });
}

}  // namespace tunebook::cli
