#include "cli/terminal/terminal.h"

#include <gtest/gtest.h>

namespace wick {
namespace {

using Align = Table::Align;

TEST(Terminal, PaintsOnlyWhenColourIsOn) {
  EXPECT_EQ(Terminal{.colour = false}.paint("ok", Colour::kGood), "ok");
  EXPECT_EQ(Terminal{.colour = true}.paint("ok", Colour::kGood), "\033[32mok\033[0m");
  EXPECT_EQ(Terminal{.colour = true}.paint("ok", Colour::kPlain), "ok");
}

TEST(Terminal, CountsCodePointsNotBytes) {
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("Störmer–Verlet"), 14);
  EXPECT_EQ(display_width("\xff\x80"), 2);      // not UTF-8
  EXPECT_EQ(display_width("\xf0\x9f\x98"), 1);  // cut short
}

TEST(Table, AlignsColumnsAndLeavesNoTrailingBlanks) {
  Table table({Align::kLeft, Align::kRight, Align::kLeft});
  table.add({{"case"}, {"wick"}, {"unit"}});
  table.add({{"größe"}, {"1.5"}, {""}});
  EXPECT_EQ(table.text({}), "case   wick  unit\ngröße   1.5\n");
}

TEST(Table, ColourDoesNotMoveColumns) {
  Table table({Align::kRight, Align::kLeft});
  table.add({{"1", Colour::kBad}, {"a"}});
  table.add({{"100"}, {"b"}});
  EXPECT_EQ(table.text({.colour = true}), "  \033[31m1\033[0m  a\n100  b\n");
}

TEST(Table, RowsMayBeShort) {
  Table table({Align::kLeft, Align::kLeft, Align::kLeft});
  table.add({{"only"}});
  EXPECT_EQ(table.text({}), "only\n");
}

}  // namespace
}  // namespace wick
