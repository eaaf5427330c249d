#include "cli/usage.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/json_text.h"

namespace tunebook::cli {
namespace {

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::string nearest = nearest_word(word, known);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The first word that nothing wanted; an option before a plain word, which may only be that option's value.
std::string unwanted_word(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  const auto option = std::find_if(words.begin(), words.end(), [](const std::string& word) { return word.starts_with("-"); });
  if (option != words.end()) return option->substr(0, option->find('='));
  return words.empty() ? "" : words.front();
}

std::string without_verb(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  const auto verb = std::find_if(words.begin(), words.end(), [](const std::string& word) { return !word.starts_with("-"); });
  const std::string known = fmt::format("the verbs are {}", fmt::join(verb_names(app), ", "));
  if (verb != words.end()) return fmt::format("unknown verb '{}'{}; {}", *verb, did_you_mean(*verb, verb_names(app)), known);
  if (!words.empty()) return fmt::format("unknown option '{}'{}; {}", words.front(), did_you_mean(words.front(), option_names(app)), known);
  return fmt::format("no verb given; {}", known);
}

std::string within_verb(const CLI::App& verb, const CLI::Error& error) {
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return error.what();
  const std::string word = unwanted_word(verb);
  return word.starts_with("-") ? fmt::format("unknown option '{}'{}", word, did_you_mean(word, option_names(verb)))
                               : fmt::format("'{}' is one argument too many", word);
}

}  // namespace

std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  const std::vector<CLI::App*> verbs = app->get_subcommands();
  if (verbs.empty()) return fmt::format("tunebook: {}; see: tunebook --help\n", without_verb(*app));
  const CLI::App& verb = *verbs.back();
  return fmt::format("tunebook: {}; see: tunebook {} --help\n", within_verb(verb, error), verb.get_name());
}

}  // namespace tunebook::cli
