#include "sweep/kernel_catalog.h"

#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "session/replay_executor.h"

namespace tunebook {
namespace {

namespace fs = std::filesystem;

KernelCatalog::Recorded read_recording(const std::string& path) {
  const Recording recording = Recording::load(path);
  const ReplayExecutor executor(recording);
  const ExecutorIdentity& place = executor.identity();
  return {path, recording.kernel(), recording.problem(), place.device, recording.names(), recording.content_hash(), place.toolchain, place.method};
}

// Recordings of a folder: their declarations, and packed ones of other tuners. Sorted, so that a plan's order is the same everywhere.
std::set<std::string> recordings_in(const std::string& folder) {
  std::set<std::string> paths;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') || !entry.is_regular_file(error)) continue;
    if (name.ends_with(".json") || name.ends_with(".json.gz")) paths.insert((fs::path(folder) / name).string());
  }
  return paths;
}

}  // namespace

KernelCatalog::KernelCatalog(const std::vector<std::string>& templates) : search_path_(template_search_path(templates)) {}

const KernelTemplate& KernelCatalog::find_template(const std::string& kernel) {
  auto [found, is_new] = templates_.try_emplace(kernel);
  Loaded& loaded = found->second;
  if (is_new) {
    try {
      loaded.kernel = std::make_unique<KernelTemplate>(tunebook::find_template(kernel, search_path_));
    } catch (const InputError& error) {
      loaded.error = error.what();
    }
  }
  if (!loaded.kernel) throw InputError(loaded.error);
  return *loaded.kernel;
}

const std::vector<KernelCatalog::Recorded>& KernelCatalog::recordings(const std::string& path) {
  auto [found, is_new] = recordings_.try_emplace(path);
  std::vector<Recorded>& recorded = found->second;
  std::string& error_text = recording_errors_[path];
  if (is_new) {
    try {
      std::error_code error;
      if (fs::is_directory(path, error)) {
        for (const std::string& file : recordings_in(path)) recorded.push_back(read_recording(file));
        if (recorded.empty()) throw InputError(fmt::format("{}: no recording is in this folder", path));
      } else {
        recorded.push_back(read_recording(path));
      }
    } catch (const InputError& error) {
      recorded.clear();
      error_text = error.what();
    }
  }
  if (!error_text.empty()) throw InputError(error_text);
  return recorded;
}

}  // namespace tunebook
