#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tunebook::cli {

// A file that is there whole or not at all: written beside its place and renamed into it. An older one is replaced; it is left alone if
// this goes without write().
class OutputFile {
 public:
  // Tries now whether it can be written, before the long work. Throws InputError if there is no such folder, it may not be written, or
  // what lies there is a folder, a device, a pipe, an SQLite database (a book, named by mistake) or a file that belongs to one.
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  // Throws EnvironmentError (the disk is full).
  void write(std::string_view content);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_, temporary_;
  int file_ = -1;
};

}  // namespace tunebook::cli
