#pragma once

#include <string>
#include <string_view>

namespace wick {

// Text that comes piece by piece, as a terminal is to get it: a word that does not fit the row any more is taken back
// and goes on the next one. Words longer than a row are cut. Expects to begin at the left.
class WordWrap {
 public:
  explicit WordWrap(int width) : width_(width) {}  // columns; less than 20: text passes as it is

  std::string add(std::string_view text);

 private:
  int width_;
  int column_ = 0;
  std::string word_;  // that the row ends with, so far
  int word_columns_ = 0;
};

}  // namespace wick
