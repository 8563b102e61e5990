#pragma once

#include <string>
#include <string_view>

namespace wick {

// Small letters for the capital ones of ASCII; all else stays.
inline char lower_ascii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
std::string lower_ascii(std::string_view text);
// True when only the case of ASCII letters differs.
bool same_letters(std::string_view a, std::string_view b);
// Without these characters at both ends.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n");

}  // namespace wick
