#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wick {

enum class KeyKind {
  kText,   // one character, in `text`
  kPaste,  // pasted text, which may have several lines
  kEnter,
  kNewline,  // Ctrl-J, Alt-Enter
  kBackspace,
  kDelete,
  kLeft,
  kRight,
  kUp,
  kDown,
  kHome,
  kEnd,
  kWordLeft,
  kWordRight,
  kKillWordLeft,   // Ctrl-W, Alt-Backspace
  kKillWordRight,  // Alt-D
  kKillLeft,       // Ctrl-U
  kKillRight,      // Ctrl-K
  kYank,           // Ctrl-Y
  kClearScreen,    // Ctrl-L
  kTab,
  kSearch,      // Ctrl-R
  kInterrupt,   // Ctrl-C
  kEndOfInput,  // Ctrl-D
  kSuspend,     // Ctrl-Z
  kUnknown,     // a sequence that means nothing here
};

struct Key {
  KeyKind kind;
  std::string text;
};

// Bytes of a terminal to keys: UTF-8, escape sequences of the usual terminals, bracketed paste.
class KeyReader {
 public:
  // A key when this byte completes one.
  std::optional<Key> feed(char byte);

 private:
  enum class State { kPlain, kCharacter, kEscape, kSequence, kShift3, kPaste };
  std::optional<Key> plain(char byte);
  std::optional<Key> character(char byte);
  std::optional<Key> escape(char byte);
  std::optional<Key> sequence(char byte);
  std::optional<Key> paste(char byte);

  State state_ = State::kPlain;
  std::string held_;  // of the character, sequence or paste so far
};

}  // namespace wick
