#include "core/text_table.h"

#include <gtest/gtest.h>

namespace tunebook {
namespace {

TEST(TextTable, PadsToTheWidestCellAndLeavesNoSpacesBehind) {
  const TextTable table{{"name", "us"}, {false, true}, {{"a", "12.5"}, {"longer", "3"}}};
  EXPECT_EQ(table.to_text(), "name      us\n------------\na       12.5\nlonger     3\n");
  EXPECT_EQ(table.to_text(12), table.to_text());
}

TEST(TextTable, WrapsTheWidestColumnWhereLinesWouldBeTooLong) {
  const TextTable table{{"kernel", "configuration", "us"}, {false, false, true}, {{"scan", "BLOCK=256,ITEMS=8,VEC=4,UNROLL=2", "1.5"}}};
  EXPECT_EQ(table.to_text(40),
            "kernel  configuration                 us\n"
            "----------------------------------------\n"
            "scan    BLOCK=256,ITEMS=8,VEC=4,     1.5\n"
            "        UNROLL=2\n");
}

TEST(TextTable, NoColumnBecomesNarrowerThanCanBeRead) {
  const std::string word(50, 'x');
  const TextTable table{{"a", "b"}, {false, true}, {{word, std::string(40, '9')}}};
  EXPECT_EQ(table.to_text(10), "a                                                                b\n" + std::string(66, '-') + "\n" +
                                   std::string(24, 'x') + "  " + std::string(40, '9') + "\n" + std::string(24, 'x') + "\nxx\n");
}

TEST(TextTable, CutsBetweenCharactersAndLosesNone) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "µ";  // two bytes, one column
  const TextTable table{{"a"}, {}, {{text}}};
  EXPECT_EQ(table.to_text(24), "a\n" + std::string(24, '-') + "\n" + text.substr(0, 48) + "\n" + text.substr(48) + "\n");
}

TEST(TextTable, NoLineBeginsWithTheSpaceThatItWasCutAt) {
  const TextTable table{{"a"}, {}, {{"3 x 3 filters, stride 1, zero padding"}, {"3 x 3 filters, stride 1,   "}}};
  EXPECT_EQ(table.to_text(24), "a\n" + std::string(24, '-') + "\n3 x 3 filters, stride 1,\nzero padding\n3 x 3 filters, stride 1,\n");
}

TEST(TextTable, ColoursTakeNoColumn) {
  const TextTable table{{"a", "b"}, {}, {{"\x1b[31mred\x1b[0m", "c"}}};
  EXPECT_EQ(table.to_text(), "a    b\n------\n\x1b[31mred\x1b[0m  c\n");
}

}  // namespace
}  // namespace tunebook
