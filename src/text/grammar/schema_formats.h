#pragma once

#include <optional>
#include <string_view>

namespace wick::grammar {

// The pattern that enforces a `format` of strings: empty text for formats that only describe, nothing for unknown ones.
std::optional<std::string_view> format_pattern(std::string_view format);

}  // namespace wick::grammar
