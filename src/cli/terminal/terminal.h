#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wick {

enum class Colour { kPlain, kBold, kDim, kGood, kWarn, kBad };

// What standard output or standard error is. Colour is on only for a terminal with NO_COLOR unset (and TERM not
// "dumb").
struct Terminal {
  bool colour = false;
  int width = 80;  // columns

  static Terminal of_stdout();
  static Terminal of_stderr();

  // The text in that colour, or as it is when colour is off.
  std::string paint(std::string_view text, Colour colour) const;
};

// Columns that UTF-8 text takes: one per code point. Bytes that are not UTF-8 count as one each.
int display_width(std::string_view text);

// Text from a file as it can be shown: on one line, control characters and bytes that are not UTF-8 as \\n and \\xNN,
// and shortened to `most` columns with "..." at the end.
std::string printable(std::string_view text, int most = 1 << 30);

struct Cell {
  std::string text;
  Colour colour = Colour::kPlain;
};

// Rows of cells in aligned columns, two blanks apart.
class Table {
 public:
  enum class Align { kLeft, kRight };
  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}

  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  std::string text(const Terminal& terminal) const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace wick
