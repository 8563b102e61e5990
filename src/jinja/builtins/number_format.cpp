#include "jinja/builtins/number_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "jinja/builtins/characters.h"
#include "jinja/builtins/python_format.h"

namespace wick::jinja {
namespace {

constexpr int64_t kMaxPrecision = 4096;

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

int64_t read_number(std::string_view text, size_t& at) {
  int64_t number = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    number = number * 10 + (text[at++] - '0');
    if (number > int64_t{1} << 40) throw problem("too many digits in the format ", in_quotes(text));
  }
  return number;
}

std::string grouped(const std::string& digits, char separator, size_t group) {
  const size_t whole = std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size());
  std::string out;
  for (size_t i = 0; i < whole; ++i) {
    if (i && (whole - i) % group == 0) out += separator;
    out += digits[i];
  }
  return out + digits.substr(whole);
}

std::string_view sign_text(bool negative, char wish) {
  if (negative) return "-";
  return wish == '+' ? "+" : wish == ' ' ? " " : "";
}

std::string format_float(double number, const FormatSpec& spec) {
  const double magnitude = std::abs(number);
  std::string digits;
  char type = spec.type;
  if (type == '%') {
    digits = float_digits(magnitude * 100, 'f', spec.precision.value_or(6), spec.alternate) + "%";
  } else if (type == 0 && !spec.precision) {
    digits = float_repr(magnitude);
  } else if (type == 0) {
    digits = float_digits(magnitude, 'g', std::max<int64_t>(*spec.precision, 1), spec.alternate);
    if (digits.find_first_of(".en") == std::string::npos) digits += ".0";
  } else {
    digits = float_digits(magnitude, type == 'n' ? 'g' : type, spec.precision.value_or(6), spec.alternate);
  }
  if (spec.grouping && std::isfinite(number)) {
    const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
    digits = grouped(digits.substr(0, whole), spec.grouping, 3) + digits.substr(whole);
  }
  return pad(sign_text(std::signbit(number) && !std::isnan(number), spec.sign), digits, spec, '>');
}

std::string format_integer(int64_t number, const FormatSpec& spec) {
  if (spec.precision) throw problem("Precision not allowed in integer format specifier");
  if (spec.type == 'c') {
    if (number < 0 || number > 0x10FFFF) throw problem("%c arg not in range(0x110000)");
    std::string character;
    append_utf8(character, static_cast<char32_t>(number));
    return pad("", character, spec, '>');
  }
  const char type = spec.type == 0 || spec.type == 'n' ? 'd' : spec.type;
  std::string digits = integer_digits(magnitude_of(number), type);
  if (spec.grouping) digits = grouped(digits, spec.grouping, type == 'd' ? 3 : 4);
  std::string sign(sign_text(number < 0, spec.sign));
  if (spec.alternate && type != 'd') sign += {'0', type};
  return pad(sign, digits, spec, '>');
}

std::string format_text(const Value& value, const FormatSpec& spec) {
  if (spec.align == '=') throw problem("'=' alignment not allowed in string format specifier");
  std::string_view text = value.bytes();
  spend_work_on_bytes(text.size());
  if (spec.precision) text = text.substr(0, byte_offset(text, *spec.precision));
  return pad("", text, spec, '<');
}

}  // namespace

FormatSpec parse_format_spec(std::string_view text) {
  FormatSpec spec;
  size_t at = 0;
  const auto peek = [&] { return at < text.size() ? text[at] : '\0'; };
  const size_t first = text.empty() ? 0 : character_bytes(text);
  if (first && first < text.size() && is_align(text[first])) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    at = first + 1;
  } else if (is_align(peek())) {
    spec.align = text[at++];
  }
  if (peek() == '+' || peek() == '-' || peek() == ' ') spec.sign = text[at++];
  if (peek() == '#') ++at, spec.alternate = true;
  if (peek() == '0') {
    ++at;
    if (!spec.align) spec.align = '=', spec.fill = "0";
  }
  spec.width = read_number(text, at);
  if (peek() == ',' || peek() == '_') spec.grouping = text[at++];
  if (peek() == '.') {
    const size_t digits = ++at;
    spec.precision = read_number(text, at);
    if (at == digits) throw problem("Format specifier missing precision");
  }
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) throw problem("Invalid format specifier ", in_quotes(text));
  return spec;
}

