#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace tunebook::testing {

// All that a book holds, without row ids: two books with the same content are the same book. Written apart from the library's merge, to
// compare with.
struct BookContent {
  struct Session {
    std::string fixed;      // everything it was begun with
    std::string finished;   // "": not finished
    double wall_seconds = 0;
    friend bool operator==(const Session&, const Session&) = default;
  };
  using Needs = std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>;  // registers, shared bytes

  std::map<std::string, Session> sessions;            // by uid
  std::map<std::string, std::multiset<std::string>> rows;  // measurements, by table
  std::map<std::string, std::string> texts;           // kernels, devices, environments, problems, configurations: what they are -> their text
  std::map<std::string, Needs> requirements;
  friend bool operator==(const BookContent&, const BookContent&) = default;
};

BookContent read_content(const std::filesystem::path& path);

// What merging both must give, by the documented rules.
BookContent union_of(const BookContent& a, const BookContent& b);

// Where two contents differ; "" if nowhere.
std::string difference(const BookContent& a, const BookContent& b);

}  // namespace tunebook::testing
