#pragma once

#include <string>
#include <vector>

#include "cli/models/presets.h"
#include "server/model_host.h"

namespace wick {

// The preset that an argument of serve names, as NAME or NEW=NAME; null: none. What is there as a file is no preset.
const Preset* served_preset(const std::string& text);

// Gives the model what its preset says of how it is loaded and of what requests get. Throws Error(kBadFile) with the
// line for what a server cannot take from a preset (a grammar, threads, ...).
void apply_preset(const Preset& preset, ModelEntry& entry);

// One model for presets of the same files that load them in the same way: those behind the first are names of it.
// `presets` has null for entries that are none.
void join_presets(std::vector<ModelEntry>& entries, const std::vector<const Preset*>& presets);

}  // namespace wick
