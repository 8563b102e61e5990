// Files that others write into while they are mapped.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/mapped_file.h"
#include "support/sanitized.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

constexpr size_t kPage = 4096;

class ChangedFile : public testing::Test {
 protected:
  void write(char with, size_t pages = 5) const {
    std::ofstream(path_, std::ios::binary) << std::string(pages * kPage + 17, with);
  }
  static int64_t count(const MappedFile& file, char wanted) {
    const auto bytes = file.bytes();
    return std::count(bytes.begin(), bytes.end(), static_cast<std::byte>(wanted));
  }

  TempFolder folder_;
  std::filesystem::path path_ = folder_.path() / "model.bin";
};

TEST_F(ChangedFile, WhatIsCutOffReadsAsZeros) {
  write('a');
  const auto file = MappedFile::open(path_), other = MappedFile::open(path_);
  EXPECT_EQ(file->problem(), "");
  EXPECT_EQ(file->bytes()[0], std::byte{'a'});
  std::filesystem::resize_file(path_, 2 * kPage);
  EXPECT_NE(file->problem().find("model.bin: had 20497 bytes and has 8192"), std::string::npos) << file->problem();
  EXPECT_EQ(count(*file, 'a'), 2 * static_cast<int64_t>(kPage));  // would end the process
  EXPECT_EQ(count(*file, 0), 3 * static_cast<int64_t>(kPage) + 17);
  EXPECT_NE(file->problem().find("became shorter or unreadable"), std::string::npos) << file->problem();
  // Several threads at once, over another mapping. To ThreadSanitizer pages that one of them maps are written to.
  std::vector<std::thread> readers;
  for (int i = 0; i < (kSanitized ? 1 : 4); ++i)
    readers.emplace_back([&] { EXPECT_EQ(count(*other, 'a'), 2 * int64_t{kPage}); });
  for (std::thread& reader : readers) reader.join();
  // Whole again: a new mapping is sound, the old one stays what it is.
  write('a');
  const auto again = MappedFile::open(path_);
  EXPECT_EQ(again->problem(), "");
  EXPECT_EQ(count(*again, 'a'), std::ssize(again->bytes()));
  EXPECT_NE(file->problem(), "");
}

TEST_F(ChangedFile, IsToldFromOneThatTookItsPlace) {
  write('a');
  const auto file = MappedFile::open(path_);
  const auto later = std::filesystem::last_write_time(path_) + std::chrono::seconds(1);
  write('b');
  std::filesystem::last_write_time(path_, later);
  EXPECT_NE(file->problem().find("model.bin: was changed while it was in use"), std::string::npos) << file->problem();
  const auto mapped = MappedFile::open(path_);
  std::ofstream(folder_.path() / "new") << "another";
  std::filesystem::rename(folder_.path() / "new", path_);
  EXPECT_EQ(mapped->problem(), "");
  EXPECT_EQ(count(*mapped, 'b'), std::ssize(mapped->bytes()));
  std::filesystem::remove(path_);
  EXPECT_EQ(mapped->problem(), "");
}

TEST_F(ChangedFile, OtherBusErrorsStillEndTheProcess) {
  write('a');
  const auto guarded = MappedFile::open(path_);
  const auto touch = [&] {
    const int fd = ::open(path_.c_str(), O_RDONLY);
    const auto* bytes = static_cast<volatile char*>(mmap(nullptr, 5 * kPage, PROT_READ, MAP_SHARED, fd, 0));
    std::filesystem::resize_file(path_, kPage);
    std::exit(bytes[3 * kPage]);
  };
  // A sanitizer tells of it in a way of its own, and ends the process with a status.
  const auto dies = [](int status) {
    return kSanitized ? !(WIFEXITED(status) && WEXITSTATUS(status) == 0)
                      : WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;
  };
  EXPECT_EXIT(touch(), dies, "");
}

}  // namespace
}  // namespace wick
