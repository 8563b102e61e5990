#include "cli/terminal/line_history.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

TEST(LineHistory, IsKeptForItsOwner) {
  const TempFolder folder;
  const fs::path path = folder.path() / "state" / "wick" / "history";
  {
    LineHistory history(path);
    EXPECT_TRUE(history.entries().empty());
    history.add("one");
    history.add("one");
    history.add("");
    history.add("two\nlines \\n");
  }
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(path.parent_path()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(LineHistory(path).entries(), (std::vector<std::string>{"one", "two\nlines \\n"}));
}

TEST(LineHistory, IsBounded) {
  const TempFolder folder;
  const fs::path path = folder.path() / "wick" / "history";
  LineHistory history(path);
  for (size_t i = 0; i < LineHistory::kMost + 50; ++i) history.add(std::to_string(i));
  EXPECT_EQ(history.entries().size(), LineHistory::kMost);
  const LineHistory again(path);
  EXPECT_EQ(again.entries(), history.entries());
  std::ifstream file(path);
  size_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  EXPECT_EQ(lines, LineHistory::kMost);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(LineHistory, WorksWithoutAFile) {
  LineHistory nowhere("");
  nowhere.add("a");
  EXPECT_EQ(nowhere.entries().size(), 1u);
  LineHistory forbidden("/proc/no/such/history");
  forbidden.add("a");
  EXPECT_EQ(forbidden.entries().size(), 1u);
}

}  // namespace
}  // namespace wick
