#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/template_folder.h"
#include "search/recording.h"

namespace tunebook {

// The templates and recordings that items refer to, each loaded once.
class KernelCatalog {
 public:
  // `templates`: as `--templates`.
  explicit KernelCatalog(const std::vector<std::string>& templates);

  // Throws InputError for an unknown kernel, naming the nearest, and for a template that cannot be read; each time again.
  const KernelTemplate& find_template(const std::string& kernel);

  // What is known of a recording once it has been read: the rows are not kept.
  struct Recorded {
    std::string path;      // what "replay:" is followed by
    std::string kernel;
    Problem problem;
    Device device;
    Names names;           // that "where" may use
    std::string hash;      // Recording::content_hash()
    std::string toolchain, method;  // as ReplayExecutor has them
  };
  // The recording at `path`, or those in the folder `path`, by name. Throws InputError if one of them cannot be read or there is none.
  const std::vector<Recorded>& recordings(const std::string& path);

 private:
  struct Loaded {
    std::unique_ptr<KernelTemplate> kernel;
    std::string error;
  };
  std::vector<std::filesystem::path> search_path_;
  std::map<std::string, Loaded> templates_;
  std::map<std::string, std::vector<Recorded>> recordings_;
  std::map<std::string, std::string> recording_errors_;
};

}  // namespace tunebook
