#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.h"

namespace wick {

// Reads a config.json. Python writes numbers that JSON does not have as Infinity, -Infinity and NaN; they are read as
// {"__float__": "Infinity"}, which newer files say. Throws as Json::load does.
Json load_config_json(const std::filesystem::path& path);
// The same for a text.
std::string with_float_objects(std::string_view json);

}  // namespace wick
