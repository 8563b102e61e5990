#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "jinja/value.h"

namespace wick::jinja {

// A Python format specification: [[fill]align][sign][z][#][0][width][,|_][.precision][type]
struct FormatSpec {
  std::string fill = " ";
  char align = 0;  // < > ^ =; 0: the default of the kind
  char sign = '-';
  bool alternate = false;
  int64_t width = 0;
  char grouping = 0;
  std::optional<int64_t> precision;
  char type = 0;
};

FormatSpec parse_format_spec(std::string_view text);

// Digits of a number without sign and padding, as printf would: type is one of e E f F g G.
std::string float_digits(double magnitude, char type, int64_t precision, bool alternate);
std::string integer_digits(uint64_t magnitude, char type);  // d o x X b
uint64_t magnitude_of(int64_t value);

// format(value, spec).
std::string format_value(const Value& value, const FormatSpec& spec);
// Pads between sign and digits, to the left, to the right or on both sides.
std::string pad(std::string_view sign, std::string_view body, const FormatSpec& spec, char default_align);

// str.center, which rounds the left side its own way.
std::string center_text(std::string_view text, int64_t width, std::string_view fill);

}  // namespace wick::jinja
