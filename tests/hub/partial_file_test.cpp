#include "hub/partial_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "hub/checksum.h"
#include "hub/file_lock.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(PartialFile, PiecesArriveInAnyOrderAndProcess) {
  const TempFolder folder;
  const fs::path blob = folder.path() / "blob";
  {
    PartialFile file(blob, 10, 4);
    EXPECT_EQ(file.pieces(), 3);
    EXPECT_EQ(file.end(2), 10);
    file.write(2, bytes("9"));
    file.write(0, bytes("12"));
    file.write(0, bytes("3"));
  }
  {
    PartialFile file(blob, 10, 1000);  // the size of the pieces is the file's, once it has one
    EXPECT_EQ(file.pieces(), 3);
    EXPECT_EQ(file.done(), 4);
    EXPECT_EQ(file.next(0), 3);
    EXPECT_EQ(file.next(1), 4);
    EXPECT_EQ(file.next(2), 9);
    file.write(0, bytes("4"));
    file.write(1, bytes("5678"));
    file.write(2, bytes("0"));
    EXPECT_EQ(file.done(), 10);
    EXPECT_FALSE(fs::exists(blob));
    file.finish();
  }
  EXPECT_EQ(read(blob), "1234567890");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(PartialFile, AMapThatDoesNotFitIsNotBelieved) {
  const TempFolder folder;
  const fs::path blob = folder.path() / "blob", map = folder.path() / "blob.incomplete-map";
  const auto fresh = [&] {
    PartialFile(blob, 10, 4).write(1, bytes("5678"));
    return read(map);
  };
  const std::string good = fresh();
  EXPECT_EQ(PartialFile(blob, 10, 4).done(), 4);
  EXPECT_EQ(PartialFile(blob, 11, 4).done(), 0) << "another size";
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x80);
    fs::remove(map);
    fresh();
    write(map, bad);
    const PartialFile file(blob, 10, 4);
    EXPECT_TRUE(file.done() == 0) << at;  // a count of 4 or 0 with its top bit set is beyond its piece or below zero
  }
  for (size_t size = 0; size < good.size(); ++size) {
    write(map, good.substr(0, size));
    EXPECT_EQ(PartialFile(blob, 10, 4).done(), 0) << size;
  }
  fs::remove(folder.path() / "blob.incomplete-pieces");
  write(map, good);
  EXPECT_EQ(PartialFile(blob, 10, 4).done(), 0) << "the bytes are gone";
}

TEST(PartialFile, TakesOverWhatHuggingfaceHubLeft) {
  const TempFolder folder;
  const fs::path blob = folder.path() / "blob";
  write(folder.path() / "blob.incomplete", "123456");
  PartialFile file(blob, 10, 4);
  EXPECT_EQ(file.done(), 6);
  EXPECT_EQ(file.next(0), 4);
  EXPECT_EQ(file.next(1), 6);
  EXPECT_EQ(file.next(2), 8);
  EXPECT_FALSE(fs::exists(folder.path() / "blob.incomplete"));
  file.write(1, bytes("78"));
  file.write(2, bytes("90"));
  file.finish();
  EXPECT_EQ(read(blob), "1234567890");
  write(folder.path() / "other.incomplete", "more than there should be");
  EXPECT_EQ(PartialFile(folder.path() / "other", 10, 4).done(), 0);
}

TEST(PartialFile, ALinkIsNotFollowed) {
  const TempFolder folder;
  write(folder.path() / "victim", "keep");
  fs::create_symlink(folder.path() / "victim", folder.path() / "blob.incomplete-pieces");
  EXPECT_ANY_THROW(PartialFile(folder.path() / "blob", 10, 4));
  EXPECT_EQ(read(folder.path() / "victim"), "keep");
}

TEST(Checksum, AreThoseOfGitAndSha256sum) {
  const TempFolder folder;
  const fs::path path = folder.path() / "x";
  write(path, "hello\n");
  EXPECT_EQ(git_blob_of(path), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(sha256_of(path), "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
  write(path, "");
  EXPECT_EQ(git_blob_of(path), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(sha256_of(path), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  write(path, std::string(3'000'001, 'a'));
  EXPECT_EQ(sha256_of(path, [] { return true; }), "") << "stopped";
}

TEST(FileLock, OneHolderAtATime) {
  const TempFolder folder;
  const fs::path path = folder.path() / "a" / "b.lock";
  auto lock = FileLock::try_lock(path);
  ASSERT_TRUE(lock);
  EXPECT_FALSE(FileLock::try_lock(path));
  lock.reset();
  EXPECT_TRUE(FileLock::try_lock(path));
}

}  // namespace
}  // namespace wick
