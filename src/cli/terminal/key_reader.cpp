#include "cli/terminal/key_reader.h"

#include <utility>

#include "base/utf8.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

constexpr std::string_view kPasteEnd = "\033[201~";
constexpr size_t kLongestSequence = 32;

constexpr char control(char letter) { return static_cast<char>(letter & 0x1F); }

KeyKind control_key(char byte) {
  switch (byte) {
    case control('A'): return KeyKind::kHome;
    case control('B'): return KeyKind::kLeft;
    case control('C'): return KeyKind::kInterrupt;
    case control('D'): return KeyKind::kEndOfInput;
    case control('E'): return KeyKind::kEnd;
    case control('F'): return KeyKind::kRight;
    case control('H'):
    case 0x7F: return KeyKind::kBackspace;
    case control('J'): return KeyKind::kNewline;
    case control('K'): return KeyKind::kKillRight;
    case control('L'): return KeyKind::kClearScreen;
    case control('M'): return KeyKind::kEnter;
    case control('N'): return KeyKind::kDown;
    case control('P'): return KeyKind::kUp;
    case control('R'): return KeyKind::kSearch;
    case control('U'): return KeyKind::kKillLeft;
    case control('W'): return KeyKind::kKillWordLeft;
    case control('Y'): return KeyKind::kYank;
    case control('Z'): return KeyKind::kSuspend;
    default: return KeyKind::kUnknown;
  }
}

// What stands behind ESC [ : parameters and a last letter.
KeyKind sequence_key(std::string_view parameters, char last) {
  const bool with_modifier = parameters.find(';') != std::string_view::npos;  // Ctrl, Alt or Shift
  switch (last) {
    case 'A': return KeyKind::kUp;
    case 'B': return KeyKind::kDown;
    case 'C': return with_modifier ? KeyKind::kWordRight : KeyKind::kRight;
    case 'D': return with_modifier ? KeyKind::kWordLeft : KeyKind::kLeft;
    case 'H': return KeyKind::kHome;
    case 'F': return KeyKind::kEnd;
    case 'u': return parameters.starts_with("13;") ? KeyKind::kNewline : KeyKind::kUnknown;  // Shift-Enter
    case '~': break;
    default: return KeyKind::kUnknown;
  }
  const std::string_view number = parameters.substr(0, parameters.find(';'));
  if (number == "1" || number == "7") return KeyKind::kHome;
  if (number == "4" || number == "8") return KeyKind::kEnd;
  if (number == "3") return with_modifier ? KeyKind::kKillWordRight : KeyKind::kDelete;
  if (parameters == "27;2;13") return KeyKind::kNewline;  // Shift-Enter as xterm can send it
  return KeyKind::kUnknown;
}

// Line breaks as \n; other control characters do not belong into a prompt.
std::string cleaned(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\r') {
      if (i + 1 == text.size() || text[i + 1] != '\n') out += '\n';
    } else if (c == '\n' || c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F)) {
      out += c;
    }
  }
  return is_utf8(out) ? out : replace_invalid_utf8(out);
}

}  // namespace

std::optional<Key> KeyReader::feed(char byte) {
  switch (state_) {
    case State::kPlain: return plain(byte);
    case State::kCharacter: return character(byte);
    case State::kEscape: return escape(byte);
    case State::kSequence:
    case State::kShift3: return sequence(byte);
    case State::kPaste: return paste(byte);
  }
  return std::nullopt;
}

std::optional<Key> KeyReader::plain(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  if (byte == 0x1B) {
    state_ = State::kEscape;
    return std::nullopt;
  }
  if (byte == '\t') return Key{KeyKind::kTab, ""};
  if (value < 0x20 || value == 0x7F) return Key{control_key(byte), ""};
  if (value < 0x80) return Key{KeyKind::kText, std::string(1, byte)};
  state_ = State::kCharacter;
  held_.assign(1, byte);
  return std::nullopt;
}

std::optional<Key> KeyReader::character(char byte) {
  if (is_utf8_start(byte)) {  // the last one was cut short
    state_ = State::kPlain;
    return plain(byte);
  }
  held_ += byte;
  const auto first = static_cast<unsigned char>(held_[0]);
  const size_t whole = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (held_.size() < whole) return std::nullopt;
  state_ = State::kPlain;
  if (!is_utf8(held_)) return Key{KeyKind::kUnknown, ""};
  return Key{KeyKind::kText, std::exchange(held_, "")};
}

std::optional<Key> KeyReader::escape(char byte) {
  state_ = State::kPlain;
  switch (byte) {
    case '[':
    case 'O':
      state_ = byte == '[' ? State::kSequence : State::kShift3;
      held_.clear();
      return std::nullopt;
    case 0x1B: state_ = State::kEscape; return std::nullopt;
    case '\r':
    case '\n': return Key{KeyKind::kNewline, ""};
    case 'b': return Key{KeyKind::kWordLeft, ""};
    case 'f': return Key{KeyKind::kWordRight, ""};
    case 'd': return Key{KeyKind::kKillWordRight, ""};
    case 0x7F:
    case control('H'): return Key{KeyKind::kKillWordLeft, ""};
    default: return Key{KeyKind::kUnknown, ""};
  }
}

std::optional<Key> KeyReader::sequence(char byte) {
  const bool ends = byte >= 0x40 && byte <= 0x7E;
  if (!ends && byte >= 0x20) {
    if (held_.size() < kLongestSequence) held_ += byte;
    return std::nullopt;
  }
  state_ = State::kPlain;
  const std::string parameters = std::exchange(held_, "");
  if (!ends) return Key{KeyKind::kUnknown, ""};
  if (byte == '~' && parameters == "200") {
    state_ = State::kPaste;
    return std::nullopt;
  }
  return Key{sequence_key(parameters, byte), ""};
}

std::optional<Key> KeyReader::paste(char byte) {
  held_ += byte;
  if (!held_.ends_with(kPasteEnd)) return std::nullopt;
  state_ = State::kPlain;
  held_.resize(held_.size() - kPasteEnd.size());
  return Key{KeyKind::kPaste, cleaned(std::exchange(held_, ""))};
}

}  // namespace wick
