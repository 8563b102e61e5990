#include "cli/terminal/progress_bar.h"

#include <gtest/gtest.h>

#include "cli/inspect/inspect_values.h"

namespace wick {
namespace {

TEST(ProgressBar, ShowsRateAndTimeLeft) {
  EXPECT_EQ(progress_line(0, 100, 0, "a", 100), "[                        ]   0 %  a");
  EXPECT_EQ(progress_line(50 << 20, 100 << 20, 5, "blk.0", 100),
            "[############            ]  50 %    10 MiB/s  0:05 left  blk.0");
  EXPECT_EQ(progress_line(30, 60, 2, "a.wav", 100, ProgressUnit::kSeconds),
            "[############            ]  50 %  15 times real time  0:02 left  a.wav");
  EXPECT_EQ(progress_line(100, 100, 0, "", 100), "[########################] 100 %  ");
  EXPECT_EQ(progress_line(1, 1 << 30, 10, "long name of a tensor", 30).size(), 30u);
  EXPECT_EQ(progress_line(0, 0, 0, "", 100).substr(0, 26), "[########################]");
}

TEST(Printable, KeepsTextOnOneLine) {
  EXPECT_EQ(printable("plain \u2581 text"), "plain \u2581 text");
  EXPECT_EQ(printable("a\nb\033[0m\xff"), "a\\nb\\x1b[0m\\xff");
  EXPECT_EQ(printable("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(printable("abcdefghi", 8), "abcde...");
}

TEST(Counts, HaveUnits) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1.00 K");
  EXPECT_EQ(count_text(7345408), "7.35 M");
  EXPECT_EQ(count_text(70'553'706'496), "70.6 B");
  EXPECT_EQ(grouped_digits(0), "0");
  EXPECT_EQ(grouped_digits(100), "100");
  EXPECT_EQ(grouped_digits(7345408), "7,345,408");
  EXPECT_EQ(grouped_digits(-1000), "-1,000");
}

}  // namespace
}  // namespace wick
