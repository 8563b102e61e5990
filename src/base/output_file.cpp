#include "base/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

Error failed(const std::filesystem::path& path, const char* what, int reason) {
  return {ErrorCode::kIo, cat(path, ": cannot ", what, ": ", std::strerror(reason))};
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

void flush_folder_of(const std::filesystem::path& path) {
  const int fd = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  const int reason = fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (reason == EIO || reason == ENOSPC || reason == EDQUOT) throw failed(path, "flush the folder of", reason);
}

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored)) throw failed(path_, "write", EISDIR);
#if defined(__linux__) && defined(O_TMPFILE)
  // A file without a name goes with the process, however that ends. Not every file system has such files.
  fd_ = ::open(folder_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd_ >= 0) return;
#endif
  // The name is new: a file left by a process that was killed is not written over.
  while (fd_ < 0) {
    temporary_ = new_name();
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) throw failed(path_, "create", errno);
  }
}

std::filesystem::path OutputFile::new_name() const {
  static std::atomic<int> counter{0};
  std::filesystem::path name = path_;
  name += cat(".part-", getpid(), "-", counter++);
  return name;
}

void OutputFile::give_name() {
  const std::string self = cat("/proc/self/fd/", fd_);
  while (temporary_.empty()) {
    const std::filesystem::path name = new_name();
    if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
    } else if (errno != EEXIST) {
      throw failed(path_, "create", errno);
    }
  }
}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::reserve(int64_t bytes) {
  if (bytes <= 0) return;
#if defined(__linux__)
  int result = 0;
  do {
    result = fallocate(fd_, 0, 0, bytes);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return;
  // File systems that cannot reserve still find out while writing.
  if (errno != EOPNOTSUPP && errno != ENOSYS) throw failed(path_, "write", errno);
#endif
  if (ftruncate(fd_, bytes) != 0) throw failed(path_, "write", errno);
}

void OutputFile::write_at(int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw failed(path_, "write", written < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += written;
  }
}

void OutputFile::finish() {
  if (fsync(fd_) != 0) throw failed(path_, "write", errno);
  give_name();
  if (rename(temporary_.c_str(), path_.c_str()) != 0) throw failed(path_, "rename", errno);
  const int fd = std::exchange(fd_, -1);  // from here on there is nothing to remove
  if (::close(fd) != 0 && errno != EINTR) throw failed(path_, "write", errno);
  flush_folder_of(path_);
}

}  // namespace wick
