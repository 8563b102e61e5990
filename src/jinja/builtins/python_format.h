#pragma once

#include <string>
#include <string_view>

#include "jinja/value.h"

namespace wick::jinja {

// Python's str(): what {{ value }} writes.
std::string to_text(const Value& value);
// The same without a copy when it is a text already, keeping whether it is markup (Jinja's soft_str).
Value to_text_value(const Value& value);
void append_text(std::string& out, const Value& value);

// Python's repr(): how values look inside lists and dicts.
std::string repr(const Value& value);
void append_repr(std::string& out, const Value& value);
void append_text_repr(std::string& out, std::string_view text, bool ascii = false);
std::string float_repr(double number);  // "1.0", "1e+16", "inf"

// The five characters of HTML as entities.
std::string escape_html(std::string_view text);
Value escape(const Value& value);  // markup stays as it is

}  // namespace wick::jinja
