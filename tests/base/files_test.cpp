#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/checked.h"
#include "base/env.h"
#include "base/mapped_file.h"
#include "base/philox.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

TEST(MappedFile, MapsBytesAndOutlivesTheName) {
  const TempFolder folder;
  std::ofstream(folder.path() / "data") << "hello";
  const auto file = MappedFile::open(folder.path() / "data");
  std::filesystem::remove(folder.path() / "data");
  ASSERT_EQ(file->bytes().size(), 5u);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(file->bytes().data()), 5), "hello");
}

TEST(MappedFile, EmptyFilesAndProblems) {
  const TempFolder folder;
  std::ofstream(folder.path() / "empty").close();
  EXPECT_EQ(MappedFile::open(folder.path() / "empty")->bytes().size(), 0u);
  EXPECT_ERROR(MappedFile::open(folder.path() / "missing"), kIo, "missing: cannot open: No such file");
  EXPECT_ERROR(MappedFile::open(folder.path()), kIo, "Is a directory");
  EXPECT_ERROR(MappedFile::open("/dev/null"), kIo, "/dev/null: cannot read: not a regular file");
}

TEST(MappedFile, NamedPipesAreRefusedAndDoNotBlock) {
  const TempFolder folder;
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  if (!std::filesystem::is_fifo(pipe)) GTEST_SKIP() << "Emscripten makes a regular file of a named pipe";
  EXPECT_ERROR(MappedFile::open(pipe), kIo, "not a regular file");
}

TEST(Env, NumbersAreCheckedWhole) {
  setenv("WICK_TEST_NUMBER", "12", 1);
  EXPECT_EQ(env_int("WICK_TEST_NUMBER", 1, 100), 12);
  EXPECT_EQ(env_int("WICK_TEST_UNSET", 1, 100), std::nullopt);
  for (const char* bad : {"abc", "12x", "0", "101", "99999999999999999999", "1.5", " 3"}) {
    setenv("WICK_TEST_NUMBER", bad, 1);
    EXPECT_ERROR(env_int("WICK_TEST_NUMBER", 1, 100), kInvalidArgument,
                 cat("WICK_TEST_NUMBER='", bad, "': expected a whole number from 1 to 100"));
  }
  unsetenv("WICK_TEST_NUMBER");
}

TEST(Checked, CatchesOverflow) {
  EXPECT_EQ(checked_mul(1 << 20, 1 << 20), int64_t{1} << 40);
  EXPECT_EQ(checked_mul(int64_t{1} << 40, int64_t{1} << 40), std::nullopt);
  EXPECT_EQ(checked_add(INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(ceil_div(7, 3), 3);
  EXPECT_EQ(round_up(7, 4), 8);
}

// Known answers published with the generator (Random123, philox4x32-10).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox_block(0, 0, 0), (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox_block(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox_block(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

}  // namespace
}  // namespace wick
