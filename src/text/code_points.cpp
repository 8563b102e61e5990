#include "text/code_points.h"

#include <utf8proc.h>

#include <array>
#include <memory>

namespace wick {
namespace {

bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

uint8_t sets_of_category(utf8proc_category_t category) {
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return kLetters;
    case UTF8PROC_CATEGORY_MN: return kNonSpacingMarks | kMarks;
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME: return kMarks;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return kNumbers;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO: return kPunctuation;
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO: return kOthers;
    default: return 0;
  }
}

uint8_t compute_sets(char32_t c) {
  uint8_t sets = sets_of_category(utf8proc_category(static_cast<utf8proc_int32_t>(c)));
  if (is_space(c)) sets |= kSpaces;
  if (is_ascii_punctuation(c)) sets |= kPunctuation;
  if (c == '\r' || c == '\n') sets |= kLineBreaks;
  return sets;
}

}  // namespace

const uint8_t* char_set_table() {
  static const std::unique_ptr<const std::array<uint8_t, 0x10000>> table = [] {
    auto sets = std::make_unique<std::array<uint8_t, 0x10000>>();
    for (char32_t c = 0; c < sets->size(); ++c) (*sets)[c] = compute_sets(c);
    return sets;
  }();
  return table->data();
}

uint8_t char_sets_of(char32_t value) { return value < 0x10000 ? char_set_table()[value] : compute_sets(value); }

void append_lower(std::u32string& out, char32_t value) {
  if (value == 0x130) {
    out += U"i\u0307";
  } else {
    out += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(value)));
  }
}

Utf8Part utf8_part_at(std::string_view text, size_t at) {
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

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Part part = utf8_part_at(text, at);
    if (part.valid) {
      out += text.substr(at, part.bytes);
    } else {
      out += "\xEF\xBF\xBD";
    }
    at += part.bytes;
  }
  return out;
}

}  // namespace wick
