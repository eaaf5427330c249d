#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace tunebook {

// Compiled artifacts (cubins, shared objects) by key, shared by all of a user's worker processes.
//
// Layout: ROOT/KIND/ab/abcdef....json (the entry) beside ROOT/KIND/ab/abcdef....-CONTENT.SUFFIX (the artifact it names).
// Both are written to a temporary file and renamed, the artifact first, and the artifact's name holds the hash of its content:
// a reader never sees half an entry, and two processes that publish one key at the same time do not disturb each other.
// An entry that cannot be read, or whose artifact is missing or has other content, is a miss.
//
// ROOT is $TUNEBOOK_CACHE, else $XDG_CACHE_HOME/tunebook, else ~/.cache/tunebook, made with mode 0700. What is loaded from it is
// executed, so a folder that another user owns or can write to is refused. One that cannot be written to (read-only, full) is
// not an error: publish() then uses a private temporary folder, which lives as long as this object, and says so once on stderr.
class ArtifactCache {
 public:
  struct Entry {
    std::filesystem::path artifact;
    nlohmann::json metadata;
  };

  // `kind` is the subfolder ("cubin"), `suffix` the artifact's file name ending without the dot ("cubin", "so"). Evicts the least
  // recently used entries if the cache is over its cap: $TUNEBOOK_CACHE_MIB mebibytes, 2048 if unset.
  // Throws EnvironmentError if the folder is refused (owner, permissions, not a folder) or the cap is not a number.
  ArtifactCache(std::string kind, std::string suffix);
  ~ArtifactCache();
  ArtifactCache(const ArtifactCache&) = delete;
  ArtifactCache& operator=(const ArtifactCache&) = delete;

  // `key`: hexadecimal digits, at least 8 (core/hash.h); it must cover everything that changes the artifact or the metadata.
  std::optional<Entry> lookup(std::string_view key) const;

  // Stores an artifact and returns its path, from which it can be loaded (by other processes too).
  // Throws EnvironmentError only if the private temporary folder cannot be written either.
  std::filesystem::path publish(std::string_view key, std::string_view bytes, const nlohmann::json& metadata);
  // The same for a file, whose content is copied.
  std::filesystem::path publish_file(std::string_view key, const std::filesystem::path& file, const nlohmann::json& metadata);

  const std::filesystem::path& folder() const { return folder_; }  // ROOT/KIND

  // ROOT by the rules above; nothing is created. Empty if there is neither a variable nor a home folder.
  static std::filesystem::path root();

 private:
  std::filesystem::path store(const std::filesystem::path& folder, std::string_view key, std::string_view bytes,
                              const nlohmann::json& metadata) const;
  std::filesystem::path private_folder();
  void evict(std::uintmax_t cap_bytes) const;

  std::filesystem::path folder_;          // empty: no cache
  std::filesystem::path private_folder_;  // empty until needed
  std::string suffix_;
};

}  // namespace tunebook
