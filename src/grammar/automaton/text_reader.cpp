#include "grammar/automaton/text_reader.h"

#include <algorithm>

#include "grammar/automaton/codepoint_set.h"

namespace wick::grammar {

bool TextReader::take(std::string_view expected) {
  if (text_.substr(std::min(at_, text_.size()), expected.size()) != expected) return false;
  at_ += expected.size();
  return true;
}

void TextReader::expect(std::string_view expected) {
  if (!take(expected)) throw error(cat("expected '", expected, "'"));
}

uint32_t TextReader::take_codepoint() {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(peek(i)); };
  const uint8_t lead = byte(0);
  const size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  uint32_t codepoint = length == 1 ? lead : lead & (0x7Fu >> length);
  bool is_valid = lead < 0x80 || (lead >= 0xC2 && lead <= 0xF4);
  for (size_t i = 1; i < length; ++i) {
    is_valid &= (byte(i) & 0xC0) == 0x80;
    codepoint = codepoint << 6 | (byte(i) & 0x3F);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (at_end() || !is_valid || codepoint < kSmallest[length] || !is_scalar_value(codepoint)) {
    throw error(at_end() ? "unexpected end" : "invalid UTF-8");
  }
  at_ += length;
  return codepoint;
}

uint32_t TextReader::take_hex(int digits) {
  uint32_t value = 0;
  for (int i = 0; i < digits; ++i) {
    const char c = peek();
    int digit = 0;
    if (c >= '0' && c <= '9') {
      digit = c - '0';
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      digit = (c | 0x20) - 'a' + 10;
    } else {
      throw error(cat("expected ", digits, " hexadecimal digits"));
    }
    value = value << 4 | static_cast<uint32_t>(digit);
    skip();
  }
  return value;
}

std::optional<int64_t> TextReader::take_number(int64_t max) {
  if (peek() < '0' || peek() > '9') return std::nullopt;
  int64_t value = 0;
  for (; peek() >= '0' && peek() <= '9'; skip()) {
    value = value * 10 + (peek() - '0');
    if (value > max) throw error(cat("number larger than ", max));
  }
  return value;
}

Error TextReader::error_at(size_t offset, std::string_view problem) const {
  const std::string_view before = text_.substr(0, std::min(offset, text_.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t start = before.rfind('\n') + 1;  // npos + 1 == 0
  const size_t column = before.size() - start + 1;
  if (text_.find('\n') == std::string_view::npos) {
    return {ErrorCode::kInvalidArgument, cat(what_, ": column ", column, ": ", problem)};
  }
  return {ErrorCode::kInvalidArgument, cat(what_, ": line ", line, ", column ", column, ": ", problem)};
}

}  // namespace wick::grammar
