#pragma once

#include <string>
#include <string_view>

namespace wick {

// The text with each byte that is not UTF-8 replaced by U+FFFD.
std::string valid_text(std::string_view text);

}  // namespace wick
