#include "cli/cli.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"

namespace tunebook::cli {
namespace {

constexpr double kLeastSeconds = 0.001;
constexpr double kMostSeconds = 7 * 24 * 3600;

}  // namespace

std::string Invocation::command_line() const {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i > 0 ? " " : "") + shell_word(argv[i]);
  return line;
}

void check_architecture(const std::string& arch) {
  // sm_, two or three digits, perhaps a letter.
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string rest = arch.starts_with("sm_") ? arch.substr(3) : "";
  if (!rest.empty() && rest.back() >= 'a' && rest.back() <= 'z') rest.pop_back();
  const bool gpu = (rest.size() == 2 || rest.size() == 3) && std::all_of(rest.begin(), rest.end(), is_digit);
  if (arch != "cpu" && !gpu) {
    throw InputError(fmt::format("--arch '{}': expected an architecture such as sm_90, sm_90a or cpu", arch));
  }
}

void check_architecture_compiled(const std::string& arch, const std::string& message) {
  if (message.find("invalid value for --gpu-architecture") == std::string::npos) return;
  throw InputError(fmt::format("--arch {}: the NVRTC that was found does not compile for it; name another, such as sm_90", arch));
}

void add_json_option(CLI::App& verb, bool& json) { verb.add_flag("--json", json, "Print one JSON object on stdout"); }

void add_book_option(CLI::App& verb, std::string& book) {
  verb.add_option("--book", book, "The book (default: $TUNEBOOK_BOOK, else $XDG_DATA_HOME/tunebook/book.db)")
      ->check([](const std::string& path) { return std::string(path.empty() ? "the path is empty; leave the option out for the default book" : ""); })
      ->type_name("PATH");
}

void add_templates_option(CLI::App& verb, std::vector<std::string>& templates) {
  verb.add_option("--templates", templates,
                  "Folder of kernel templates, or one template; repeatable. Then come $TUNEBOOK_TEMPLATES and the installed ones")
      ->allow_extra_args(false)->type_name("DIR");
}

void add_device_option(CLI::App& verb, std::string& device) {
  verb.add_option("--device", device, "cuda:N, cpu or replay:PATH (default: the best one present)")->type_name("DEVICE");
}

void add_seconds_option(CLI::App& verb, const std::string& name, double& seconds, const std::string& description) {
  const auto check = [](const std::string& text) -> std::string {
    double value = 0;
    // Written so that a NaN fails, too.
    if (CLI::detail::lexical_cast(text, value) && value >= kLeastSeconds && value <= kMostSeconds) return {};
    return fmt::format("'{}' is no number of seconds from {} to {}", text, kLeastSeconds, kMostSeconds);
  };
  verb.add_option(name, seconds, description)->check(check)->type_name("SECONDS")->capture_default_str();
}

void add_lock_clocks_option(CLI::App& verb, int& mhz) {
  verb.add_option("--lock-clocks", mhz,
                  "Hold the GPU's SM clock at this rate while this runs (needs administrator rights); times are kept apart from others")
      ->check(CLI::Range(1, 100000))->type_name("MHZ");
}

void add_seed_option(CLI::App& verb, std::uint64_t& seed, const std::string& description) {
  const auto check = [](const std::string& text) -> std::string {
    std::uint64_t value = 0;  // CLI11 lets negative and too large ones wrap around
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    return whole ? std::string() : fmt::format("'{}' is no integer from 0 to 2^64 - 1", text);
  };
  verb.add_option("--seed", seed, description)->check(check)->capture_default_str();
}

void print_json(const nlohmann::ordered_json& json) {
  std::cout << json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  std::cout.flush();
}

}  // namespace tunebook::cli
