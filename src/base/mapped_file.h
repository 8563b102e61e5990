#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace wick {

// A file mapped read-only into memory. Pages are read when touched and shared between processes.
class MappedFile {
 public:
  // Throws Error(kIo) naming the path and the system's reason.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

 private:
  MappedFile(std::filesystem::path path, const std::byte* data, size_t size);

  std::filesystem::path path_;
  const std::byte* data_;
  size_t size_;
};

}  // namespace wick
