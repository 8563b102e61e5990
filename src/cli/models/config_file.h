#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

// Settings of a user, in a part of TOML: tables, comments, and keys with a text ("...", '...' or """..."""), a number,
// true, false or a list of texts and numbers. What else TOML has is refused with its line.
struct ConfigEntry {
  std::string key;
  int line = 0;
  bool is_list = false;
  std::vector<std::string> values;  // as they are written, texts without their quotes; one unless it is a list
};
struct ConfigTable {
  std::vector<std::string> name;  // ["presets", "coder"]
  int line = 0;
  std::vector<ConfigEntry> entries;
};

// Entries before the first table are in one without a name. Throws Error(kBadFile) with `source` and the line for what
// cannot be read, a table or a key that comes twice.
std::vector<ConfigTable> parse_config(std::string_view text, const std::string& source);

// ${XDG_CONFIG_HOME:-~/.config}/wick/config.toml; empty when there is no home.
std::filesystem::path config_path();

}  // namespace wick
