#pragma once

#include <string>
#include <string_view>

namespace wick {

// Appends `text`, which must be valid UTF-8, as JSON text in quotes.
void append_json_text(std::string& out, std::string_view text);

}  // namespace wick
