#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace wick {

// Folders that hold fixtures: tests/fixtures of the source tree, then each folder of the colon-separated
// WICK_EXTRA_FIXTURES.
std::vector<std::filesystem::path> fixture_roots();

// The folder of that name in every root that has one.
std::vector<std::filesystem::path> fixture_folders(const std::string& name);

}  // namespace wick
