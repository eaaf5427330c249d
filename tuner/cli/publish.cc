#include "db/publish.h"

#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/cli.h"
#include "db/store.h"
#include "reports/html_text.h"

namespace tunebook::cli {
namespace {

using reports::page::plural;

struct Options {
  std::string book, output;
  bool json = false;
};

int run_publish(const Options& options) {
  const Publication published = publish_book(default_book_path(options.book), options.output);
  if (options.json) {
    print_json({{"output", options.output},
                {"kernels", published.kernels},
                {"devices", published.devices},
                {"winners", published.winners},
                {"bytes", published.bytes}});
    return kDone;
  }
  if (published.winners == 0) fmt::print(stderr, "note: the book has no winner yet; whoever asks {} gets the defaults\n", options.output);
  fmt::print("{}\n", options.output);
  fmt::print(stderr, "published: {} of {} on {}, {} bytes; applications may open it read-only while it is replaced\n",
             plural(published.winners, "winner"), plural(published.kernels, "kernel"), plural(published.devices, "device"), published.bytes);
  return kDone;
}

}  // namespace

void add_publish(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("publish", "Write the book that applications read: winners, no trials");
  verb->add_option("output", options->output, "The published book; an older one is replaced in one step")->required()->type_name("FILE");
  add_book_option(*verb, options->book);
  add_json_option(*verb, options->json);
  verb->footer("Example:  tunebook publish /srv/tunebook/published.db\nPublish into a folder that the readers can read; they see the "
               "new book within their refresh interval.");
  verb->callback([options, &invocation] { invocation.exit_code = run_publish(*options); });
}

}  // namespace tunebook::cli
