#include "speech/joined_text.h"

#include "base/text.h"
#include "base/utf8.h"
#include "speech/languages.h"

namespace wick {
JoinedText::JoinedText(std::string& text, std::string_view language)
    : text_(text), blank_(!text.empty() && writes_blanks(language) ? " " : "") {}

std::string JoinedText::show(std::string_view piece) {
  if (piece.size() <= shown_.size() || !piece.starts_with(shown_) || !is_utf8(piece)) return {};
  std::string more = cat(shown_.empty() ? blank_ : "", piece.substr(shown_.size()));
  shown_ = piece;
  return more;
}

std::string JoinedText::finish(std::string_view piece) {
  if (piece.empty()) return {};
  text_ += cat(blank_, piece);
  return show(piece);
}

}  // namespace wick
