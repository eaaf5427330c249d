#include "db/publish.h"

#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/learn_text.h"
#include "db/store.h"
#include "learn/learn_book.h"
#include "reports/html_text.h"

namespace tunebook::cli {
namespace {

using reports::page::plural;

struct Options {
  std::string book, output;
  bool no_models = false;
  bool json = false;
};

// Learns what the book's trials have not been learned from yet: into the book where it may be written, else for the published one alone.
PublishOptions learn_first(const std::string& book) {
  learn::LearnedBook learned = learn::learn_from_book(book);
  PublishOptions result;
  const bool changed = learned.changed();
  if (changed && learn::can_write(book)) {
    Store(book).replace_models(learned.fresh, learned.outdated);
  } else {
    result.learned = std::move(learned.fresh);
    result.outdated = std::move(learned.outdated);
  }
  // Reasons why groups have no model are for `learn`: publishing every night would repeat them.
  if (changed) fmt::print(stderr, "{}", learned_text(learned));
  return result;
}

int run_publish(const Options& options) {
  const std::string book = default_book_path(options.book);
  PublishOptions what;
  if (options.no_models) {
    what.models = false;
  } else {
    what = learn_first(book);
  }
  const Publication published = publish_book(book, options.output, what);
  if (options.json) {
    print_json({{"output", options.output},
                {"kernels", published.kernels},
                {"devices", published.devices},
                {"winners", published.winners},
                {"models", published.models},
                {"bytes", published.bytes}});
    return kDone;
  }
  if (published.winners == 0) fmt::print(stderr, "note: the book has no winner yet; whoever asks {} gets the defaults\n", options.output);
  fmt::print("{}\n", options.output);
  fmt::print(stderr, "published: {} of {} on {}, {}, {} bytes; applications may open it read-only while it is replaced\n",
             plural(published.winners, "winner"), plural(published.kernels, "kernel"), plural(published.devices, "device"),
             plural(published.models, "model"), published.bytes);
  return kDone;
}

}  // namespace

void add_publish(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("publish", "Write the book that applications read: winners and models of time, no trials");
  verb->add_option("output", options->output, "The published book; an older one is replaced in one step")->required()->type_name("FILE");
  add_book_option(*verb, options->book);
  verb->add_flag("--no-models", options->no_models, "Learn nothing, and leave out the models that answer for shapes nobody tuned");
  add_json_option(*verb, options->json);
  verb->footer("Example:  tunebook publish /srv/tunebook/published.db\nPublish into a folder that the readers can read; they see the "
               "new book within their refresh interval.");
  verb->callback([options, &invocation] { invocation.exit_code = run_publish(*options); });
}

}  // namespace tunebook::cli
