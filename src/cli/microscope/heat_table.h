#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "cli/terminal/terminal.h"

namespace wick {

struct HeatCell {
  std::string text;
  double shade = 0;    // -1 to 1; below zero in another colour
  std::string detail;  // what a page shows when the cell is pointed at
};

// Names of rows or columns; either list may be empty.
struct HeatAxis {
  std::string title;
  std::vector<std::string> numbers;  // "12"
  std::vector<std::string> labels;   // "·the"
  bool rises = false;                // a page draws the first row lowest, as the tab Inside does

  size_t size() const { return std::max(numbers.size(), labels.size()); }
};

// Rows that are layers: their numbers are still to come.
inline HeatAxis layer_axis() {
  HeatAxis axis;
  axis.title = "layer";
  axis.rises = true;
  return axis;
}

// A picture of numbers: rows by columns of small shaded texts.
struct HeatTable {
  std::string title, note;  // one line each; the note may be empty
  HeatAxis rows, columns;
  std::vector<HeatCell> cells;  // [rows, columns]
  int widest = 12;              // terminal columns of a cell, at most
  bool narrow = false;          // a terminal names columns by number alone

  const HeatCell& at(size_t row, size_t column) const { return cells[row * columns.size() + column]; }
};

// Columns that do not fit the terminal's width follow below. Without colour, a bar behind each text stands for the
// shade: ▁ little, █ much, and - in front of it below zero.
std::string heat_text(const HeatTable& table, const Terminal& terminal);

// How a number is written in a cell: "0.83", "12.4", "-345", "1.2e+05".
std::string short_number(double value);
std::string percent_text(double share);  // "83%", "<1%"

}  // namespace wick
