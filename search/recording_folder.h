#pragma once

#include <filesystem>
#include <vector>

namespace tunebook {

// What a folder holds, directly in it, by name.
struct RecordingFolder {
  std::vector<std::filesystem::path> recordings;  // what Recording::load() takes
  std::vector<std::filesystem::path> others;      // JSON files that are none, and CSV files without their JSON file
};

// Of a folder, its recordings; of anything else, the path itself as the only one. Throws InputError for a folder without recordings or
// one that cannot be read, and for a file in it that is no JSON, though its name says so.
RecordingFolder find_recordings(const std::filesystem::path& path);

}  // namespace tunebook
