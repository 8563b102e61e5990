#include "jinja/builtins/characters.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <span>

#include "base/utf8.h"

namespace wick::jinja {
namespace {

struct CodeRange {
  uint32_t first, last;
};
struct CaseRange {
  uint32_t first, last, step;
  int32_t delta;
};
struct CaseText {
  uint32_t code;
  const char* text;
};
#include "jinja/builtins/character_tables.inc"

bool contains(std::span<const CodeRange> ranges, char32_t code) {
  const auto* after = std::upper_bound(ranges.data(), ranges.data() + ranges.size(), code,
                                       [](char32_t value, const CodeRange& range) { return value < range.first; });
  return after != ranges.data() && code <= (after - 1)->last;
}

void append_mapped(std::string& out, std::span<const CaseRange> ranges, std::span<const CaseText> texts,
                   std::string_view character) {
  const char32_t code = code_point(character);
  const auto text = std::lower_bound(texts.begin(), texts.end(), code,
                                     [](const CaseText& entry, char32_t value) { return entry.code < value; });
  if (text != texts.end() && text->code == code) {
    out += text->text;
    return;
  }
  const auto* after = std::upper_bound(ranges.data(), ranges.data() + ranges.size(), code,
                                       [](char32_t value, const CaseRange& range) { return value < range.first; });
  if (after != ranges.data()) {
    const CaseRange& range = *(after - 1);
    if (code <= range.last && (code - range.first) % range.step == 0) {
      append_utf8(out, static_cast<char32_t>(static_cast<int64_t>(code) + range.delta));
      return;
    }
  }
  out += character;
}

void append_upper(std::string& out, std::string_view character) {
  const char first = character[0];
  if (static_cast<uint8_t>(first) < 0x80) {
    out += static_cast<char>(first >= 'a' && first <= 'z' ? first - 32 : first);
  } else {
    append_mapped(out, kToUpper, kToUpperText, character);
  }
}

void append_lower(std::string& out, std::string_view character) {
  const char first = character[0];
  if (static_cast<uint8_t>(first) < 0x80) {
    out += static_cast<char>(first >= 'A' && first <= 'Z' ? first + 32 : first);
  } else {
    append_mapped(out, kToLower, kToLowerText, character);
  }
}

void append_title(std::string& out, std::string_view character) {
  if (character.size() == 1) {
    append_upper(out, character);
  } else {
    append_mapped(out, kToTitle, kToTitleText, character);
  }
}

// A capital sigma at the end of a word has a small form of its own.
bool is_final_sigma(std::string_view before, std::string_view after) {
  return !before.empty() && is_cased(code_point(before)) && (after.empty() || !is_cased(code_point(after)));
}

// The character at `at` in lower case; `before` is the one in front of it, if any.
void append_lower_at(std::string& out, std::string_view before, std::string_view text, size_t at) {
  const std::string_view character = text.substr(at, character_bytes(text.substr(at)));
  const std::string_view rest = text.substr(at + character.size());
  const std::string_view after = rest.substr(0, rest.empty() ? 0 : character_bytes(rest));
  if (character == "\u03A3" && is_final_sigma(before, after)) {
    out += "\u03C2";
  } else {
    append_lower(out, character);
  }
}

std::string lower_after(std::string_view before, std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size(); at += before.size()) {
    append_lower_at(out, before, text, at);
    before = text.substr(at, character_bytes(text.substr(at)));
  }
  return out;
}

}  // namespace

namespace {

// Bytes 10xxxxxx, eight at a time.
int64_t continuation_bytes(std::string_view text) {
  int64_t count = 0;
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t eight = 0;
    std::memcpy(&eight, text.data() + at, 8);
    count += std::popcount(eight & ~(eight << 1) & 0x8080808080808080u);
  }
  for (; at < text.size(); ++at) count += (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80;
  return count;
}

}  // namespace

int64_t count_characters(std::string_view text) {
  auto count = static_cast<int64_t>(text.size()) - continuation_bytes(text);
  if (count != static_cast<int64_t>(text.size()) && !is_utf8(text)) {
    count = 0;
    for (auto it = Characters(text).begin(), end = Characters(text).end(); it != end; ++it) ++count;
  }
  return count;
}

size_t character_bytes(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  const size_t size = first < 0xC2 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 1;
  if (size == 1 || size > text.size()) return 1;
  return is_utf8(text.substr(0, size)) ? size : 1;
}

char32_t code_point(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<uint8_t>(character[i])); };
  switch (character.size()) {
    case 2: return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3: return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    case 4: return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
    default: return byte(0) < 0x80 ? byte(0) : 0xFFFD;
  }
}

size_t byte_offset(std::string_view text, int64_t index) {
  size_t at = 0;
  while (index-- > 0 && at < text.size()) at += character_bytes(text.substr(at));
  return at;
}

bool is_printable(char32_t code) { return contains(kPrintable, code); }
bool is_alpha(char32_t code) { return contains(kAlpha, code); }
bool is_decimal(char32_t code) { return contains(kDecimal, code); }
bool is_digit(char32_t code) { return contains(kDigit, code); }
bool is_numeric(char32_t code) { return contains(kNumeric, code); }
bool is_space(char32_t code) { return contains(kSpace, code); }
bool is_upper(char32_t code) { return contains(kUpper, code); }
bool is_lower(char32_t code) { return contains(kLower, code); }
bool is_title(char32_t code) { return contains(kTitle, code) && !is_upper(code); }

std::string to_upper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const std::string_view character : Characters(text)) append_upper(out, character);
  return out;
}

std::string to_lower(std::string_view text) { return lower_after({}, text); }

std::string to_folded(std::string_view text) {
  std::string out;
  for (const std::string_view character : Characters(text)) {
    if (character.size() == 1) {
      append_lower(out, character);
    } else {
      append_mapped(out, kToFolded, kToFoldedText, character);
    }
  }
  return out;
}

std::string to_title(std::string_view text) {
  std::string out;
  std::string_view before;
  for (size_t at = 0; at < text.size(); at += before.size()) {
    const std::string_view character = text.substr(at, character_bytes(text.substr(at)));
    if (before.empty() || !is_cased(code_point(before))) {
      append_title(out, character);
    } else {
      append_lower_at(out, before, text, at);
    }
    before = character;
  }
  return out;
}

std::string to_capitalized(std::string_view text) {
  if (text.empty()) return {};
  const std::string_view first = text.substr(0, character_bytes(text));
  std::string out;
  append_title(out, first);
  return out + lower_after(first, text.substr(first.size()));
}

std::string swap_case(std::string_view text) {
  std::string out;
  std::string_view before;
  for (size_t at = 0; at < text.size(); at += before.size()) {
    const std::string_view character = text.substr(at, character_bytes(text.substr(at)));
    const char32_t code = code_point(character);
    if (is_upper(code)) {
      append_lower_at(out, before, text, at);
    } else if (is_lower(code)) {
      append_upper(out, character);
    } else {
      out += character;
    }
    before = character;
  }
  return out;
}

std::string_view strip_left(std::string_view text) {
  while (!text.empty()) {
    const size_t size = character_bytes(text);
    if (!is_space(code_point(text.substr(0, size)))) break;
    text.remove_prefix(size);
  }
  return text;
}

std::string_view strip_right(std::string_view text) {
  while (!text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && text.size() - begin < 4 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
    if (begin + character_bytes(text.substr(begin)) != text.size()) begin = text.size() - 1;
    if (!is_space(code_point(text.substr(begin)))) break;
    text.remove_suffix(text.size() - begin);
  }
  return text;
}

}  // namespace wick::jinja
