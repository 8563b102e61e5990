#pragma once

#include <filesystem>
#include <optional>
#include <utility>

namespace wick {

// A lock that goes with the process, however that ends. Python's filelock takes the same one (flock), so
// huggingface_hub and Wick wait for each other.
class FileLock {
 public:
  // Empty while somebody else holds it, in this process or another. Makes the file and its folders if need be.
  // Throws Error(kIo).
  static std::optional<FileLock> try_lock(const std::filesystem::path& path);

  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace wick
