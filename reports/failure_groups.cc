#include "reports/failure_groups.h"

#include <algorithm>

#include "core/utf8.h"

namespace tunebook::reports {
namespace {

constexpr std::size_t kKeyBytes = 240;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Where the number that begins at `at` ends.
std::size_t number_end(std::string_view text, std::size_t at) {
  if (text[at] == '0' && at + 2 < text.size() && (text[at + 1] == 'x' || text[at + 1] == 'X') && is_hex(text[at + 2])) {
    at += 2;
    while (at < text.size() && is_hex(text[at])) ++at;
    return at;
  }
  const auto digits = [&] {
    while (at < text.size() && is_digit(text[at])) ++at;
  };
  digits();
  if (at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1])) {
    ++at;
    digits();
  }
  const bool exponent = at + 2 < text.size() && (text[at] == 'e' || text[at] == 'E') && (text[at + 1] == '-' || text[at + 1] == '+');
  if (exponent && is_digit(text[at + 2])) {
    at += 2;
    digits();
  }
  return at;
}

}  // namespace

std::string failure_key(std::string_view message) {
  const std::string_view line = message.substr(0, std::min(message.find('\n'), 2 * kKeyBytes));
  std::string key;
  for (std::size_t at = 0; at < line.size() && key.size() < kKeyBytes;) {
    if (is_digit(line[at])) {
      key += '#';
      at = number_end(line, at);
    } else {
      key += line[at++];
    }
  }
  return key;
}

std::string shown_message(std::string_view message, std::size_t bytes) {
  // A byte that is no UTF-8 becomes three.
  std::string text = valid_utf8(message.substr(0, bytes + 4));
  if (message.size() > bytes + 4 || text.size() > bytes) text = std::string(utf8_prefix(text, bytes)) + "...";
  return text;
}

std::uint32_t FailureGroups::group(Outcome outcome, std::string_view message) {
  std::string key = failure_key(message);
  key += '\0';
  key += static_cast<char>(outcome);
  const auto next = static_cast<std::uint32_t>(groups_.size());
  if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second;
  if (by_key_.size() < kMostGroups) {
    by_key_.emplace(std::move(key), next);
    groups_.push_back({outcome, shown_message(message, message_bytes_)});
    return next;
  }
  const auto [other, fresh] = others_.try_emplace(outcome, next);
  if (fresh) groups_.push_back({outcome, "(other messages)"});
  return other->second;
}

void keep_most_frequent(std::vector<FailureGroup>& groups, std::size_t most) {
  std::stable_sort(groups.begin(), groups.end(), [](const FailureGroup& x, const FailureGroup& y) { return x.count > y.count; });
  if (groups.size() > most) groups.resize(most);
}

}  // namespace tunebook::reports
