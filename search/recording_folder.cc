#include "search/recording_folder.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"
#include "search/foreign_recording.h"

namespace tunebook {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJson = ".json";
constexpr std::string_view kPackedJson = ".json.gz";
constexpr std::string_view kCsv = ".csv";
constexpr std::string_view kPackedCsv = ".csv.gz";

// Whether there is a file of the same stem with one of the endings.
bool has_beside(const fs::path& file, std::string_view own_ending, std::initializer_list<std::string_view> endings) {
  const std::string name = file.filename().string();
  const std::string stem = name.substr(0, name.size() - own_ending.size());
  std::error_code error;
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) {
    return fs::is_regular_file(file.parent_path() / (stem + std::string(ending)), error);
  });
}

}  // namespace

RecordingFolder find_recordings(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {{path}, {}};
  std::vector<fs::path> files;
  fs::directory_iterator entry(path, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code unknown;
    if (!entry->path().filename().string().starts_with('.') && entry->is_regular_file(unknown)) files.push_back(entry->path());
  }
  if (error) throw InputError(fmt::format("{}: the folder cannot be read: {}", path.string(), error.message()));
  std::sort(files.begin(), files.end());
  RecordingFolder folder;
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    if (name.ends_with(kJson) || name.ends_with(kPackedJson)) {
      const bool own = name.ends_with(kJson) && has_beside(file, kJson, {kCsv, kPackedCsv});
      (own || read_foreign_recording(file) ? folder.recordings : folder.others).push_back(file);
      continue;
    }
    for (const std::string_view ending : {kCsv, kPackedCsv}) {
      if (name.ends_with(ending) && !has_beside(file, ending, {kJson})) folder.others.push_back(file);
    }
  }
  if (folder.recordings.empty()) {
    throw InputError(fmt::format("{}: no recordings in this folder; a recording is NAME.json with NAME.csv or NAME.csv.gz beside it, a Kernel "
                                 "Tuner cache, T4 or KTT output", path.string()));
  }
  return folder;
}

}  // namespace tunebook
