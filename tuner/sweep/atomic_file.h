#pragma once

#include <filesystem>
#include <string>

namespace tunebook {

// Writes a file beside `file` and renames it into place: a reader sees the old text or the new one, also after a crash. Throws
// EnvironmentError.
void write_atomically(const std::filesystem::path& file, const std::string& text);

}  // namespace tunebook
