// Writes pages of made-up reports into a folder, for page_check.py: sample_pages FOLDER
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "reports/html.h"
#include "reports/sample_reports.h"

int main(int argc, char** argv) {
  using namespace tunebook::reports;
  using namespace tunebook::reports::testing;
  if (argc != 2) {
    std::fprintf(stderr, "usage: sample_pages FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& page) { std::ofstream(folder / name, std::ios::binary) << page; };
  write("report-1.html", html(sample_report({.shapes = 1, .nights = 12})));
  write("report-5.html", html(sample_report({.shapes = 5, .devices = 5, .nights = 12})));
  write("report-60.html", html(sample_report({.shapes = 60, .nights = 12})));
  write("compare-1.html", html(sample_comparison({.shapes = 1})));
  write("compare-5.html", html(sample_comparison({.shapes = 7, .nights = 12})));
  write("compare-60.html", html(sample_comparison({.shapes = 60, .nights = 12})));
  write("report-hostile.html", html(hostile_report()));
  write("compare-hostile.html", html(hostile_comparison()));
  write("report-empty.html", html(Report()));
  write("compare-empty.html", html(Comparison()));
  return 0;
}
