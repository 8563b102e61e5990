#pragma once

#include <string>
#include <string_view>

namespace wick {

// The first byte that is not part of valid UTF-8 (no overlong forms, no surrogates); npos when all of it is.
size_t find_invalid_utf8(std::string_view text);
inline bool is_utf8(std::string_view text) { return find_invalid_utf8(text) == std::string_view::npos; }

// Appends a code point, at most 0x10FFFF.
void append_utf8(std::string& out, char32_t code_point);

// Text of a file for a message: in single quotes, on one line, shortened when it is long; control characters and
// invalid bytes appear as \xNN.
std::string in_quotes(std::string_view text);

}  // namespace wick
