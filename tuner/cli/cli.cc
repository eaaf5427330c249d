#include "cli/cli.h"

#include <iostream>

namespace tunebook::cli {

std::string Invocation::command_line() const {
  std::string line;
  for (int i = 0; i < argc; ++i) {
    const std::string word = argv[i];
    const bool plain = !word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                                               "_-+=:,./%@") == std::string::npos;
    if (i > 0) line += ' ';
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

void add_json_option(CLI::App& verb, bool& json) { verb.add_flag("--json", json, "Print one JSON object on stdout"); }

void add_book_option(CLI::App& verb, std::string& book) {
  verb.add_option("--book", book, "The book (default: $TUNEBOOK_BOOK, else $XDG_DATA_HOME/tunebook/book.db)")->type_name("PATH");
}

void add_templates_option(CLI::App& verb, std::vector<std::string>& templates) {
  verb.add_option("--templates", templates,
                  "Folder of kernel templates, or one template; repeatable. Then come $TUNEBOOK_TEMPLATES and the installed ones")
      ->allow_extra_args(false)->type_name("DIR");
}

void add_device_option(CLI::App& verb, std::string& device) {
  verb.add_option("--device", device, "cuda:N, cpu or replay:PATH (default: the best one present)")->type_name("DEVICE");
}

void print_json(const nlohmann::ordered_json& json) {
  std::cout << json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  std::cout.flush();
}

}  // namespace tunebook::cli
