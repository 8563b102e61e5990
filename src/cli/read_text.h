#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace wick {

// All of a file, or of standard input for "-". Throws Error(kIo) with the path when it cannot be read.
std::string read_text(const std::string& path);
std::string read_input();

// A JSON file, or JSON itself (what begins with { or [ and is no file), which messages call `option`. Throws as
// Json::load().
Json read_json(const std::string& text, std::string_view option);

// The text, without the end of line that editors and echo put behind the last line.
std::string without_last_newline(std::string text);

}  // namespace wick
