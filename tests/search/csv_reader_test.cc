#include "search/csv_reader.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "search_fixtures.h"

namespace tunebook {
namespace {

using Lines = std::vector<std::vector<std::string>>;

Lines read_all(const std::filesystem::path& path) {
  CsvReader reader(path);
  Lines lines;
  std::vector<std::string> fields;
  while (reader.next(fields)) lines.push_back(fields);
  return lines;
}

std::string gzip(const std::filesystem::path& path, const std::string& text) {
  gzFile file = gzopen(path.string().c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(CsvReader, FieldsQuotesAndLineEnds) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(read_all(folder.write("a.csv", "a,b,c\r\n1,,3\n\n\"x,\"\"y\"\"\",\"\",z\nlast,,")),
            (Lines{{"a", "b", "c"}, {"1", "", "3"}, {"x,\"y\"", "", "z"}, {"last", "", ""}}));
  EXPECT_TRUE(read_all(folder.write("empty.csv", "")).empty());
}

TEST(CsvReader, LongLinesCrossTheBuffer) {
  const test::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 50; ++i) text += std::string(5'000, static_cast<char>('a' + i % 26)) + "," + std::to_string(i) + "\n";
  const Lines lines = read_all(folder.write("long.csv", text));
  ASSERT_EQ(lines.size(), 50u);
  for (int i = 0; i < 50; ++i) {
    const auto& line = lines[static_cast<std::size_t>(i)];
    EXPECT_EQ(line[0].size(), 5'000u);
    EXPECT_EQ(line[1], std::to_string(i));
  }
}

TEST(CsvReader, Gzip) {
  const test::TemporaryFolder folder;
  std::string text = "a,b\n";
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 7919 % 10'007) + ",x\n";
  const std::string bytes = gzip(folder.path() / "a.csv.gz", text);
  EXPECT_EQ(read_all(folder.path() / "a.csv.gz").size(), 20'001u);
  // Cut off, and with a byte changed.
  EXPECT_THROW(read_all(folder.write("cut.csv.gz", bytes.substr(0, bytes.size() / 2))), InputError);
  std::string damaged = bytes;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
  EXPECT_THROW(read_all(folder.write("damaged.csv.gz", damaged)), InputError);
}

TEST(CsvReader, MalformedTextNamesTheLine) {
  const test::TemporaryFolder folder;
  const auto open = folder.write("open.csv", "a,b\n1,\"2\n");
  EXPECT_EQ(test::message_of([&] { read_all(open); }), open.string() + ":2: field 2: the closing quote is missing");
  const auto tail = folder.write("tail.csv", "a,b\n\n\"1\"x,2\n");
  EXPECT_EQ(test::message_of([&] { read_all(tail); }), tail.string() + ":3: field 1: text after the closing quote");
  const auto wide = folder.write("wide.csv", "a\n" + std::string(3 << 20, 'x'));
  EXPECT_EQ(test::message_of([&] { read_all(wide); }), wide.string() + ":2: the line is longer than 1 MiB: is this a CSV file?");
  EXPECT_THROW(read_all(folder.path() / "missing.csv"), InputError);
  EXPECT_THROW(read_all(folder.path()), InputError);
}

}  // namespace
}  // namespace tunebook
