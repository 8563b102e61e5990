#pragma once

#include <string>
#include <string_view>

#include "jinja/value.h"

namespace wick::jinja {

struct NumberLiteral {
  Value value;
  size_t size = 0;  // bytes read
};

// A number at the front of `text`, as Python writes them: 42, 1_000, 0xFF, 0b11, 1.5, 2e-3. Throws with the line when
// an integer does not fit into 64 bits.
NumberLiteral read_number_literal(std::string_view text, int line);

// The contents of a text in quotes with Python's escapes resolved.
std::string unescaped(std::string_view text, int line);

// Python's int(text, base) and float(text); empty when it is no number. White space around it is ignored.
std::optional<int64_t> parse_integer(std::string_view text, int base = 10);
std::optional<double> parse_float(std::string_view text);

}  // namespace wick::jinja
