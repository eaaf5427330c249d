#include "cuda/ptxas_report.h"

#include <elf.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

namespace tunebook {
namespace {

constexpr std::size_t kMessageLimit = std::size_t{16} << 10;

// Calls `visit` with each line, without its end.
template <typename Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    visit(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// The number directly before `unit` ("12" before " registers").
std::optional<std::int64_t> number_before(std::string_view line, std::string_view unit) {
  const std::size_t position = line.find(unit);
  if (position == std::string_view::npos) return std::nullopt;
  std::size_t start = position;
  while (start > 0 && std::isdigit(static_cast<unsigned char>(line[start - 1])) != 0) --start;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(line.data() + start, line.data() + position, value);
  if (error != std::errc{} || end != line.data() + position) return std::nullopt;
  return value;
}

// What stands between `before` and the next `after`.
std::optional<std::string_view> between(std::string_view line, std::string_view before, std::string_view after) {
  const std::size_t start = line.find(before);
  if (start == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(start + before.size());
  return rest.substr(0, after.empty() ? rest.npos : rest.find(after));
}

bool contains(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
}

// A part of a cubin as a struct; nothing if it lies outside.
template <typename T>
std::optional<T> read_at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

Resources parse_ptxas_report(std::string_view log, std::string_view symbol) {
  Resources resources;
  bool in_entry = false;       // between "Compiling entry function 'symbol'" and the next entry
  bool in_properties = false;  // the line after "Function properties for symbol"
  for_each_line(log, [&](std::string_view line) {
    if (const auto entry = between(line, "Compiling entry function '", "'")) {
      in_entry = *entry == symbol;
      in_properties = false;
    } else if (const auto function = between(line, "Function properties for ", "")) {
      in_properties = *function == symbol;
    } else if (in_properties && contains(line, "bytes stack frame")) {
      resources.stack_bytes = number_before(line, " bytes stack frame").value_or(-1);
      resources.spill_store_bytes = number_before(line, " bytes spill stores").value_or(-1);
      resources.spill_load_bytes = number_before(line, " bytes spill loads").value_or(-1);
      in_properties = false;
    } else if (in_entry && contains(line, "Used ") && contains(line, " registers")) {
      resources.registers = number_before(line, " registers").value_or(-1);
      resources.shared_static_bytes = number_before(line, " bytes smem").value_or(0);
      // Called functions that were not inlined count too.
      if (const auto cumulative = number_before(line, " bytes cumulative stack size")) resources.stack_bytes = *cumulative;
      in_entry = false;
    }
  });
  return resources;
}

std::int64_t code_bytes(std::string_view cubin, std::string_view symbol) {
  const auto header = read_at<Elf64_Ehdr>(cubin, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) return -1;
  const auto section = [&](std::uint64_t index) {
    return read_at<Elf64_Shdr>(cubin, header->e_shoff + index * header->e_shentsize);
  };
  const auto names = section(header->e_shstrndx);
  if (!names) return -1;
  const std::string wanted = ".text." + std::string(symbol);
  for (std::uint64_t index = 0; index < header->e_shnum; ++index) {
    const auto candidate = section(index);
    if (!candidate) return -1;
    const std::uint64_t at = names->sh_offset + candidate->sh_name;
    if (at < cubin.size() && cubin.substr(at, wanted.size() + 1) == std::string_view(wanted.c_str(), wanted.size() + 1)) {
      return static_cast<std::int64_t>(candidate->sh_size);
    }
  }
  return -1;
}

std::string clean_log(std::string_view log) {
  while (!log.empty() && log.back() == '\0') log.remove_suffix(1);
  std::string text;
  for_each_line(log, [&](std::string_view line) {
    if (line.starts_with("ptxas info") || line.starts_with("ptxas         .")) return;
    if (line.empty() && (text.empty() || text.ends_with("\n\n"))) return;
    text.append(line).append("\n");
  });
  while (!text.empty() && text.back() == '\n') text.pop_back();
  replace_all(text, "__nv_name_map", "name expression ");
  replace_all(text, "  #pragma nv_mangled_name ", "  ");
  if (text.size() > kMessageLimit) {
    constexpr std::string_view kCut = "\n[...]\n";
    const std::size_t tail = kMessageLimit / 4;
    const std::size_t head = kMessageLimit - tail - kCut.size();
    text = text.substr(0, head) + std::string(kCut) + text.substr(text.size() - tail);
  }
  return text;
}

Outcome classify_failure(std::string_view log) {
  constexpr std::array<std::string_view, 6> kOverLimit = {
      "uses too much shared data", "uses too much local data", "uses too many registers", "uses too much registers",
      "too many resources", "Register allocation failed"};
  for (const std::string_view words : kOverLimit) {
    if (contains(log, words)) return Outcome::no_resources;
  }
  return Outcome::compile_error;
}

}  // namespace tunebook
