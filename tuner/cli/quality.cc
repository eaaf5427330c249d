#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/learn_text.h"
#include "cli/quality_timer.h"
#include "cli/terminal.h"
#include "db/store.h"
#include "learn/quality.h"

namespace tunebook::cli {
namespace {

struct Options {
  std::vector<std::string> kernels;
  std::string book, truth;
  std::size_t folds = learn::ValidationSettings::kFolds;
  bool questions = false;
  QualityTimerOptions timer;
  bool json = false;
};

std::string cell(std::optional<double> share) {
  return share ? fmt::format("{:.3f}", *share) : "-";
}
nlohmann::ordered_json known(std::optional<double> value) {
  return value ? nlohmann::ordered_json(*value) : nullptr;
}

std::string summary_text(const std::vector<learn::QualityGroup>& groups, bool timed) {
  TextTable table;
  table.header = {"kernel",  "dtype",    "device",      "method",    "asked",
                  "scored",  "answered", "worst",       "best of 3", "nearest",
                  "default", "expected", "within bound"};
  table.right = {false, false, false, false, true, true, true, true, true, true, true, true, true};
  std::string without;
  for (const learn::QualityGroup& group : groups) {
    if (group.questions.empty()) {
      without += fmt::format("no questions: {} {} {} {}: {}\n", group.kernel, group.dtype,
                             group.device.name, group.method, group.reason);
      continue;
    }
    const learn::QualitySummary all = learn::summarise(group, timed);
    table.rows.push_back({group.kernel, group.dtype, group.device.name, group.method,
                          std::to_string(all.asked), std::to_string(all.scored), cell(all.mean),
                          cell(all.worst), cell(all.best_of_three), cell(all.nearest),
                          cell(all.preset), cell(all.expected),
                          all.within_bound ? percent(*all.within_bound) : "-"});
  }
  return (table.rows.empty() ? std::string() : terminal_text(table)) + without;
}

std::string questions_text(const learn::QualityGroup& group) {
  TextTable table;
  table.header = {"problem", "tier",    "distance",      "answered",   "timed", "best of 3",
                  "nearest", "default", "expected loss", "80 % bound", "note"};
  table.right = {false, false, true, true, true, true, true, true, true, true, false};
  for (const learn::QualityQuestion& one : group.questions) {
    table.rows.push_back({one.problem.display(), one.tier, fmt::format("{:.2f}", one.distance),
                          one.answered ? cell(one.answered) : "not measured", cell(one.timed),
                          cell(one.best_of_three), cell(one.nearest), cell(one.preset),
                          one.expected_loss ? percent(*one.expected_loss) : "-",
                          one.loss_bound ? percent(*one.loss_bound) : "-", one.note});
  }
  return fmt::format("\n{} on {}\n{}", group.kernel, group.device.name, terminal_text(table));
}

nlohmann::ordered_json to_json(const learn::QualityQuestion& one) {
  return {
      {"problem", one.problem.to_json()},
      {"tier", one.tier},
      {"distance", std::isfinite(one.distance) ? nlohmann::ordered_json(one.distance) : nullptr},
      {"answer", one.answer.to_json()},
      {"tuned", one.tuned.to_json()},
      {"tuned_us", one.tuned_us},
      {"answered", known(one.answered)},
      {"timed", known(one.timed)},
      {"best_of_three", known(one.best_of_three)},
      {"nearest", known(one.nearest)},
      {"default", known(one.preset)},
      {"expected_loss", known(one.expected_loss)},
      {"loss_bound", known(one.loss_bound)},
      {"note", one.note}};
}

nlohmann::ordered_json to_json(const learn::QualityGroup& group, bool timed) {
  const learn::QualitySummary all = learn::summarise(group, timed);
  nlohmann::ordered_json questions = nlohmann::ordered_json::array();
  for (const learn::QualityQuestion& one : group.questions) questions.push_back(to_json(one));
  return {{"kernel", group.kernel},
          {"kernel_hash", group.kernel_hash},
          {"dtype", group.dtype},
          {"device", group.device.name},
          {"method", group.method},
          {"asked", all.asked},
          {"scored", all.scored},
          {"answered", known(all.mean)},
          {"worst", known(all.worst)},
          {"best_of_three", known(all.best_of_three)},
          {"nearest", known(all.nearest)},
          {"nearest_scored", all.with_nearest},
          {"default", known(all.preset)},
          {"default_scored", all.with_preset},
          {"expected", known(all.expected)},
          {"within_bound", known(all.within_bound)},
          {"reason", group.reason},
          {"questions", questions}};
}

int run_quality(const Options& options) {
  const std::string book = default_book_path(options.book);
  learn::QualityOptions what;
  what.kernels = options.kernels;
  what.folds = options.folds;
  std::vector<learn::QualityGroup> groups =
      options.truth.empty() ? learn::quality_from_book(book, what)
                            : learn::quality_by_truth(book, options.truth, what);
  const bool whole = !options.timer.measure || time_answers(groups, options.timer);
  if (options.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const learn::QualityGroup& group : groups)
      list.push_back(to_json(group, options.timer.measure));
    print_json(
        {{"book", book}, {"truth", options.truth}, {"groups", list}, {"interrupted", !whole}});
    return whole ? kDone : kFailed;
  }
  if (groups.empty())
    fmt::print(stderr, "{}: no trials to judge answers by; a published book has none\n",
               options.truth.empty() ? book : options.truth);
  fmt::print("{}", summary_text(groups, options.timer.measure));
  for (const learn::QualityGroup& group : groups) {
    if (options.questions && !group.questions.empty()) fmt::print("{}", questions_text(group));
  }
  for (const learn::QualityGroup& group : groups) {
    for (const learn::QualityQuestion& one : group.questions) {
      if (!one.note.empty())
        fmt::print(stderr, "not timed: {} {}: {}\n", group.kernel, one.problem.display(), one.note);
    }
  }
  if (!whole) fmt::print(stderr, "interrupted; what was timed until then is shown\n");
  return whole ? kDone : kFailed;
}

}  // namespace

void add_quality(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "quality", "Show how good the book's answers are for shapes that it was not tuned for");
  verb->add_option("kernels", options->kernels, "Kernels to ask for (default: all)")
      ->type_name("KERNEL");
  add_book_option(*verb, options->book);
  CLI::Option* truth =
      verb->add_option("--truth", options->truth,
                       "Ask for the shapes tuned in this book instead, and compare with it")
          ->type_name("BOOK");
  verb->add_option("--folds", options->folds,
                   "Parts that the book's shapes are divided into; each is left out once")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str()
      ->excludes(truth);
  verb->add_flag("--questions", options->questions, "Show a row for each shape as well");
  add_quality_timer_options(*verb, options->timer);
  add_json_option(*verb, options->json);
  verb->footer(
      "Example:  tunebook quality matmul --questions\n"
      "Numbers are times of the tuned configuration over times of the answer, as geometric means: "
      "1 is as good as tuned. Without --measure an "
      "answer is scored if the book has timed it.");
  verb->callback([options, &invocation] { invocation.exit_code = run_quality(*options); });
}

}  // namespace tunebook::cli
