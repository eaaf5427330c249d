#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace tunebook {

// Parses JSON text, keeping key order. Throws InputError "FILE:LINE:COLUMN: ..." for malformed text (with what was expected,
// in plain words) and "FILE:LINE:COLUMN: duplicate key "x" at /path". With `comments`, // and /* */ are allowed.
nlohmann::ordered_json parse_json_text(std::string_view text, const std::string& file, bool comments = false);

// Reads a whole file. Throws InputError if it is missing, not a regular file, unreadable or over `max_bytes`.
std::string read_text_file(const std::filesystem::path& path, std::size_t max_bytes = std::size_t{64} << 20);

// "/" and "~" written as JSON pointers want them: one step of a path.
std::string json_pointer_step(std::string_view key);

// The candidate nearest to `word` by edit distance, or "" if none is near enough to be a likely typing error.
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace tunebook
