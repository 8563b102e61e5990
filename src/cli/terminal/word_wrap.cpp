#include "cli/terminal/word_wrap.h"

#include "base/text.h"
#include "cli/terminal/char_width.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

constexpr int kLeastWidth = 20;

}  // namespace

std::string WordWrap::add(std::string_view text) {
  if (width_ < kLeastWidth) return std::string(text);
  std::string out;
  const auto begin_word = [&] {
    word_.clear();
    word_columns_ = 0;
  };
  for (size_t at = 0; at < text.size();) {
    const Utf8Part part = utf8_part_at(text, at);
    const std::string_view piece = text.substr(at, part.bytes);
    at += part.bytes;
    if (piece == "\n") {
      out += piece;
      column_ = 0;
      begin_word();
      continue;
    }
    const int columns = piece == "\t" ? 8 - column_ % 8 : part.valid ? char_width(code_point_at(piece, 0).value) : 1;
    const bool is_blank = piece == " " || piece == "\t";
    // The last column stays empty: terminals do not agree on where the cursor is behind it.
    if (column_ + columns >= width_) {
      if (is_blank) {  // it would be the first of the next row
        out += "\n";
        column_ = 0;
        begin_word();
        continue;
      }
      const bool has_blank = word_columns_ < column_;
      if (has_blank && word_columns_ > 0) out += cat("\033[", word_columns_, "D\033[K");
      out += "\n";
      if (has_blank) {
        out += word_;
        column_ = word_columns_;
      } else {
        column_ = 0;
        begin_word();
      }
    }
    out += piece;
    column_ += columns;
    if (is_blank) {
      begin_word();
    } else {
      word_ += piece;
      word_columns_ += columns;
    }
  }
  return out;
}

}  // namespace wick
