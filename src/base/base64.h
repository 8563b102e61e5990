#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wick {

// Base64 with or without padding at the end; empty when a character is none of it.
std::optional<std::string> decode_base64(std::string_view text);

// With padding.
std::string encode_base64(std::string_view bytes);

}  // namespace wick
