#include "base/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "support/errors.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(OutputFile, AppearsWhenFinished) {
  const TempFolder folder;
  const fs::path path = folder.path() / "out";
  OutputFile file(path);
  file.reserve(8);
  file.write_at(4, std::as_bytes(std::span("cd", 2)));
  file.write_at(0, std::as_bytes(std::span("ab", 2)));
  EXPECT_FALSE(fs::exists(path));
  file.finish();
  EXPECT_EQ(contents(path), std::string("ab\0\0cd\0\0", 8));
#if !defined(__EMSCRIPTEN__)  // which knows no umask
  const mode_t mask = umask(0);
  umask(mask);
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666 & ~mask);
#endif
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(OutputFile, TwoWritersOfOneNameDoNotMix) {
  const TempFolder folder;
  const fs::path path = folder.path() / "out";
  OutputFile first(path);
  OutputFile second(path);
  first.write_at(0, std::as_bytes(std::span("first", 5)));
  second.write_at(0, std::as_bytes(std::span("second", 6)));
  second.finish();
  EXPECT_EQ(contents(path), "second");
  first.finish();
  EXPECT_EQ(contents(path), "first");
  EXPECT_ERROR(first.finish(), kIo, "out: cannot write");
}

}  // namespace
}  // namespace wick
