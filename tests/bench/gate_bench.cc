// How often `compare` is wrong and what it finds, by simulation: reports of 20 shapes whose process medians scatter.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "reports/simulated_report.h"

namespace tunebook::reports {
namespace {

struct Scene {
  std::string name;
  std::function<double(Random&)> noise;  // of one process, on the scale of logarithms
};

Scene normal(double deviation) {
  return {fmt::format("normal {:g} %", 100 * deviation), [=](Random& random) { return deviation * random.normal(); }};
}

// One process in five is slower, as where the layout of memory is an unlucky one.
Scene two_modes(double deviation, double slower) {
  return {fmt::format("normal {:g} %, one process in five {:g} % slower", 100 * deviation, 100 * slower),
          [=](Random& random) { return deviation * random.normal() + (random.below(5) == 0 ? slower : 0); }};
}

// Student's t of three degrees, scaled to the deviation.
Scene heavy_tails(double deviation) {
  return {fmt::format("Student t(3), {:g} %", 100 * deviation), [=](Random& random) {
            double squares = 0;
            const double normal = random.normal();
            for (int i = 0; i < 3; ++i) squares += std::pow(random.normal(), 2);
            return deviation * normal / std::sqrt(squares);  // variance 3 divided by 3
          }};
}

struct Row {
  double shift = 0;
  std::size_t processes = 10;
};

void print_row(const Scene& scene, const Row& row, int reports, std::size_t shapes, std::uint64_t seed) {
  Random random(seed);
  int any = 0, found = 0;
  std::int64_t unchanged = 0;
  for (int i = 0; i < reports; ++i) {
    const auto judgements =
        SimulatedReport(shapes, row.processes, row.processes, row.shift, [&] { return scene.noise(random); }).judged();
    const auto first = judgements.begin() + (row.shift > 0 ? 1 : 0);
    any += std::any_of(first, judgements.end(), flagged) ? 1 : 0;
    found += judgements.front().verdict == Verdict::regression ? 1 : 0;
    unchanged += std::count_if(first, judgements.end(), [](const Judgement& judgement) { return judgement.verdict == Verdict::unchanged; });
  }
  const auto share = [&](auto count, double of) { return fmt::format("{:.2f} %", 100 * static_cast<double>(count) / of); };
  const double others = static_cast<double>(shapes) - (row.shift > 0 ? 1 : 0);
  fmt::print("| {} | {} | {} | {} | {} | {} |\n", scene.name, row.processes, row.shift > 0 ? share_text(row.shift) : "none", share(any, reports),
             row.shift > 0 ? share(found, reports) : "", share(unchanged, reports * others));
}

}  // namespace
}  // namespace tunebook::reports

int main(int argc, char** argv) {
  using namespace tunebook::reports;
  CLI::App app("How often compare is wrong, and what it finds");
  int reports = 2000;
  std::size_t shapes = 20;
  std::uint64_t seed = 1;
  app.add_option("--reports", reports, "Simulated reports for each row")->capture_default_str();
  app.add_option("--shapes", shapes, "Shapes of a report")->capture_default_str();
  app.add_option("--seed", seed, "Of each row")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  fmt::print("| noise between processes | processes a side | true shift of one shape | reports with a false flag | shift found | other shapes unchanged |\n"
             "| --- | ---: | ---: | ---: | ---: | ---: |\n");
  for (const Scene& scene : {normal(0.005), normal(0.01), heavy_tails(0.01), two_modes(0.003, 0.02)}) {
    for (const Row& row : {Row{0, 10}, Row{0.03, 10}, Row{0.05, 10}, Row{0, 5}, Row{0.03, 5}, Row{0.05, 5}, Row{0, 3}, Row{0.05, 3}}) {
      print_row(scene, row, reports, shapes, seed);
    }
  }
}
