#pragma once

#include <optional>
#include <string_view>

namespace wick::grammar {

struct TextFormat {
  std::string_view pattern;  // every text it matches has the format
  std::string_view wider;    // matches every text that has the format
};

// Empty for formats of which nothing is enforced: unknown ones, and those that cannot be told from the characters.
std::optional<TextFormat> format_of(std::string_view format);

}  // namespace wick::grammar
