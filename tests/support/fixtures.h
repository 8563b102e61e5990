#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace wick {

// Folders that hold fixtures: tests/fixtures of the source tree, with one for each mechanism, then each folder of the
// colon-separated WICK_EXTRA_FIXTURES.
std::vector<std::filesystem::path> fixture_roots();

// The folder of that name in every root that has one.
std::vector<std::filesystem::path> fixture_folders(const std::string& name);

// "WICK_EXTRA_FIXTURES names no folder with 'olmo' in it": why a test is skipped.
std::string no_fixture(const std::string& name);

}  // namespace wick

// In a test or a SetUp: skips where no root has the fixture.
#define WICK_NEEDS_FIXTURE(name) \
  if (::wick::fixture_folders(name).empty()) GTEST_SKIP() << ::wick::no_fixture(name)
