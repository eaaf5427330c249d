#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/cli.h"
#include "cli/report_data.h"
#include "cli/remeasure.h"
#include "cli/report_options.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "db/store.h"
#include "reports/comparison.h"
#include "reports/html.h"
#include "reports/json.h"
#include "reports/markdown.h"
#include "reports/text.h"

namespace tunebook::cli {
namespace {

struct Options : ReportOptions {
  std::string base, candidate;
  std::vector<std::string> thresholds, allow_different;
  std::string fail_on = std::string(reports::fail_on_name(reports::FailOn::regression));
  RemeasureOptions remeasure;
};

reports::ComparisonSettings settings_of(const Options& options) {
  reports::ComparisonSettings settings;
  for (const std::string& threshold : options.thresholds) reports::set_threshold(settings, threshold);
  for (const std::string& difference : options.allow_different) reports::allow_differences(settings, difference);
  settings.fail_on = reports::parse_fail_on(options.fail_on).value_or(reports::FailOn::regression);
  return settings;
}

SideRequest side_of(const std::string& text, const Options& options) {
  SideRequest side = parse_side(text, default_book_path(options.book));
  add_filter(side, options.filter);
  return side;
}

// The same sessions on both sides never differ: a mistake in naming them, be it one book by two paths or a copy of it.
void check_different(const reports::Report& base, const reports::Report& candidate) {
  if (base.items.empty() || base.items.size() != candidate.items.size()) return;
  for (std::size_t i = 0; i < base.items.size(); ++i) {
    if (base.items[i].session_id != candidate.items[i].session_id) return;
  }
  throw InputError("base and candidate are the same sessions; name two, e.g. BOOK#date=previous BOOK#date=latest");
}

int run_compare(const Options& options, const Invocation& invocation) {
  const SideRequest base_side = side_of(options.base, options), candidate_side = side_of(options.candidate, options);
  const reports::ComparisonSettings settings = settings_of(options);
  ReportOutputs outputs(options);
  ReportContext context;
  context.command = invocation.command_line();
  reports::Report base = read_report(base_side, context);
  reports::Report candidate = read_report(candidate_side, context);
  check_different(base, candidate);
  Remeasured again;
  if (options.remeasure.remeasure) again = remeasure_winners(base, candidate, settings, options.remeasure);
  if (again.interrupted) {
    fmt::print(stderr, "interrupted; nothing was written, and the same command begins again\n");
    return kFailed;
  }
  const std::string command = candidate.command, generated_utc = candidate.generated_utc;
  reports::Comparison comparison = reports::compare(std::move(base), std::move(candidate), settings, again.pairs);
  comparison.notes.insert(comparison.notes.end(), again.notes.begin(), again.notes.end());
  comparison.command = command;
  comparison.generated_utc = generated_utc;

  ReportOutputs::Makers makers;
  makers.html = [&] { return reports::html(comparison); };
  makers.markdown = [&] { return reports::to_markdown(comparison); };
  makers.json = [&] { return reports::json_line(reports::to_json(comparison)); };
  makers.text = [&] { return reports::to_text(comparison, colour_allowed(stdout)); };
  outputs.write(makers);
  if (const std::string refusal = reports::gate_refusal(comparison); !refusal.empty()) fmt::print(stderr, "tunebook: {}\n", refusal);
  return comparison.exit_code;
}

}  // namespace

void add_compare(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("compare", "Regressions and improvements between two books, sessions, dates, devices or toolkits");
  const char* const side_help = "BOOK, BOOK#KEY=VALUE or #KEY=VALUE, with the keys session, date, device, kernel, toolkit, driver, since, until";
  verb->add_option("base", options->base, side_help)->required()->type_name("SIDE");
  verb->add_option("candidate", options->candidate, "The same, of what is judged")->required()->type_name("SIDE");
  verb->add_option("--threshold", options->thresholds, "Smallest change that counts: 3%, or KERNEL=3% for one kernel (repeatable; default: 2%)")
      ->allow_extra_args(false)->type_name("[KERNEL=]PERCENT");
  verb->add_option("--fail-on", options->fail_on, "Exit code 3 on: regression, inconclusive (and on a regression), never")
      ->check(CLI::IsMember({"regression", "inconclusive", "never"}))->capture_default_str();
  verb->add_option("--allow-different", options->allow_different,
                   fmt::format("Compare although this differs: {} or all, comma-separated", fmt::join(reports::difference_names(), ", ")))
      ->allow_extra_args(false)->type_name("NAMES");
  add_remeasure_options(*verb, options->remeasure);
  add_report_options(*verb, *options);
  verb->footer("Example:  tunebook compare '#date=previous' '#date=latest' --html nightly.html --markdown - >> \"$GITHUB_STEP_SUMMARY\"\n"
               "Exit codes: 0 passed, 2 bad input or not comparable (see --allow-different), 3 a regression.");
  verb->callback([options, &invocation] { invocation.exit_code = run_compare(*options, invocation); });
}

}  // namespace tunebook::cli
