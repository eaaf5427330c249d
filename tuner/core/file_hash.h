#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tunebook {

struct FileHash {
  std::string hash;        // 128-bit content hash (XXH3) as 32 lower-case hex digits: content_hash() of the whole file
  std::int64_t bytes = 0;
  friend bool operator==(const FileHash&, const FileHash&) = default;
};

// Reads the whole file, a piece at a time. Throws EnvironmentError naming it if that fails.
FileHash hash_file(const std::filesystem::path& path);

// Copies the file's bytes to `target`, which must not exist yet, and syncs them to the disk; returns the hash of what was read. Locks and
// names of the file do not matter: it is for closed files. On an error `target` is removed and EnvironmentError thrown.
FileHash copy_file_synced(const std::filesystem::path& source, const std::filesystem::path& target);

// A new file with this text, synced to the disk. `target` must not exist yet; removed again on an error (EnvironmentError).
void write_file_synced(const std::filesystem::path& target, const std::string& text);

// Syncs a folder: names that were renamed within it are then on the disk. Throws EnvironmentError.
void sync_folder(const std::filesystem::path& folder);

}  // namespace tunebook
