#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tunebook {

// Reads a comma-separated file line by line, plain or gzip-compressed (told by its content, not its name). Fields may be quoted
// ("a,b", with "" for a quote); a quoted field may not span lines. Empty lines are skipped.
class CsvReader {
 public:
  // Throws InputError if the file is missing, not a regular file or unreadable.
  explicit CsvReader(const std::filesystem::path& path);
  ~CsvReader();
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  // The fields of the next line; false at the end. Throws InputError "FILE:LINE: ..." for malformed text, a damaged or truncated
  // gzip stream, a line over 1 MiB, or a file over 2 GiB once unpacked.
  bool next(std::vector<std::string>& fields);

  // "FILE:LINE" of the fields returned last.
  std::string where() const;
  [[noreturn]] void fail(std::string_view message) const;

 private:
  struct Stream;

  bool read_line(std::string& line);
  bool fill();
  void split(std::string_view line, std::vector<std::string>& fields) const;

  std::string file_;
  std::unique_ptr<Stream> stream_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t total_bytes_ = 0;
  std::size_t line_number_ = 0;
  std::string line_;
};

}  // namespace tunebook
