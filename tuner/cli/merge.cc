#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "db/learned_trials.h"
#include "db/merge.h"
#include "db/store.h"

namespace tunebook::cli {
namespace {

struct Options {
  std::vector<std::string> books;
  std::string book;
  bool json = false;
};

nlohmann::ordered_json to_json(const MergeCounts& counts) {
  return {{"kernels", counts.kernels},
          {"devices", counts.devices},
          {"sessions", counts.sessions},
          {"sessions_extended", counts.sessions_extended},
          {"trials", counts.trials},
          {"winners", counts.winners},
          {"baselines", counts.baselines},
          {"profiles", counts.profiles},
          {"ceilings", counts.ceilings}};
}

nlohmann::ordered_json to_json(const LearnedResult& file) {
  return {{"file", file.path.string()},
          {"refinements", file.refinements},
          {"trials", file.trials},
          {"refinements_added", file.refinements_added},
          {"trials_added", file.trials_added},
          {"passed_over", file.passed_over},
          {"notes", file.notes}};
}

void print_result(const MergeResult& result, const std::vector<LearnedResult>& learned, const std::string& target, double wall_s, bool json) {
  if (json) {
    nlohmann::ordered_json books = nlohmann::ordered_json::array();
    for (const MergedBook& one : result.books) {
      books.push_back({{"book", one.path.string()},
                       {"is_target", one.is_target},
                       {"sessions", one.sessions},
                       {"unfinished", one.unfinished},
                       {"trials", one.trials},
                       {"added", to_json(one.added)}});
    }
    nlohmann::ordered_json all = {{"book", target}, {"stopped", result.stopped}, {"added", to_json(result.added)}, {"books", books}};
    if (!learned.empty()) {
      all["learned"] = nlohmann::ordered_json::array();
      for (const LearnedResult& file : learned) all["learned"].push_back(to_json(file));
    }
    all["wall_s"] = wall_s;
    print_json(all);
    return;
  }
  if (!result.stopped) fmt::print("{}\n", target);
  for (const MergedBook& one : result.books) {
    if (one.is_target) {
      fmt::print(stderr, "{}: the target itself, nothing to merge\n", one.path.string());
    } else {
      fmt::print(stderr, "{}: {} sessions ({} unfinished), {} trials; new: {} sessions, {} extended, {} trials\n", one.path.string(),
                 one.sessions, one.unfinished, one.trials, one.added.sessions, one.added.sessions_extended, one.added.trials);
    }
  }
  for (const LearnedResult& file : learned) {
    fmt::print(stderr, "{}: {} refinements of applications, {} trials; new: {}, {} trials; {} lines passed over\n", file.path.string(),
               file.refinements, file.trials, file.refinements_added, file.trials_added, file.passed_over);
    for (const std::string& note : file.notes) fmt::print(stderr, "  {}\n", note);
  }
}

int run_merge(const Options& options, const Invocation& invocation) {
  const std::string target = default_book_path(options.book);
  std::vector<std::filesystem::path> sources, learned_files;
  for (const std::string& path : options.books) (is_learned_file(path) ? learned_files : sources).emplace_back(path);
  const Interrupt interrupt;
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  ProgressLine line;
  MergeOptions merge_options;
  merge_options.stop = [] { return Interrupt::requested(); };
  merge_options.progress = [&](const std::filesystem::path& book, std::int64_t trials) {
    line.show(fmt::format("{}: {} trials", book.string(), trials));
  };
  MergeResult result;
  if (!sources.empty()) result = merge_books(sources, target, merge_options);
  line.clear();
  // After the books: one of them may have the declarations that the lines are checked by.
  std::vector<LearnedResult> learned;
  for (const std::filesystem::path& path : learned_files) {
    if (!result.stopped) learned.push_back(merge_learned(path, target));
  }
  print_result(result, learned, target, seconds(), options.json);
  if (result.stopped) {
    fmt::print(stderr, "interrupted; what was merged is in {}\ncomplete it with: {}\n", target, invocation.command_line());
    return kFailed;
  }
  return kDone;
}

}  // namespace

void add_merge(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("merge", "Merge working books into one, and what applications learned: each session and measurement once");
  verb->add_option("books", options->books, "Working books, and files that tunebook::launch wrote (LaunchOptions::refine.learned_file); they are only read, and may be "
                   "written meanwhile")->required()->type_name("BOOK");
  add_book_option(*verb, options->book);
  verb->get_option("--book")->description("The book they are merged into, made if missing (default: $TUNEBOOK_BOOK, else $XDG_DATA_HOME/tunebook/book.db)");
  add_json_option(*verb, options->json);
  verb->footer("Example:  tunebook merge node1.db node2.db --book all.db\n"
               "The order of the books does not matter, and merging again changes nothing. If it is interrupted or killed, the same command "
               "completes it.\n"
               "Trials of a learned file teach the book's models; they never are an exact answer.");
  verb->callback([options, &invocation] { invocation.exit_code = run_merge(*options, invocation); });
}

}  // namespace tunebook::cli
