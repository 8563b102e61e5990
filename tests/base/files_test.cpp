#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/checked.h"
#include "base/env.h"
#include "base/large_pages.h"
#include "base/machine.h"
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

// A file of several large pages and a rest, no two of its first blocks alike.
std::string large_contents() {
  std::string text((9 << 20) + 4321, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 2654435761u >> 24);
  return text;
}
std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}
bool system_has_large_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  return std::getline(file, line) && line.find("[never]") == std::string::npos;
}

TEST(MappedFile, LargePagesKeepEveryByteWhileOthersRead) {
  const TempFolder folder;
  const std::string contents = large_contents();
  std::ofstream(folder.path() / "data", std::ios::binary) << contents;
  const auto file = MappedFile::open(folder.path() / "data");
  std::atomic<bool> done = false;
  std::atomic<int64_t> passes = 0, wrong = 0;
  std::thread reader([&] {
    for (; !done || passes == 0; ++passes) {
      for (size_t i = static_cast<size_t>(passes) % 997; i < contents.size(); i += 997)
        wrong += text_of(*file)[i] != contents[i];
    }
  });
  const bool large = file->use_large_pages();
  const bool again = file->use_large_pages();
  done = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(text_of(*file) == contents);
  EXPECT_EQ(large, again);
  file->forget(0, static_cast<int64_t>(contents.size()));
  EXPECT_TRUE(text_of(*file) == contents) << "bytes of a copy cannot be read again";
  EXPECT_TRUE(large || !system_has_large_pages() || spare_memory() < int64_t{64} << 20);
}

TEST(MappedFile, MovingToLargePagesCanBeStopped) {
  const TempFolder folder;
  const std::string contents = large_contents();
  std::ofstream(folder.path() / "data", std::ios::binary) << contents;
  const auto file = MappedFile::open(folder.path() / "data");
  const std::span<std::byte> bytes(const_cast<std::byte*>(file->bytes().data()), file->bytes().size());
  const std::atomic<bool> stop = true;
  EXPECT_FALSE(copy_to_large_pages(bytes, &stop));
  EXPECT_TRUE(text_of(*file) == contents);
}

TEST(MappedFile, LargePagesAreCopiedOnlyWhereTheyMay) {
  const TempFolder folder;
  const std::string contents = large_contents();
  std::ofstream(folder.path() / "data", std::ios::binary) << contents;
  const auto check = [&](bool forget_first) {
    const auto file = MappedFile::open(folder.path() / "data");
    if (forget_first) file->forget(0, 1 << 20);
    file->use_large_pages();
    EXPECT_TRUE(text_of(*file) == contents);
    std::ofstream(folder.path() / "data", std::ios::binary | std::ios::in).seekp(5 << 20) << "changed";
    EXPECT_EQ(text_of(*file).substr(5 << 20, 7), "changed") << "this is not the file any more";
    std::ofstream(folder.path() / "data", std::ios::binary) << contents;
  };
  check(true);
  setenv("WICK_COPY_WEIGHTS", "0", 1);
  check(false);
  setenv("WICK_COPY_WEIGHTS", "yes", 1);
  EXPECT_ERROR(MappedFile::open(folder.path() / "data")->use_large_pages(), kInvalidArgument,
               "WICK_COPY_WEIGHTS='yes'");
  unsetenv("WICK_COPY_WEIGHTS");
  MappedFile::in_memory("name", {}, nullptr)->use_large_pages();
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
