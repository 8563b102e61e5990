#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace wick {

// A file that appears under its name only when it is complete: it is written beside, under a temporary name, and
// renamed by finish(). Without finish() (an error, an exception) it is removed and what stood under the name stays.
// Every function throws Error(kIo) naming the path and the system's reason. Not thread-safe.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Asks for the room first, so that a full disk is noticed before the work rather than after it.
  void reserve(int64_t bytes);
  void write_at(int64_t offset, std::span<const std::byte> bytes);
  // Flushes to the disk and renames. The file ends after the last byte written or reserved.
  void finish();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int fd_ = -1;
};

}  // namespace wick
