#pragma once

#include <string_view>

namespace wick {

// Columns that a character takes on a terminal: 2 for wide ones (CJK, emoji), 0 for combining marks and controls.
int char_width(char32_t value);

}  // namespace wick
