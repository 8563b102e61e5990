#include "support/fixtures.h"

#include <sstream>

#include "base/env.h"
#include "base/text.h"
#include "support/places.h"

namespace wick {

std::vector<std::filesystem::path> fixture_roots() {
  std::vector<std::filesystem::path> roots = {std::filesystem::path(WICK_SOURCE_DIR) / "tests/fixtures"};
  std::istringstream extra(env_text("WICK_EXTRA_FIXTURES").value_or(""));
  for (std::string folder; std::getline(extra, folder, ':');) {
    if (!folder.empty()) roots.emplace_back(folder);
  }
  return roots;
}

std::vector<std::filesystem::path> fixture_folders(const std::string& name) {
  std::vector<std::filesystem::path> folders;
  for (const auto& root : fixture_roots()) {
    if (std::filesystem::is_directory(root / name)) folders.push_back(root / name);
  }
  return folders;
}

std::string no_fixture(const std::string& name) {
  return cat("WICK_EXTRA_FIXTURES names no folder with '", name, "' in it");
}

}  // namespace wick
