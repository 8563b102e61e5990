#include "tokenizer/stages/code_points.h"

#include <utf8proc.h>

#include <array>
#include <cstring>
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

int combining_class(char32_t value) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(value))->combining_class;
}

void append_lower(std::u32string& out, char32_t value) {
  if (value == 0x130) {
    out += U"i\u0307";
  } else {
    out += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(value)));
  }
}

std::string replace_invalid_utf8(std::string_view text) {
  // What a byte that is no first byte of a longer character becomes: itself, or U+FFFD.
  struct Replacement {
    char bytes[3];
    uint8_t size;  // 0: look further
  };
  static constexpr auto kReplacements = [] {
    std::array<Replacement, 256> table{};
    for (int byte = 0; byte < 256; ++byte) {
      if (byte < 0x80) {
        table[byte] = {{static_cast<char>(byte)}, 1};
      } else if (byte < 0xC2 || byte > 0xF4) {
        table[byte] = {{'\xEF', '\xBF', '\xBD'}, 3};
      }
    }
    return table;
  }();
  std::string out;
  out.resize(text.size() * 3 + 3);  // one byte becomes three at most
  char* to = out.data();
  for (size_t at = 0; at < text.size();) {
    const Replacement& simple = kReplacements[static_cast<unsigned char>(text[at])];
    if (simple.size != 0) {  // without a branch on which of the two it is
      std::memcpy(to, simple.bytes, 3);
      to += simple.size;
      ++at;
      continue;
    }
    const Utf8Part part = utf8_part_at(text, at);
    std::memcpy(to, part.valid ? text.data() + at : "\xEF\xBF\xBD", part.valid ? part.bytes : 3);
    to += part.valid ? part.bytes : 3;
    at += part.bytes;
  }
  out.resize(static_cast<size_t>(to - out.data()));
  return out;
}

}  // namespace wick
