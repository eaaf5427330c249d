#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/template_folder.h"
#include "db/model_check.h"
#include "db/store.h"
#include "session/baseline_listing.h"
#include "session/device_listing.h"
#include "worker/artifact_cache.h"

namespace tunebook::cli {
namespace {

struct Options {
  std::string book;
  std::vector<std::string> templates;
  bool json = false;
};

struct Finding {
  std::string what;      // "book", "cache", ...
  bool sound = true;
  bool serious = true;   // an unsound one that is not serious is a note: exit code 0
  std::string text;      // what was found, and the remedy
};

// A lookup passes over what is damaged, so nobody would notice.
void check_models_of(const std::filesystem::path& book, std::vector<Finding>& findings) {
  const std::vector<ModelCheck> models = check_models(book);
  std::size_t sound = 0;
  for (const ModelCheck& model : models) {
    if (model.fault.empty()) {
      ++sound;
    } else {
      findings.push_back({"models", false, true, fmt::format("{}: {}", model.what, model.fault)});
    }
  }
  if (sound == models.size()) {
    findings.push_back({"models", true, false,
                        models.empty() ? "none yet; tunebook learn makes them from the book's trials"
                                       : fmt::format("{} sound", sound)});
  }
}

void check_book(const Options& options, std::vector<Finding>& findings) {
  const std::filesystem::path path = default_book_path(options.book);
  if (!std::filesystem::exists(path)) {
    findings.push_back({"book", true, false, fmt::format("{}: none yet; tunebook tune makes it", path.string())});
    return;
  }
  try {
    const Store::Health health = Store::check_file(path);
    for (const std::string& problem : health.problems) {
      findings.push_back({"book", false, true,
                          fmt::format("{}: {}; keep a copy, then save what can be read: sqlite3 {} .recover", path.string(), problem,
                                      path.string())});
    }
    if (health.problems.empty()) {
      findings.push_back({"book", true, true,
                          fmt::format("{}: sound; {} kernels, {} devices, {} sessions, {} trials, {} winners", path.string(),
                                      health.kernels, health.devices, health.sessions, health.trials, health.winners)});
      check_models_of(path, findings);
    }
  } catch (const std::exception& error) {
    findings.push_back({"book", false, true, error.what()});
  }
}

void check_cache(std::vector<Finding>& findings) {
  const std::filesystem::path root = ArtifactCache::root();
  if (root.empty()) {
    findings.push_back({"cache", false, false, "no home folder: every compile starts afresh; set $TUNEBOOK_CACHE to a folder of yours"});
    return;
  }
  struct stat status {};
  if (stat(root.c_str(), &status) != 0) {
    findings.push_back({"cache", true, false, fmt::format("{}: none yet", root.string())});
    return;
  }
  if (status.st_uid != geteuid() || (status.st_mode & 0022) != 0) {
    findings.push_back({"cache", false, true,
                        fmt::format("{}: others can write to it, so it is refused; run: chmod 700 {}, or set $TUNEBOOK_CACHE",
                                    root.string(), root.string())});
    return;
  }
  std::uintmax_t bytes = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root, ignored)) {
    if (entry.is_regular_file(ignored)) bytes += entry.file_size(ignored);
  }
  findings.push_back({"cache", true, true, fmt::format("{}: {:.1f} MiB", root.string(), static_cast<double>(bytes) / 1048576.0)});
}

void check_templates(const Options& options, std::vector<Finding>& findings) {
  const auto path = template_search_path(options.templates);
  std::size_t good = 0;
  for (const TemplateEntry& entry : find_templates(path)) {
    if (entry.error.empty()) {
      ++good;
    } else {
      findings.push_back({"templates", false, true, fmt::format("{}: {}", entry.folder.string(), entry.error)});
    }
  }
  std::string folders;
  for (const auto& folder : path) folders += (folders.empty() ? "" : ", ") + folder.string();
  findings.push_back({"templates", good > 0, true,
                      fmt::format("{} kernels in {}{}", good, folders.empty() ? "no folder" : folders,
                                  good > 0 ? "" : "; name a folder with --templates or in $TUNEBOOK_TEMPLATES")});
}

void check_devices(std::vector<Finding>& findings) {
  bool any = false;
  std::vector<Finding> unusable;
  for (const DeviceListing& listing : list_devices()) {
    if (listing.error.empty() && listing.hello && listing.hello->device) {
      any = true;
      findings.push_back({"device " + listing.id, true, true,
                          fmt::format("{}{}", listing.hello->device->name,
                                      listing.hello->driver.empty() ? "" : ", driver " + listing.hello->driver)});
    } else {
      unusable.push_back({"device " + listing.id, false, false, listing.error});
    }
  }
  for (Finding& finding : unusable) {
    finding.serious = !any;
    findings.push_back(finding);
  }
}

// None is a note: winners are then compared with nothing.
void check_baselines(std::vector<Finding>& findings) {
  const BaselineListing listing = list_baselines();
  for (const std::string& line : listing.lines) findings.push_back({"baselines", listing.module, false, line});
}

int run_doctor(const Options& options) {
  std::vector<Finding> findings;
  check_book(options, findings);
  check_cache(findings);
  check_templates(options, findings);
  check_devices(findings);
  check_baselines(findings);

  bool sound = true;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  TextTable table;
  table.header = {"part", "state", "finding"};
  for (const Finding& finding : findings) {
    const bool bad = !finding.sound && finding.serious;
    sound = sound && !bad;
    const std::string state = finding.sound ? "ok" : finding.serious ? "PROBLEM" : "note";
    list.push_back({{"part", finding.what}, {"state", finding.sound ? "ok" : finding.serious ? "problem" : "note"}, {"finding", finding.text}});
    table.rows.push_back({finding.what, finding.sound ? green(state, stdout) : bad ? red(state, stdout) : state, finding.text});
  }
  if (options.json) {
    print_json({{"sound", sound}, {"findings", list}});
  } else {
    fmt::print("{}", terminal_text(table));
  }
  return sound ? kDone : kNo;
}

}  // namespace

void add_doctor(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("doctor", "Check book, cache, templates and devices, and say what to do");
  add_book_option(*verb, options->book);
  add_templates_option(*verb, options->templates);
  add_json_option(*verb, options->json);
  verb->footer("Example:  tunebook doctor\nExit code 3: something needs attention.");
  verb->callback([options, &invocation] { invocation.exit_code = run_doctor(*options); });
}

}  // namespace tunebook::cli
