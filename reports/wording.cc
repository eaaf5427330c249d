#include "reports/wording.h"

#include <cmath>

#include <fmt/format.h>

#include "core/text_table.h"
#include "core/utf8.h"

namespace tunebook::reports::plain {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The code point at `at` of valid UTF-8, and its length.
std::pair<std::uint32_t, std::size_t> code_point(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  std::uint32_t code = length == 1 ? first : first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length && at + i < text.size(); ++i) code = (code << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3F);
  return {code, length};
}

bool is_control(std::uint32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

// Marks, embeddings, overrides and isolates of the bidirectional algorithm, and the separators of lines and paragraphs.
bool turns_text(std::uint32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

std::string rate(double value, const char* unit_of_giga, const char* unit_of_tera) {
  return value >= 1000 ? fmt::format("{:.2f} {}", value * 1e-3, unit_of_tera) : fmt::format("{:.3g} {}", value, unit_of_giga);
}

}  // namespace

std::string one_line(std::string_view text, std::size_t bytes) {
  const std::string valid = valid_utf8(text.substr(0, bytes + 4));
  std::string line;
  for (std::size_t at = 0; at < valid.size();) {
    const auto [code, length] = code_point(valid, at);
    if (code == '\n' || code == '\r' || code == '\t') line += ' ';
    else if (is_control(code) || turns_text(code)) line += kReplacement;
    else line += valid.substr(at, length);
    at += length;
  }
  if (text.size() > bytes || line.size() > bytes) line = std::string(utf8_prefix(line, bytes)) + "...";
  return line;
}

std::string time_text(const TimeEstimate* time, const IntervalNames& names) {
  if (time == nullptr) return "-";
  if (time->coverage == 0.0) return fmt::format("{} (one value)", format_time_us(time->median_us));
  const std::string coverage = names.in_cell(*time);
  return fmt::format("{} ({}{}{} to {})", format_time_us(time->median_us), coverage, coverage.empty() ? "" : ": ", format_time_us(time->low_us), format_time_us(time->high_us));
}

std::string energy_text(const std::optional<double>& joules) {
  if (!joules || !std::isfinite(*joules)) return "-";
  const double size = std::abs(*joules);
  if (size >= 1 || size == 0) return fmt::format("{:.3g} J", *joules);
  return size >= 1e-3 ? fmt::format("{:.3g} mJ", *joules * 1e3) : fmt::format("{:.3g} uJ", *joules * 1e6);
}

std::string energies_text(const ComparedItem& item) {
  if (!has_energy(item)) return "-";
  std::string text = fmt::format("{} -> {}", energy_text(item.base_energy_j), energy_text(item.candidate_energy_j));
  if (item.energy_change) text += fmt::format(" ({})", change_text(*item.energy_change));
  return text;
}

bool has_energy(const ComparedItem& item) { return item.base_energy_j || item.candidate_energy_j; }

std::string trials_text(const Item& item) {
  const std::string_view kind = session_kind_short(item.kind());
  if (item.trial_count == 0 && !kind.empty()) return std::string(kind);
  return kind.empty() ? count_text(item.trial_count) : fmt::format("{} ({})", count_text(item.trial_count), kind);
}

std::string rate_text(const Item& item, const Rates& rates) {
  if (rates.gflops && (counts_arithmetic(item) || !rates.gbps)) return rate(*rates.gflops, "GFLOP/s", "TFLOP/s");
  if (rates.gbps) return rate(*rates.gbps, "GB/s", "TB/s");
  return "-";
}

std::string ceiling_text(const Rates& rates) {
  return rates.percent_of_ceiling ? fmt::format("{:.0f} %", *rates.percent_of_ceiling) : std::string("-");
}

std::string change_text(double share) {
  const double percent = 100 * share;
  return std::abs(percent) < 0.05 ? std::string("0.0 %") : fmt::format("{:+.1f} %", percent);
}

std::string change_interval_text(const ComparedItem& item) {
  if (!item.change_low || !item.change_high) return "-";
  return fmt::format("[{:+.1f}, {:+.1f}] %", 100 * *item.change_low, 100 * *item.change_high);
}

std::string baseline_text(const Item& item) {
  if (!item.baseline || !item.baseline->ratio) return "-";
  std::string text = fmt::format("{:.3f}x", *item.baseline->ratio);
  if (const auto& interval = item.baseline->ratio_interval) text += fmt::format(" ({:.3f} to {:.3f})", interval->first, interval->second);
  return text;
}

std::string count_text(std::int64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3 && text[at - 4] != '-';) text.insert(at -= 3, ",");
  return text;
}

std::string outcomes_text(const std::vector<std::pair<Outcome, std::int64_t>>& outcomes) {
  std::string text;
  for (const auto& [outcome, count] : outcomes) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count_text(count), outcome_name(outcome));
  return text.empty() ? "none" : text;
}

std::string cost_text(const Cost& cost) {
  if (cost.measured + cost.reused == 0) return "wall " + format_duration(cost.wall_seconds);  // a published book has no trials
  return fmt::format("compile {}, verify {}, time {}, device idle {}, wall {}", format_duration(cost.compile_seconds), format_duration(cost.verify_seconds),
                     format_duration(cost.time_seconds), format_duration(cost.idle_seconds), format_duration(cost.wall_seconds));
}

Labelled shown_entry(const Labelled& entry) {
  // As books call them, which is as NVML and the CUDA runtime do.
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"uuid", "GPU UUID"}, {"pci", "PCI address"}, {"ecc", "ECC"}, {"mig", "MIG"}, {"cuda driver", "CUDA of the driver"}, {"cuda runtime", "CUDA runtime"}, {"ordinal", "device number"}};
  static constexpr std::pair<std::string_view, std::string_view> kUnits[] = {{" mhz", "MHz"}, {" khz", "kHz"}, {" w", "W"}, {" bits", "bits"}};
  Labelled shown = entry;
  for (const auto& [name, words] : kNames) {
    if (entry.label == name) shown.label = words;
  }
  for (const auto& [suffix, unit] : kUnits) {
    if (!entry.label.ends_with(suffix) || entry.value.empty()) continue;
    shown.label.resize(shown.label.size() - suffix.size());
    shown.value.clear();
    for (std::size_t at = 0; at <= entry.value.size();) {
      const std::size_t end = std::min(entry.value.find(", ", at), entry.value.size());
      std::string value = entry.value.substr(at, end - at);
      if (value.ends_with(".0")) value.resize(value.size() - 2);
      shown.value += fmt::format("{}{} {}", at == 0 ? "" : ", ", value, unit);
      at = end + 2;
    }
  }
  if (const std::size_t at = shown.label.find("sm clock"); at != std::string::npos) shown.label.replace(at, 2, "SM");
  if (shown.value == "true") shown.value = "yes";
  if (shown.value == "false") shown.value = "no";
  return shown;
}

std::string difference_text(const ComparedItem& item) {
  if (!item.base_time || !item.candidate_time) return "-";
  if (item.same_session) return "the same session on both sides";
  std::string text = item.same_configuration ? "same configuration" : "another winner";
  for (std::size_t i = 0; i < item.configuration_differences.size(); ++i) {
    const ConfigurationDifference& difference = item.configuration_differences[i];
    const auto shown = [](const std::string& value) { return value.empty() ? std::string("none") : value; };
    text += fmt::format("{}{} {} -> {}", i == 0 ? ": " : ", ", difference.parameter, shown(difference.base), shown(difference.candidate));
  }
  if (item.kernel_changed) text += "; kernel changed";
  return text;
}

}  // namespace tunebook::reports::plain
