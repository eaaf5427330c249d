#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/report_data.h"
#include "cli/report_options.h"
#include "cli/terminal.h"
#include "db/store.h"
#include "reports/html.h"
#include "reports/json.h"
#include "reports/markdown.h"
#include "reports/text.h"

namespace tunebook::cli {
namespace {

struct Options : ReportOptions {
  std::string side;
};

int run_report(const Options& options, const Invocation& invocation) {
  SideRequest side = parse_side(options.side, default_book_path(options.book));
  add_filter(side, options.filter);
  if (side.label.empty()) side.label = side.book.string();
  ReportOutputs outputs(options);
  ReportContext context;
  context.command = invocation.command_line();
  const reports::Report report = read_report(side, context);
  ReportOutputs::Makers makers;
  makers.html = [&] { return reports::html(report); };
  makers.markdown = [&] { return reports::to_markdown(report); };
  makers.json = [&] { return reports::json_line(reports::to_json(report)); };
  makers.text = [&] { return reports::to_text(report, colour_allowed(stdout)); };
  outputs.write(makers);
  return kDone;
}

}  // namespace

void add_report(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("report", "What a book holds: winners, trials, failures, effects of parameters, trends");
  verb->add_option("side", options->side, "BOOK, BOOK#KEY=VALUE or #KEY=VALUE, with the keys session, date, device, kernel, toolkit, driver, since, until (default: --book)")
      ->type_name("SIDE");
  add_report_options(*verb, *options);
  verb->footer("Example:  tunebook report --kernel matmul --since 7d --html report.html --markdown summary.md\n"
               "Without a file to write, a table goes to stdout. The book is only read; a published one holds winners alone.");
  verb->callback([options, &invocation] { invocation.exit_code = run_report(*options, invocation); });
}

}  // namespace tunebook::cli
