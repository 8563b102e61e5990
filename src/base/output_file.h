#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace wick {

// A file that appears under its name only when it is complete: it is written in the same folder, without a name where
// the system can do that and else under a temporary one, and renamed by finish(). Without finish() (an error, an
// exception, a process that is killed) nothing is left and what stood under the name stays.
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
  std::filesystem::path new_name() const;
  void give_name();  // to a file that has none

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty: it has no name yet
  int fd_ = -1;
};

// A new name is on the disk only when its folder is. Some file systems cannot do that, which is no reason to fail.
// Throws Error(kIo) where the disk fails.
void flush_folder_of(const std::filesystem::path& path);

}  // namespace wick