uint64_t magnitude_of(int64_t value) {
  return value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
}

std::string float_digits(double magnitude, char type, int64_t precision, bool alternate) {
  if (std::isnan(magnitude)) return type >= 'a' ? "nan" : "NAN";
  if (std::isinf(magnitude)) return type >= 'a' ? "inf" : "INF";
  if (precision > kMaxPrecision) throw problem("a precision of ", precision, " digits is too big");
  const int places = static_cast<int>(precision);
  switch (type) {
    case 'f': return alternate ? fmt::format("{:#.{}f}", magnitude, places) : fmt::format("{:.{}f}", magnitude, places);
    case 'F': return alternate ? fmt::format("{:#.{}F}", magnitude, places) : fmt::format("{:.{}F}", magnitude, places);
    case 'e': return alternate ? fmt::format("{:#.{}e}", magnitude, places) : fmt::format("{:.{}e}", magnitude, places);
    case 'E': return alternate ? fmt::format("{:#.{}E}", magnitude, places) : fmt::format("{:.{}E}", magnitude, places);
    case 'g': return alternate ? fmt::format("{:#.{}g}", magnitude, places) : fmt::format("{:.{}g}", magnitude, places);
    case 'G': return alternate ? fmt::format("{:#.{}G}", magnitude, places) : fmt::format("{:.{}G}", magnitude, places);
    default: throw problem("Unknown format code '", type, "' for a number");
  }
}

std::string integer_digits(uint64_t magnitude, char type) {
  switch (type) {
    case 'd': return fmt::format("{}", magnitude);
    case 'o': return fmt::format("{:o}", magnitude);
    case 'x': return fmt::format("{:x}", magnitude);
    case 'X': return fmt::format("{:X}", magnitude);
    case 'b': return fmt::format("{:b}", magnitude);
    default: throw problem("Unknown format code '", type, "' for object of type 'int'");
  }
}

std::string pad(std::string_view sign, std::string_view body, const FormatSpec& spec, char default_align) {
  const int64_t used = count_characters(sign) + count_characters(body);
  const int64_t missing = std::max<int64_t>(spec.width - used, 0);
  require_memory(missing * static_cast<int64_t>(spec.fill.size()));
  const auto fill = [&](int64_t count) {
    std::string out;
    for (int64_t i = 0; i < count; ++i) out += spec.fill;
    return out;
  };
  switch (spec.align ? spec.align : default_align) {
    case '<': return cat(sign, body, fill(missing));
    case '^': return cat(fill(missing / 2), sign, body, fill(missing - missing / 2));
    case '=': return cat(sign, fill(missing), body);
    default: return cat(fill(missing), sign, body);
  }
}

std::string center_text(std::string_view text, int64_t width, std::string_view fill) {
  if (count_characters(fill) != 1) throw problem("The fill character must be exactly one character long");
  const int64_t missing = std::max<int64_t>(width - count_characters(text), 0);
  require_memory(missing * static_cast<int64_t>(fill.size()));
  const int64_t left = missing / 2 + (missing & width & 1);
  std::string out;
  for (int64_t i = 0; i < left; ++i) out += fill;
  out += text;
  for (int64_t i = left; i < missing; ++i) out += fill;
  return out;
}

std::string format_value(const Value& value, const FormatSpec& spec) {
  constexpr std::string_view kFloatTypes = "eEfFgG%";
  if (value.is_text()) {
    if (spec.type != 0 && spec.type != 's') {
      throw problem("Unknown format code '", spec.type, "' for object of type 'str'");
    }
    FormatSpec text = spec;
    if (text.align == '=' && text.fill == "0") text.align = '<';  // from a plain 0 before the width
    return format_text(value, text);
  }
  const bool empty = spec.type == 0 && spec.width == 0 && !spec.precision && !spec.grouping && !spec.align &&
                     spec.sign == '-' && !spec.alternate;
  if (value.is_bool() && empty) return to_text(value);
  if (value.is_integral() && kFloatTypes.find(spec.type) == std::string_view::npos) {
    return format_integer(value.as_int(), spec);
  }
  if (value.is_integral() && spec.type == 0) return format_integer(value.as_int(), spec);
  if (value.is_number()) return format_float(value.as_number(), spec);
  if (!empty) throw problem("unsupported format string passed to ", value.type_name(), ".__format__");
  return to_text(value);
}

}  // namespace wick::jinja
