#include "session/sanitizer_log.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <optional>

#include <cxxabi.h>

namespace tunebook {
namespace {

constexpr std::string_view kPrefix = "=========";
constexpr std::size_t kMostFindings = 20;
constexpr std::size_t kFindingBytes = 600;

// Calls `action` with each line, without its end.
template <typename Action>
void each_line(std::string_view text, Action action) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    action(line);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

bool part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

// `name` as a whole word.
bool mentions(std::string_view text, std::string_view name) {
  if (name.empty()) return false;
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !part_of_name(text[at - 1])) && (end == text.size() || !part_of_name(text[end]))) return true;
  }
  return false;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty() || from == to) return;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
}

// A message of the tool: its first line and those indented below it.
struct Block {
  std::string title;
  std::vector<std::string> details;

  bool mentions_any(const std::vector<std::string>& names) const {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return mentions(title, name) ||
             std::any_of(details.begin(), details.end(), [&](const std::string& line) { return mentions(line, name); });
    });
  }
  // What is of use in one line; where the host was then is not.
  std::string text() const {
    std::string text = title;
    for (const std::string& line : details) {
      if (line.starts_with("Saved host backtrace") || line.starts_with("Host Frame")) break;
      text += (line.starts_with("at ") || line.starts_with("by ") || line.starts_with("and ") ? " " : "; ") + line;
    }
    return text;
  }
};

std::vector<Block> blocks_of(std::string_view log) {
  std::vector<Block> blocks;
  bool open = false;
  each_line(log, [&](std::string_view line) {
    if (!line.starts_with(kPrefix)) return;  // the program's own output
    line.remove_prefix(kPrefix.size());
    const std::string_view said = trimmed(line);
    if (said.empty()) {
      open = false;
      return;
    }
    // Details are indented further than the one blank after the prefix. Some versions do not indent "and ... access at".
    const bool detail = line.starts_with("  ") || (open && said.starts_with("and "));
    if (!detail) blocks.push_back({std::string(said), {}});
    if (detail && open) blocks.back().details.emplace_back(said);
    open = !detail || open;
  });
  return blocks;
}

bool is_summary(const std::string& title) {
  return title.find("SUMMARY: ") != std::string::npos && !title.starts_with("LEAK");
}

// Of the tool itself, not of the program.
bool is_failure(const std::string& title) {
  constexpr std::array<std::string_view, 7> kStarts = {"Error: Target application", "Target application terminated", "Error: No attachable",
                                                       "Internal Sanitizer Error", "Error: Device not supported", "Error: unable",
                                                       "Error: process didn't"};
  return std::any_of(kStarts.begin(), kStarts.end(), [&](std::string_view start) { return title.starts_with(start); });
}

std::string clipped(std::string text) {
  if (text.size() > kFindingBytes) text.resize(kFindingBytes);
  return text;
}

std::optional<std::string_view> after(std::string_view line, std::string_view start) {
  const std::size_t at = line.find(start);
  if (at == std::string_view::npos) return std::nullopt;
  return line.substr(at + start.size());
}

// "kernel.cu:12" of "    #1 0x7f in kernel(float*) /tmp/x/kernel.cu:12:5 (...)"; empty if the frame has no source.
std::string place_of_frame(std::string_view frame) {
  const std::size_t colon = frame.find(".cu");
  if (colon == std::string_view::npos) return "";
  std::size_t begin = colon;
  while (begin > 0 && frame[begin - 1] != ' ' && frame[begin - 1] != '/') --begin;
  std::size_t end = frame.find(':', colon);
  if (end == std::string_view::npos) return "";
  ++end;
  while (end < frame.size() && std::isdigit(static_cast<unsigned char>(frame[end])) != 0) ++end;
  return std::string(frame.substr(begin, end - begin));
}

}  // namespace

std::string function_name(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  std::string name = demangled ? demangled.get() : symbol;
  name = name.substr(0, std::min(name.find('<'), name.find('(')));
  const std::size_t blank = name.rfind(' ');  // "void matmul"
  if (blank != std::string::npos) name.erase(0, blank + 1);
  const std::size_t scope = name.rfind("::");
  if (scope != std::string::npos) name.erase(0, scope + 2);
  return name;
}

SanitizerLog parse_compute_sanitizer_log(std::string_view text, const std::vector<std::string>& symbols) {
  std::vector<std::string> names = symbols;
  for (const std::string& symbol : symbols) names.push_back(function_name(symbol));
  SanitizerLog log;
  for (const Block& block : blocks_of(text)) {
    if (is_summary(block.title)) {
      log.complete = true;
    } else if (is_failure(block.title)) {
      if (log.failure.empty()) log.failure = clipped(block.title);
    } else if (!block.title.starts_with("Warning") && log.findings.size() < kMostFindings && block.mentions_any(names)) {
      std::string finding = block.text();
      for (const std::string& symbol : symbols) replace_all(finding, symbol, function_name(symbol));
      replace_all(finding, "Error: ", "");
      log.findings.push_back(clipped(std::move(finding)));
    }
  }
  return log;
}

std::string parse_asan_report(std::string_view text) {
  std::string kind, access, place, variable;
  bool within = false;
  bool over = false;
  each_line(text, [&](std::string_view line) {
    if (over) return;
    if (!within) {
      if (const auto said = after(line, "ERROR: AddressSanitizer: ")) {
        within = true;
        kind = std::string(said->substr(0, said->find_first_of(" \n")));
      }
      return;
    }
    const std::string_view content = trimmed(line);
    if (access.empty() && (content.starts_with("READ of size") || content.starts_with("WRITE of size"))) {
      access = std::string(content.substr(0, content.find(" at ")));
    } else if (place.empty() && content.starts_with('#')) {
      place = place_of_frame(content);
    } else if (const std::size_t arrow = content.find("<=="); arrow != std::string_view::npos && variable.empty()) {
      const std::size_t begin = content.find('\'');
      if (begin != std::string_view::npos && begin < arrow) {
        const bool under = content.find("underflows") != std::string_view::npos;
        std::string name(trimmed(content.substr(begin, arrow - begin)));  // 'tile' (line 5); clang names a part of it 'tile.i'
        const std::size_t quote = name.find('\'', 1);
        const std::size_t dot = name.find('.');
        if (quote != std::string::npos && dot < quote) name.erase(dot, quote - dot);
        variable = name + (under ? " is underrun" : " is overrun");
      }
    } else if (content.starts_with("SUMMARY: ")) {
      over = true;
    }
  });
  if (!within) return "";
  std::string finding = kind;
  if (!access.empty()) finding += ": " + access;
  if (!place.empty()) finding += " at " + place;
  if (!variable.empty()) finding += "; " + variable;
  if (kind == "use-after-poison" || kind == "unknown-crash") finding += "; outside of a shared array or a buffer";
  return clipped(std::move(finding));
}

}  // namespace tunebook
