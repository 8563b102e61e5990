#include "cli/microscope/heat_table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/microscope/token_label.h"

namespace wick {
namespace {

HeatTable small_table() {
  HeatTable table;
  table.title = "Title";
  table.note = "note";
  table.rows.title = "layer";
  table.rows.numbers = {"0", "out"};
  table.columns.numbers = {"0", "1"};
  table.columns.labels = {"·a", "世界"};
  table.cells = {{"x", 0, ""}, {"yes", 0.5, ""}, {"·b", 1, ""}, {"", -1, ""}};
  return table;
}

TEST(HeatTable, IsPlainInAPipeWithBarsForShades) {
  EXPECT_EQ(heat_text(small_table(), {}),
            "Title\n"
            "note\n"
            "      0    1\n"
            "layer ·a   世界\n"
            "    0 x    yes  ▄\n"
            "  out ·b █     -█\n");
}

TEST(HeatTable, ShadesOnATerminal) {
  const std::string text = heat_text(small_table(), {.colour = true, .width = 80});
  EXPECT_NE(text.find("\033[38;5;231;48;5;25myes \033[0m"), std::string::npos) << text;
  EXPECT_NE(text.find("\033[38;5;16;48;5;49m·b\033[0m"), std::string::npos) << text;
  EXPECT_NE(text.find("\033[38;5;16;48;5;214m    \033[0m"), std::string::npos) << text;
  EXPECT_NE(text.find("    0 x  "), std::string::npos) << "no shade for zero: " << text;
}

// Columns that do not fit follow below, and none is lost.
TEST(HeatTable, PagesByWidth) {
  HeatTable table;
  table.title = "T";
  table.rows.numbers = {"0"};
  for (int i = 0; i < 20; ++i) {
    table.columns.numbers.push_back(std::to_string(i));
    table.columns.labels.push_back("世界");
    table.cells.push_back({"cell" + std::to_string(i), 0, ""});
  }
  for (const int width : {1, 12, 40, 79, 200}) {
    const std::string text = heat_text(table, {.colour = false, .width = width});
    for (int i = 0; i < 20; ++i) EXPECT_NE(text.find("cell" + std::to_string(i)), std::string::npos) << width;
    std::istringstream lines(text);
    for (std::string line; width >= 12 && std::getline(lines, line);) EXPECT_LE(text_columns(line), width) << line;
  }
}

TEST(HeatTable, LongCellsAreCut) {
  HeatTable table = small_table();
  table.widest = 5;
  table.cells[0].text = "incomprehensible";
  EXPECT_NE(heat_text(table, {}).find("inco…"), std::string::npos);
}

TEST(HeatTable, NumbersAreShort) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(-0.0), "0");
  EXPECT_EQ(short_number(0.8349), "0.83");
  EXPECT_EQ(short_number(-0.001), "0");
  EXPECT_EQ(short_number(12.34), "12.3");
  EXPECT_EQ(short_number(-1234.5), "-1234");
  EXPECT_EQ(short_number(1e9), "1.0e+09");
  EXPECT_EQ(percent_text(0), "0%");
  EXPECT_EQ(percent_text(0.004), "<1%");
  EXPECT_EQ(percent_text(0.999), "100%");
}

}  // namespace
}  // namespace wick
