#include "search/csv_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>
#include <zlib.h>

#include "core/error.h"

namespace tunebook {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;
// A small compressed file can unpack to anything.
constexpr std::uint64_t kMaxBytes = std::uint64_t{2} << 30;
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

}  // namespace

struct CsvReader::Stream {
  gzFile file = nullptr;
  ~Stream() {
    if (file != nullptr) gzclose(file);
  }
};

CsvReader::CsvReader(const std::filesystem::path& path)
    : file_(path.string()), stream_(std::make_unique<Stream>()), buffer_(kBufferBytes) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) throw InputError(fmt::format("{}: no such file", file_));
  stream_->file = gzopen(file_.c_str(), "rb");
  if (stream_->file == nullptr) throw InputError(fmt::format("{}: cannot be read: {}", file_, std::strerror(errno)));
}

CsvReader::~CsvReader() = default;

bool CsvReader::next(std::vector<std::string>& fields) {
  while (read_line(line_)) {
    ++line_number_;
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    if (line_.empty()) continue;
    split(line_, fields);
    return true;
  }
  return false;
}

std::string CsvReader::where() const { return fmt::format("{}:{}", file_, line_number_); }

void CsvReader::fail(std::string_view message) const { throw InputError(fmt::format("{}: {}", where(), message)); }

bool CsvReader::read_line(std::string& line) {
  line.clear();
  bool any = false;
  while (begin_ < end_ || fill()) {
    any = true;
    const char* start = buffer_.data() + begin_;
    const void* newline = std::memchr(start, '\n', end_ - begin_);
    const std::size_t length =
        newline == nullptr ? end_ - begin_ : static_cast<std::size_t>(static_cast<const char*>(newline) - start);
    line.append(start, length);
    begin_ += length;
    if (line.size() > kMaxLineBytes) {
      ++line_number_;
      fail("the line is longer than 1 MiB: is this a CSV file?");
    }
    if (newline != nullptr) {
      ++begin_;
      return true;
    }
  }
  return any;
}

bool CsvReader::fill() {
  begin_ = 0;
  end_ = 0;
  const int got = gzread(stream_->file, buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int code = Z_OK;
  const char* message = gzerror(stream_->file, &code);
  if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) {
    throw InputError(fmt::format("{}:{}: damaged or truncated: {}", file_, line_number_ + 1, message));
  }
  end_ = static_cast<std::size_t>(got);
  total_bytes_ += end_;
  if (total_bytes_ > kMaxBytes) throw InputError(fmt::format("{}: larger than 2 GiB unpacked", file_));
  return end_ > 0;
}

void CsvReader::split(std::string_view line, std::vector<std::string>& fields) const {
  std::size_t count = 0;
  std::size_t at = 0;
  const auto new_field = [&]() -> std::string& {
    if (count == fields.size()) fields.emplace_back();
    fields[count].clear();
    return fields[count++];
  };
  while (true) {
    std::string& field = new_field();
    if (at < line.size() && line[at] == '"') {
      ++at;
      while (true) {
        if (at >= line.size()) fail(fmt::format("field {}: the closing quote is missing", count));
        if (line[at] != '"') {
          field += line[at++];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          field += '"';
          at += 2;
        } else {
          ++at;
          break;
        }
      }
      if (at < line.size() && line[at] != ',') fail(fmt::format("field {}: text after the closing quote", count));
    } else {
      const std::size_t comma = std::min(line.find(',', at), line.size());
      field.assign(line.substr(at, comma - at));
      at = comma;
    }
    if (at >= line.size()) break;
    ++at;
  }
  fields.resize(count);
}

}  // namespace tunebook
