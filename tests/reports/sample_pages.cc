// Writes pages of made-up reports into a folder, for page_check.py: sample_pages FOLDER [TRIALS_OF_AN_ITEM]
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "reports/html.h"
#include "reports/sample_reports.h"

namespace {

// Intervals that cover less than 95 %, beside others.
tunebook::reports::Report of_three_processes(tunebook::reports::Report report) {
  for (tunebook::reports::Item& item : report.items) {
    for (tunebook::reports::ConfigurationRow& row : item.top) {
      if (row.finalist) row.time->coverage = 0.75;
    }
    item.winner->time->coverage = 0.75;
  }
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tunebook::reports;
  using namespace tunebook::reports::testing;
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: sample_pages FOLDER [TRIALS_OF_AN_ITEM]\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const std::size_t trials = argc == 3 ? std::stoul(argv[2]) : 240;
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& page) { std::ofstream(folder / name, std::ios::binary) << page; };
  write("report-1.html", html(of_three_processes(sample_report({.shapes = 1, .nights = 12, .trials = trials}))));
  write("report-5.html", html(sample_report({.shapes = 5, .nights = 12, .trials = trials})));
  write("report-devices.html", html(sample_report({.shapes = 7, .devices = 5, .nights = 2, .trials = trials})));
  write("report-60.html", html(sample_report({.shapes = 60, .nights = 12, .trials = trials})));
  write("compare-1.html", html(sample_comparison({.shapes = 1, .trials = trials})));
  write("compare-5.html", html(sample_comparison({.shapes = 7, .nights = 12, .trials = trials})));
  write("compare-60.html", html(sample_comparison({.shapes = 60, .nights = 12, .trials = trials})));
  write("report-1000.html", html(sample_report({.shapes = 1000, .nights = 12, .trials = trials})));
  write("report-hostile.html", html(hostile_report(trials)));
  write("compare-hostile.html", html(hostile_comparison(trials)));
  write("report-empty.html", html(Report()));
  write("compare-empty.html", html(Comparison()));
  return 0;
}
