#include "core/json_text.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace tunebook {
namespace {

using nlohmann::ordered_json;

// No document of ours is nested deeper than about ten levels. The limit keeps whatever later walks the tree recursively
// (dump, copies, our readers) far from the end of the stack.
constexpr std::size_t kMaxDepth = 200;
// A file that went wrong early can repeat one fault thousands of times.
constexpr std::size_t kMaxDuplicatesReported = 20;

// Iterates over the text and tells how far the parser has read, which nlohmann's SAX interface does not.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** cursor) : at_(at), cursor_(cursor) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *cursor_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** cursor_;
};

// "LINE:COLUMN" of a byte offset, both from 1; columns count characters, not bytes.
std::string line_and_column(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const std::size_t newline = before.rfind('\n');
  const std::string_view line = newline == std::string_view::npos ? before : before.substr(newline + 1);
  const auto is_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  return fmt::format("{}:{}", std::count(before.begin(), before.end(), '\n') + 1,
                     std::count_if(line.begin(), line.end(), is_character) + 1);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

// nlohmann's "[json.exception...] parse error at line 1, column 2: syntax error while parsing X - D; expected E" in plain words.
std::string plain_words(std::string_view what) {
  std::string text(what);
  if (const std::size_t at = text.find("syntax error "); at != std::string::npos) text.erase(0, at + std::strlen("syntax error "));
  else if (const std::size_t colon = text.find(": "); colon != std::string::npos) text.erase(0, colon + 2);
  if (text.starts_with("while parsing")) {
    const std::size_t dash = text.find(" - ");
    if (dash != std::string::npos) text.erase(0, dash + 3);
  }
  if (const std::size_t last = text.find("; last read:"); last != std::string::npos) {
    // The text read so far can hold raw bytes of a broken character; the line and column say where it is.
    const std::size_t next = text.rfind("; expected ");
    text.erase(last, next != std::string::npos && next > last ? next - last : std::string::npos);
  }
  replace_all(text, "; expected '[', '{', or a literal", "; expected a value");
  replace_all(text, "; expected string literal", "; expected a key in double quotes");
  replace_all(text, "unexpected end of input", "the text ends too early");
  replace_all(text, "invalid literal", "not a JSON value (strings and keys need double quotes)");
  replace_all(text, "ill-formed UTF-8 byte", "not valid UTF-8");
  replace_all(text, " literal", "");
  replace_all(text, "; expected ", ", expected ");
  return text;
}

class DocumentBuilder : public nlohmann::json_sax<ordered_json> {
 public:
  DocumentBuilder(std::string_view text, const std::string& file, const char* const* cursor)
      : text_(text), file_(file), cursor_(cursor) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override { return add(std::move(value)); }

  bool start_object(std::size_t) override { return open(ordered_json::object()); }
  bool start_array(std::size_t) override { return open(ordered_json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    Level& level = levels_.back();
    level.key = key;
    if (!level.keys.insert(key).second && duplicates_.size() < kMaxDuplicatesReported) {
      duplicates_.push_back(fmt::format("{}:{}: duplicate key \"{}\" at {}", file_, line_and_column(text_, key_start()), key, path()));
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string& last_token, const nlohmann::detail::exception& error) override {
    std::string message = plain_words(error.what());
    std::size_t offset = std::min(position == 0 ? 0 : position - 1, text_.size());
    // Point at the start of the token. (nlohmann's last_token starts afresh only at numbers and strings.)
    if (message.starts_with("the text ends")) {
      offset = text_.size();
    } else if (message.starts_with("unexpected number") || message.starts_with("unexpected string")) {
      offset -= std::min(offset, last_token.size() - std::min<std::size_t>(last_token.size(), 1));
    } else if (message.starts_with("unexpected true") || message.starts_with("unexpected null")) {
      offset -= std::min<std::size_t>(offset, 3);
    } else if (message.starts_with("unexpected false")) {
      offset -= std::min<std::size_t>(offset, 4);
    } else if (message.starts_with("not a JSON value")) {
      while (offset > 0 && text_[offset - 1] >= 'a' && text_[offset - 1] <= 'z') --offset;
    }
    const std::size_t before = offset == 0 ? std::string_view::npos : text_.find_last_not_of(" \t\r\n", offset - 1);
    if (before != std::string_view::npos && text_[before] == ',' && offset < text_.size() && (text_[offset] == '}' || text_[offset] == ']')) {
      message += " (JSON allows no comma after the last item)";
    }
    throw InputError(fmt::format("{}:{}: {}", file_, line_and_column(text_, offset), message));
  }

  ordered_json finish() {
    if (!duplicates_.empty()) throw InputError(fmt::format("{}", fmt::join(duplicates_, "\n")));
    return std::move(root_);
  }

 private:
  struct Level {
    ordered_json* container = nullptr;
    string_t key;                           // objects: the current key
    std::unordered_set<std::string> keys;   // objects: those seen; ordered_json itself searches linearly
  };

  ordered_json* insert(ordered_json&& value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& level = levels_.back();
    if (level.container->is_array()) {
      auto& array = level.container->get_ref<ordered_json::array_t&>();
      array.push_back(std::move(value));
      return &array.back();
    }
    auto& object = level.container->get_ref<ordered_json::object_t&>();
    object.emplace_back(level.key, std::move(value));
    return &object.back().second;
  }

  template <typename T>
  bool add(T&& value) {
    insert(ordered_json(std::forward<T>(value)));
    return true;
  }

  bool open(ordered_json&& container) {
    if (levels_.size() >= kMaxDepth) {
      throw InputError(fmt::format("{}:{}: nested deeper than {} levels", file_, line_and_column(text_, read() - 1), kMaxDepth));
    }
    ordered_json* place = insert(std::move(container));
    levels_.emplace_back();
    levels_.back().container = place;
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  std::size_t read() const { return static_cast<std::size_t>(*cursor_ - text_.data()); }

  // The opening quote of the key whose closing quote was just read: the nearest one to the left that is not escaped.
  std::size_t key_start() const {
    std::size_t at = read() - 1;
    while (at > 0) {
      --at;
      if (text_[at] != '"') continue;
      std::size_t backslashes = 0;
      while (backslashes < at && text_[at - 1 - backslashes] == '\\') ++backslashes;
      if (backslashes % 2 == 0) return at;
    }
    return 0;
  }

  std::string path() const {
    std::string out;
    for (const Level& level : levels_) {
      out += '/';
      out += level.container->is_array() ? std::to_string(level.container->size() - 1) : json_pointer_step(level.key);
    }
    return out;
  }

  std::string_view text_;
  const std::string& file_;
  const char* const* cursor_;
  ordered_json root_;
  std::vector<Level> levels_;
  std::vector<std::string> duplicates_;
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Insertions, deletions, substitutions and swaps of neighbours; upper and lower case are the same letter.
std::size_t edit_distance(std::string_view x, std::string_view y) {
  std::vector<std::size_t> two_ago, last(y.size() + 1), row(y.size() + 1);
  for (std::size_t j = 0; j <= y.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= x.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= y.size(); ++j) {
      const bool same = lower(x[i - 1]) == lower(y[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(x[i - 1]) == lower(y[j - 2]) && lower(x[i - 2]) == lower(y[j - 1])) {
        row[j] = std::min(row[j], two_ago[j - 2] + 1);
      }
    }
    two_ago = last;
    last = row;
  }
  return last[y.size()];
}

}  // namespace

std::string json_pointer_step(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') out += "~0";
    else if (c == '/') out += "~1";
    else out += c;
  }
  return out;
}

ordered_json parse_json_text(std::string_view text, const std::string& file, bool comments) {
  const char* cursor = text.data();
  DocumentBuilder builder(text, file, &cursor);
  ordered_json::sax_parse(CountingIterator(text.data(), &cursor), CountingIterator(text.data() + text.size(), &cursor), &builder,
                          nlohmann::detail::input_format_t::json, /*strict=*/true, /*ignore_comments=*/comments);
  return builder.finish();
}

std::string read_text_file(const std::filesystem::path& path, std::size_t max_bytes) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw InputError(fmt::format("{}: no such file", path.string()));
  if (!std::filesystem::is_regular_file(status)) throw InputError(fmt::format("{}: not a regular file", path.string()));
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw InputError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  // Read in pieces and count: the size may change meanwhile, or be reported as 0 (as under /proc).
  std::string text;
  char piece[16384];
  while (stream.read(piece, sizeof piece) || stream.gcount() > 0) {
    text.append(piece, static_cast<std::size_t>(stream.gcount()));
    if (text.size() > max_bytes) throw InputError(fmt::format("{}: larger than the {} bytes allowed", path.string(), max_bytes));
  }
  if (stream.bad()) throw InputError(fmt::format("{}: reading failed", path.string()));
  return text;
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (const std::string& candidate : candidates) {
    const std::size_t length = std::max(word.size(), candidate.size());
    const std::size_t difference = length - std::min(word.size(), candidate.size());
    if (3 * difference > length + 1) continue;  // cannot be near; also bounds the work on absurd words
    const std::size_t distance = edit_distance(word, candidate);
    // About one error in three letters; a single letter is like any other and suggests nothing.
    if (3 * distance <= length + 1 && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace tunebook
