#pragma once

#include <string>
#include <string_view>

namespace wick {

// Puts the text of one more piece behind a text, with a blank between them where the language has blanks, and tells
// what can be shown while it grows.
class JoinedText {
 public:
  // `language`: its code or name, if it is known.
  JoinedText(std::string& text, std::string_view language);

  // The piece as it is so far: what is new of it. Nothing when the piece has changed from what was shown.
  std::string show(std::string_view piece);
  // The piece as it is: what is new of it, the piece being part of the text now.
  std::string finish(std::string_view piece);

 private:
  std::string& text_;
  std::string_view blank_;  // between the text and the piece
  std::string shown_;       // of the piece
};

}  // namespace wick
