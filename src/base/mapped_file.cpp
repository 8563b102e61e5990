#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "base/checked.h"
#include "base/env.h"
#include "base/error.h"
#include "base/large_pages.h"
#include "base/machine.h"
#include "base/text.h"

namespace wick {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* what, int reason) {
  throw Error(ErrorCode::kIo, cat(path, ": cannot ", what, ": ", std::strerror(reason)));
}

}  // namespace

MappedFile::MappedFile(std::filesystem::path path, const std::byte* data, size_t size, const Stamp& stamp,
                       bool is_mapped)
    : path_(std::move(path)),
      data_(data),
      size_(size),
      stamp_(stamp),
      is_mapped_(is_mapped),
      guard_(is_mapped ? std::span(data, size) : std::span<const std::byte>()) {}

MappedFile::Stamp MappedFile::stamp_of(const struct stat& info) {
  return {static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino), static_cast<int64_t>(info.st_size),
          static_cast<int64_t>(info.st_mtim.tv_sec), static_cast<int64_t>(info.st_mtim.tv_nsec)};
}

MappedFile::~MappedFile() {
  if (data_ && is_mapped_) munmap(const_cast<std::byte*>(data_), size_);
}

std::shared_ptr<const MappedFile> MappedFile::in_memory(std::filesystem::path name, std::span<const std::byte> bytes,
                                                        std::shared_ptr<const void> owner) {
  const std::shared_ptr<MappedFile> file(new MappedFile(std::move(name), bytes.data(), bytes.size(), {}, false));
  file->owner_ = std::move(owner);
  return file;
}

std::string MappedFile::problem() const {
  if (!is_mapped_) return {};
  if (guard_.has_lost_bytes()) return cat(path_, ": became shorter or unreadable while it was in use");
  struct stat info {};
  if (stat(path_.c_str(), &info) != 0) return {};  // gone from its folder, but not from memory; so when it is another
  const Stamp now = stamp_of(info);
  if (now.device != stamp_.device || now.inode != stamp_.inode) return {};
  if (now.size != stamp_.size) {
    return cat(path_, ": had ", stamp_.size, " bytes and has ", now.size, ": it was changed while it was in use");
  }
  const bool is_same = now.seconds == stamp_.seconds && now.nanoseconds == stamp_.nanoseconds;
  return is_same ? std::string() : cat(path_, ": was changed while it was in use");
}

bool MappedFile::may_copy_weights() { return env_int("WICK_COPY_WEIGHTS", 0, 1).value_or(1) == 1; }

void MappedFile::forget(int64_t offset, int64_t count) const {
  const auto size = static_cast<int64_t>(size_);
  if (!is_mapped_ || copied_ || offset < 0 || count <= 0 || offset > size || count > size - offset) return;
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t begin = round_up(offset, page);
  const int64_t end = (offset + count) / page * page;
  forgot_ = true;
  // Advice only: when it is not taken, nothing is lost.
  if (begin < end) madvise(const_cast<std::byte*>(data_) + begin, static_cast<size_t>(end - begin), MADV_DONTNEED);
}

void MappedFile::map_if_in_memory() const {
  may_copy_weights();  // a bad value is an error at once
  if (!is_mapped_ || size_ == 0) return;
  const std::span<std::byte> bytes(const_cast<std::byte*>(data_), size_);
  advise_large_pages(bytes);
  if (is_in_memory(bytes)) map_pages(bytes);
}

bool MappedFile::use_large_pages(const std::atomic<bool>* stop) const {
  const bool may_copy = may_copy_weights() && !forgot_;
  if (!is_mapped_ || size_ == 0) return false;
  const std::span<std::byte> bytes(const_cast<std::byte*>(data_), size_);
  if (copied_ || !is_in_memory(bytes)) return copied_;
  if (has_large_pages(bytes)) return true;
  // Copies take memory from nobody: twice their size must be to spare.
  if (!may_copy || spare_memory() / 2 < static_cast<int64_t>(size_)) return false;
  copied_ = true;
  return copy_to_large_pages(bytes, stop);
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a named pipe must not block
  if (fd < 0) fail(path, "open", errno);
  struct stat info {};
  if (fstat(fd, &info) != 0) {
    const int reason = errno;
    ::close(fd);
    fail(path, "read", reason);
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    if (S_ISDIR(info.st_mode)) fail(path, "read", EISDIR);
    throw Error(ErrorCode::kIo, cat(path, ": cannot read: not a regular file"));
  }
  if (std::cmp_greater(info.st_size, std::numeric_limits<size_t>::max())) {  // 4 GiB and more on WebAssembly
    ::close(fd);
    fail(path, "map", EFBIG);
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* data = nullptr;
  if (size > 0) {
    data = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
      const int reason = errno;
      ::close(fd);
      fail(path, "map", reason);
    }
  }
  ::close(fd);
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, static_cast<const std::byte*>(data), size, stamp_of(info), true));
}

}  // namespace wick
