#pragma once

#include <filesystem>
#include <string>

namespace wick {

// What a model is called after where it lies: the name of its folder, or of its file without the extension; "Org/Name"
// in the cache of the Hugging Face hub, whose folders are called after commits.
std::string model_label(const std::filesystem::path& path);

}  // namespace wick
