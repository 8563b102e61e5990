#include "jinja/literals.h"

#include <charconv>
#include <cstdlib>
#include <limits>

#include "base/utf8.h"
#include "jinja/builtins/characters.h"
#include "jinja/lexer.h"

namespace wick::jinja {
namespace {

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

int digit_value(char c) {
  if (is_decimal_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

// Digits of a base, with single underscores between them.
size_t digits_end(std::string_view text, size_t at, int base) {
  bool after_digit = false;
  while (at < text.size()) {
    if (digit_value(text[at]) < base) {
      after_digit = true;
    } else if (!(text[at] == '_' && after_digit && at + 1 < text.size() && digit_value(text[at + 1]) < base)) {
      break;
    }
    ++at;
  }
  return at;
}

std::string without_underscores(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != '_') out += c;
  }
  return out;
}

int base_of_prefix(std::string_view text) {
  if (text.size() < 3 || text[0] != '0') return 0;
  const char letter = static_cast<char>(text[1] | 0x20);
  const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  return base && digit_value(text[2]) < base ? base : 0;
}

double to_double(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

void append_code_unit(std::string& out, uint32_t unit, uint32_t& pending, int line) {
  const bool high = unit >= 0xD800 && unit < 0xDC00, low = unit >= 0xDC00 && unit < 0xE000;
  if (low && pending) {
    append_utf8(out, 0x10000 + ((pending - 0xD800) << 10) + (unit - 0xDC00));
    pending = 0;
  } else if (low || pending || unit > 0x10FFFF) {
    throw syntax_error(line, "an escape in a text stands for no character");
  } else if (high) {
    pending = unit;
  } else {
    append_utf8(out, unit);
  }
}

}  // namespace

NumberLiteral read_number_literal(std::string_view text, int line) {
  if (const int base = base_of_prefix(text)) {
    const size_t end = digits_end(text, 2, base);
    const auto value = parse_integer(text.substr(2, end - 2), base);
    if (!value)
      throw syntax_error(line, cat("the number ", in_quotes(text.substr(0, end)), " does not fit into 64 bits"));
    return {*value, end};
  }
  size_t end = digits_end(text, 0, 10);
  bool is_float = false;
  if (end + 1 < text.size() && text[end] == '.' && is_decimal_digit(text[end + 1])) {
    end = digits_end(text, end + 1, 10);
    is_float = true;
  }
  if (end < text.size() && (text[end] | 0x20) == 'e') {
    const size_t digits = end + 1 + (end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-'));
    if (digits < text.size() && is_decimal_digit(text[digits])) {
      end = digits_end(text, digits, 10);
      is_float = true;
    }
  }
  if (is_float) return {to_double(without_underscores(text.substr(0, end))), end};
  if (text[0] == '0') {  // 00 is 0, but 01 is no number
    end = 1;
    while (end < text.size() &&
           (text[end] == '0' || (text[end] == '_' && end + 1 < text.size() && text[end + 1] == '0')))
      ++end;
    return {0, end};
  }
  const auto value = parse_integer(text.substr(0, end));
  if (!value)
    throw syntax_error(line, cat("the number ", in_quotes(text.substr(0, end)), " does not fit into 64 bits"));
  return {*value, end};
}

std::string unescaped(std::string_view text, int line) {
  constexpr std::string_view kLetters = "\\'\"abfnrtv", kMeanings = "\\'\"\a\b\f\n\r\t\v";
  std::string out;
  uint32_t pending = 0;  // the first half of a surrogate pair
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\' || at + 1 >= text.size()) {
      if (pending) throw syntax_error(line, "an escape in a text stands for no character");
      out += text[at++];
      continue;
    }
    const char letter = text[at + 1];
    const size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (digits) {
      uint32_t code = 0;
      const std::string_view hex = text.substr(at + 2, digits);
      const auto [end, status] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
      if (hex.size() != digits || status != std::errc() || end != hex.data() + digits) {
        throw syntax_error(line, cat("the escape ", in_quotes(text.substr(at, digits + 2)), " is not complete"));
      }
      append_code_unit(out, code, pending, line);
      at += 2 + digits;
      continue;
    }
    if (pending) throw syntax_error(line, "an escape in a text stands for no character");
    if (letter == '\n') {
      at += 2;
    } else if (const size_t index = kLetters.find(letter); index != kLetters.npos) {
      out += kMeanings[index];
      at += 2;
    } else if (letter >= '0' && letter <= '7') {
      uint32_t code = 0;
      size_t end = at + 1;
      for (; end < text.size() && end < at + 4 && text[end] >= '0' && text[end] <= '7'; ++end) {
        code = code * 8 + static_cast<uint32_t>(text[end] - '0');
      }
      append_utf8(out, code);
      at = end;
    } else {
      out += text[at++];  // an unknown escape stays as it is
    }
  }
  if (pending) throw syntax_error(line, "an escape in a text stands for no character");
  return out;
}

std::optional<int64_t> parse_integer(std::string_view text, int base) {
  text = strip_right(strip_left(text));
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (const int prefixed = base_of_prefix(text); prefixed && (base == 0 || base == prefixed)) {
    text.remove_prefix(2);
    base = prefixed;
  }
  if (base == 0) base = 10;
  if (text.empty() || digits_end(text, 0, base) != text.size()) return std::nullopt;
  const std::string digits = (negative ? "-" : "") + without_underscores(text);
  int64_t value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (status != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_float(std::string_view text) {
  text = strip_right(strip_left(text));
  std::string lower = to_lower(text);
  const std::string_view unsigned_part =
      std::string_view(lower).substr(!lower.empty() && (lower[0] == '+' || lower[0] == '-'));
  const double sign = lower.starts_with('-') ? -1 : 1;
  if (unsigned_part == "inf" || unsigned_part == "infinity") return sign * std::numeric_limits<double>::infinity();
  if (unsigned_part == "nan") return std::numeric_limits<double>::quiet_NaN();
  // digits [. digits] [e [sign] digits], with at least one digit before the exponent
  const std::string_view digits = unsigned_part;
  size_t at = digits_end(digits, 0, 10);
  size_t count = at;
  if (at < digits.size() && digits[at] == '.') {
    const size_t fraction = at + 1;
    at = digits_end(digits, fraction, 10);
    count += at - fraction;
  }
  if (count == 0) return std::nullopt;
  if (at < digits.size() && digits[at] == 'e') {
    const size_t start = at + 1 + (at + 1 < digits.size() && (digits[at + 1] == '+' || digits[at + 1] == '-'));
    at = digits_end(digits, start, 10);
    if (at == start) return std::nullopt;
  }
  if (at != digits.size()) return std::nullopt;
  return sign * to_double(without_underscores(unsigned_part));
}

}  // namespace wick::jinja
