#include "cli/report_options.h"

#include <algorithm>
#include <iostream>
#include <set>

#include <fmt/format.h>

#include "cli/cli.h"
#include "core/error.h"

namespace tunebook::cli {

namespace {

// "" is what an unset variable of a script gives: nobody means by it that nothing is written.
std::string named_file(const std::string& path) { return path.empty() ? "the path is empty; name a file, or - for stdout" : ""; }

}  // namespace

void add_report_options(CLI::App& verb, ReportOptions& options) {
  verb.add_option("--kernel", options.filter.kernels, "This kernel only (repeatable)")->allow_extra_args(false)->type_name("NAME");
  verb.add_option("--device", options.filter.devices, "This device only: a name or a part of one, cuda, cpu, replay, sm_90 (repeatable)")
      ->allow_extra_args(false)->type_name("DEVICE");
  verb.add_option("--session", options.filter.sessions, "This session only: its id or how it begins (repeatable)")->allow_extra_args(false)->type_name("ID");
  verb.add_option("--date", options.filter.dates, "Sessions that ended on this date (UTC): 2026-11-29, latest, previous (repeatable)")
      ->allow_extra_args(false)->type_name("DATE");
  verb.add_option("--since", options.filter.since, "Sessions that ended since then: 2026-11-29, 2026-11-29T14:30 (UTC), 7d, 12h")->type_name("TIME");
  verb.add_option("--until", options.filter.until, "Sessions that ended until then; a date counts as a whole")->type_name("TIME");
  verb.add_option("--toolkit", options.filter.toolkits, "Compiled with this toolkit only: a part of its name (repeatable)")->allow_extra_args(false)->type_name("TEXT");
  verb.add_option("--driver", options.filter.drivers, "Under this driver only: a part of its version (repeatable)")->allow_extra_args(false)->type_name("TEXT");
  verb.add_option("--html", options.html, "Write a page of one file; -: to stdout")->check(named_file)->type_name("FILE");
  verb.add_option("--markdown", options.markdown, "Write Markdown for a pull request or a job summary; -: to stdout")->check(named_file)->type_name("FILE");
  // A flag with a text has the value "true" where none is given.
  verb.add_flag("--json", options.json, "Print one JSON object on one line, or write it: --json=FILE");
  add_book_option(verb, options.book);
}

ReportOutputs::ReportOutputs(const ReportOptions& options) {
  std::set<std::filesystem::path> files;
  int to_stdout = 0;
  const auto add = [&](const char* option, const std::string& path, std::function<std::string()> Makers::*make) {
    if (path.empty()) return;
    Target target{option, std::nullopt, make};
    if (path == "-") {
      ++to_stdout;
    } else {
      target.file.emplace(path);
      if (!files.insert(target.file->path()).second) throw InputError(fmt::format("{}: two outputs cannot go into one file", path));
    }
    targets_.push_back(std::move(target));
  };
  add("--html", options.html, &Makers::html);
  add("--markdown", options.markdown, &Makers::markdown);
  add("--json", options.json == "true" ? "-" : options.json, &Makers::json);
  if (to_stdout > 1) throw InputError("only one of --html, --markdown and --json can go to stdout; name files for the others");
}

void ReportOutputs::write(const Makers& makers) {
  // Made first and then written: if one fails, no file is new.
  std::vector<std::string> contents;
  for (const Target& target : targets_) contents.push_back((makers.*target.make)());
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (!targets_[i].file) {
      std::cout << contents[i];
      std::cout.flush();
      continue;
    }
    targets_[i].file->write(contents[i]);
    fmt::print(stderr, "{}: {} bytes\n", targets_[i].file->path().string(), contents[i].size());
  }
  if (targets_.empty()) {
    std::cout << makers.text();
    std::cout.flush();
  }
}

}  // namespace tunebook::cli
