#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/learn_text.h"
#include "cli/terminal.h"
#include "db/store.h"
#include "learn/learn_book.h"

namespace tunebook::cli {
namespace {

struct Options {
  std::vector<std::string> kernels;
  std::string book;
  bool json = false;
};

int run_learn(const Options& options) {
  const std::string path = default_book_path(options.book);
  learn::LearnBookOptions what;
  what.kernels = options.kernels;
  const learn::LearnedBook learned = learn::learn_from_book(path, what);
  if (learned.changed()) Store(path).replace_models(learned.fresh, learned.outdated);
  if (options.json) {
    print_json({{"book", path}, {"models", learned_json(learned)}});
    return kDone;
  }
  if (learned.groups.empty()) {
    fmt::print(stderr,
               "{}: no trials to learn from; tune a kernel first (a published book has none)\n",
               path);
    return kDone;
  }
  fmt::print("{}", learned_text(learned));
  return kDone;
}

}  // namespace

void add_learn(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "learn",
      "Learn models of time from the book's trials: they answer for shapes that nobody tuned");
  add_book_option(*verb, options->book);
  verb->add_option("--kernel", options->kernels, "Kernels to learn (default: all)")
      ->type_name("KERNEL");
  add_json_option(*verb, options->json);
  verb->footer(
      "Example:  tunebook learn --kernel matmul\n"
      "One model for each version of a kernel, device, data type and method. What was learned from "
      "the same trials before is kept. "
      "publish does this by itself.");
  verb->callback([options, &invocation] { invocation.exit_code = run_learn(*options); });
}

}  // namespace tunebook::cli
