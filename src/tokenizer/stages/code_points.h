#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wick {

struct CodePoint {
  char32_t value = 0;
  uint32_t bytes = 1;
};

// The code point at a byte of valid UTF-8; `at` is inside the text and at the start of a character.
inline CodePoint code_point_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + i])); };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (first < 0xF0) return {(first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
}

inline bool is_utf8_start(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }
inline uint32_t utf8_bytes(char32_t value) { return value < 0x80 ? 1 : value < 0x800 ? 2 : value < 0x10000 ? 3 : 4; }

// Where the character before `at` starts; at > 0.
inline size_t previous_start(std::string_view text, size_t at) {
  do --at;
  while (at > 0 && !is_utf8_start(text[at]));
  return at;
}

// Sets of characters, by Unicode's general categories, as bits.
enum CharSet : uint8_t {
  kLetters = 1,           // L
  kNumbers = 2,           // N
  kSpaces = 4,            // White_Space
  kPunctuation = 8,       // P, and the ASCII symbols
  kLineBreaks = 16,       // \r \n
  kOthers = 32,           // Cc, Cf, Cs, Co: control, format, private use
  kNonSpacingMarks = 64,  // Mn
  kMarks = 128,           // M
};
uint8_t char_sets_of(char32_t value);  // the sets it belongs to

// The same as a table for the first 65,536 code points, for tight loops.
const uint8_t* char_set_table();

// Unicode's canonical combining class: marks of different classes may be put into another order.
int combining_class(char32_t value);

// Lower case, character by character: one code point, or two for U+0130.
void append_lower(std::u32string& out, char32_t value);

// Valid UTF-8: each maximal part of a broken character becomes U+FFFD, as in Python and Rust.
std::string replace_invalid_utf8(std::string_view text);

// The bytes at `at` of arbitrary text: a whole character (valid), or the part of one that U+FFFD stands for.
struct Utf8Part {
  uint32_t bytes = 0;
  bool valid = false;
  bool cut = false;  // invalid only because the text ends here
};
inline Utf8Part utf8_part_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {1, true, false};
  if (first < 0xC2 || first > 0xF4) return {1, false, false};
  const uint32_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and values past the last code point.
  const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (uint32_t i = 1; i < length; ++i) {
    if (at + i >= text.size()) return {i, false, true};
    const unsigned char next = byte(at + i);
    if (next < (i == 1 ? low : 0x80) || next > (i == 1 ? high : 0xBF)) return {i, false, false};
  }
  return {length, true, false};
}

}  // namespace wick
