#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/output_file.h"
#include "cli/report_sessions.h"

namespace tunebook::cli {

// What `report` and `compare` have in common: filters and where the result goes.
struct ReportOptions {
  std::string book;
  ReportFilter filter;
  std::string html, markdown, json;  // files; "-" is stdout; json "": not asked for
};

void add_report_options(CLI::App& verb, ReportOptions& options);

// The files that were asked for, opened before the book is read.
class ReportOutputs {
 public:
  // Throws InputError as OutputFile does, if two of them are one file, or if more than one is to go to stdout.
  explicit ReportOutputs(const ReportOptions& options);

  // Each is made only if it was asked for.
  struct Makers {
    std::function<std::string()> html, markdown, json, text;  // text: for stdout, if nothing else was asked for
  };
  // Writes all of them; names the files on stderr.
  void write(const Makers& makers);

 private:
  struct Target {
    std::string option;
    std::optional<OutputFile> file;  // nothing: stdout
    std::function<std::string()> Makers::*make;
  };
  std::vector<Target> targets_;
};

}  // namespace tunebook::cli
