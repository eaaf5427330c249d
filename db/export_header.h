#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tunebook {

struct HeaderOptions {
  std::vector<std::string> kernels;           // empty: all of the book
  std::string name_space = "tunebook_frozen"; // C++ namespace of the header, "a::b"
};

struct HeaderSummary {
  std::int64_t kernels = 0, devices = 0, winners = 0, models = 0, bytes = 0;
};

// A frozen book: the winners of `book` as a C++17 header that needs the standard library only and answers as Lookup does, tier by tier,
// with the same checks. For gcc, clang and nvcc on 64-bit systems (it uses __int128).
//
// Nothing of the book becomes code: texts are string literals with all but plain characters escaped, expressions are tables of
// instructions. Throws InputError for a kernel that the book does not have or a namespace that is none, and as BookReader does.
std::string header_of_book(const std::filesystem::path& book, const HeaderOptions& options, HeaderSummary& summary);

// The same into `output`, replaced in one step. Throws InputError if it cannot be written.
HeaderSummary export_header(const std::filesystem::path& book, const std::filesystem::path& output, const HeaderOptions& options);

}  // namespace tunebook
