#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "support/places.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

// Folder -> folders it may include.
using Layers = std::map<std::string, std::set<std::string>>;

// Reads src/LAYERS: "ops: base tensor". A folder may name only folders listed above it, so there are no cycles.
Layers read_layers(const fs::path& path, std::vector<std::string>& problems) {
  Layers layers;
  std::ifstream file(path);
  if (!file) problems.push_back(cat(path, ": cannot be read"));
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    std::string folder;
    if (!(words >> folder)) continue;
    if (!folder.ends_with(':')) {
      problems.push_back(cat(path, ":", number, ": expected 'folder: folders it may include'"));
      continue;
    }
    folder.pop_back();
    std::set<std::string> allowed;
    for (std::string below; words >> below;) {
      if (!layers.count(below)) problems.push_back(cat(path, ":", number, ": '", below, "' is not listed above"));
      allowed.insert(below);
    }
    layers[folder] = allowed;
  }
  return layers;
}

void check_file(const fs::path& source_root, const fs::path& path, const Layers& layers,
                std::vector<std::string>& problems) {
  const fs::path relative = fs::relative(path, source_root);
  const std::string folder = relative.begin()->string();
  const auto own = layers.find(folder);
  if (own == layers.end()) {
    problems.push_back(cat("src/", relative, ": folder '", folder, "' is not listed in src/LAYERS"));
    return;
  }
  static const std::regex kInclude(R"(^\s*#\s*include\s*["<]([^/">]+)/[^">]*[">])");
  std::ifstream file(path);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::smatch match;
    if (!std::regex_search(line, match, kInclude)) continue;
    const std::string target = match[1];
    if (target == folder || own->second.count(target)) continue;
    if (!layers.count(target) && !fs::is_directory(source_root / target)) continue;  // a library's header
    problems.push_back(cat("src/", relative, ":", number, ": '", folder, "' includes '", target,
                           "', which src/LAYERS does not name behind '", folder, ":'"));
  }
}

std::vector<std::string> layer_problems(const fs::path& source_root) {
  std::vector<std::string> problems;
  const Layers layers = read_layers(source_root / "LAYERS", problems);
  for (const auto& entry : fs::recursive_directory_iterator(source_root)) {
    const std::string extension = entry.path().extension().string();
    if (entry.path().parent_path() == source_root) continue;
    if (extension == ".h" || extension == ".cpp" || extension == ".cu" || extension == ".inc") {
      check_file(source_root, entry.path(), layers, problems);
    }
  }
  return problems;
}

TEST(Layers, SourceTreeKeepsTheRule) {
  const auto problems = layer_problems(fs::path(WICK_SOURCE_DIR) / "src");
  for (const auto& problem : problems) ADD_FAILURE() << problem;
}

// A small source tree in a temporary folder.
class LayersOnBadTree : public testing::Test {
 protected:
  LayersOnBadTree() : root_(fs::temp_directory_path() / cat("wick-layers-", getpid())) {
    fs::remove_all(root_);
    write("LAYERS", "# comment\nbase:\nops: base  # behind\n");
    write("base/good.h", "#include <vector>\n#include \"base/other.h\"\n#include \"hwy/highway.h\"\n");
    write("ops/good.cpp", "#include \"ops/op.h\"\n#include \"base/good.h\"\n");
  }
  ~LayersOnBadTree() override { fs::remove_all(root_); }

  void write(const fs::path& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::vector<std::string> problems() const { return layer_problems(root_); }

  fs::path root_;
};

TEST_F(LayersOnBadTree, AcceptsWhatIsAllowed) { EXPECT_EQ(problems(), std::vector<std::string>{}); }

TEST_F(LayersOnBadTree, NamesFileLineAndRuleOfAnUpwardInclude) {
  write("base/bad.cpp", "#include \"base/good.h\"\n\n  # include \"ops/op.h\"\n");
  ASSERT_EQ(problems().size(), 1u);
  EXPECT_EQ(problems()[0], "src/base/bad.cpp:3: 'base' includes 'ops', which src/LAYERS does not name behind 'base:'");
}

TEST_F(LayersOnBadTree, SeesIncludesInAngleBracketsAndSubfolders) {
  write("base/deep/er/bad.h", "#include <ops/op.h>\n");
  ASSERT_EQ(problems().size(), 1u);
  EXPECT_NE(problems()[0].find("src/base/deep/er/bad.h:1"), std::string::npos);
}

TEST_F(LayersOnBadTree, FindsAFolderThatIsNotListed) {
  write("extra/new.cpp", "int x;\n");
  write("ops/uses.cpp", "#include \"extra/new.h\"\n");
  ASSERT_EQ(problems().size(), 2u);
  const std::string all = problems()[0] + problems()[1];
  EXPECT_NE(all.find("'extra' is not listed"), std::string::npos);
  EXPECT_NE(all.find("'ops' includes 'extra'"), std::string::npos);
}

TEST_F(LayersOnBadTree, FindsAListThatNamesALayerAboveOrNoFolder) {
  write("LAYERS", "base: ops\nops: base\nnonsense\n");
  ASSERT_EQ(problems().size(), 2u);
  EXPECT_NE(problems()[0].find("LAYERS:1: 'ops' is not listed above"), std::string::npos);
  EXPECT_NE(problems()[1].find("LAYERS:3: expected"), std::string::npos);
}

}  // namespace
}  // namespace wick
