#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/models/config_file.h"

namespace wick {

// A model with a system message and settings, under a name of the user's: a table [presets.NAME] of the config file.
struct Preset {
  std::string name, model;  // "ember" unless it says otherwise
  std::string source;       // the file, for messages
  std::vector<ConfigEntry> options;

  // Gives `command` what the preset says and the command line does not. Throws Error(kBadFile) with the line for a
  // value that an option refuses.
  void apply(CLI::App& command) const;
};

// Throws Error(kBadFile) with the line for a file that cannot be read, and for keys that are no `allowed` options.
std::vector<Preset> parse_presets(std::string_view text, const std::string& source);

// A preset of the user's config file; null when there is none of that name. Throws as parse_presets().
const Preset* find_preset(std::string_view name);
const std::vector<Preset>& user_presets();

}  // namespace wick
