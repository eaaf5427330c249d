#include "sweep/session_command.h"

#include <fmt/format.h>

namespace tunebook {

std::vector<std::string> session_command(const SweepItem& item, const SessionTerms& terms) {
  const SessionSettings& settings = item.settings;
  const bool replay = item.is_replay();
  std::vector<std::string> words = {terms.program.string(), "tune", item.kernel, "--shape", item.shape(), "--device", terms.device};
  const auto add = [&](const std::string& name, const std::string& value) { words.insert(words.end(), {name, value}); };
  add("--strategy", settings.strategy);
  add("--budget", settings.budget);
  add("--seed", std::to_string(settings.seed));
  for (const std::string& where : settings.where) add("--where", where);
  add("--cache", settings.cache);
  add("--objective", std::string(objective_name(settings.objective)));
  add("--finalists", std::to_string(settings.finalists));
  add("--finalist-processes", std::to_string(settings.finalist_processes));
  add("--run-timeout", fmt::format("{}", settings.run_timeout_s));
  add("--compile-timeout", fmt::format("{}", settings.compile_timeout_s));
  if (!settings.baseline) words.push_back("--no-baseline");
  if (!settings.from_book)
    words.push_back("--no-from-book");
  else if (settings.from_book_first > 0)
    words.push_back(fmt::format("--from-book={}", settings.from_book_first));
  if (settings.sanitize) words.push_back("--sanitize");
  if (settings.lock_clocks_mhz > 0) add("--lock-clocks", std::to_string(settings.lock_clocks_mhz));
  if (!replay) {
    for (const std::string& folder : item.templates) add("--templates", folder);
    if (terms.compile_workers > 0) add("--compile-workers", std::to_string(terms.compile_workers));
  }
  add("--book", terms.book.string());
  if (terms.retime) words.push_back("--retime");
  if (terms.remeasure) words.push_back("--remeasure");
  if (terms.time_limit_s) add("--time-limit", fmt::format("{:.3f}", *terms.time_limit_s));
  words.push_back("--json");
  return words;
}

}  // namespace tunebook
