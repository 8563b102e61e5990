#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/bus_guard.h"

struct stat;

namespace wick {

// A file mapped read-only into memory. Pages are read when touched and shared by processes, until use_large_pages().
//
// The bytes are those of the file itself: if another process writes into it while it is open, they change, and where it
// has become shorter they are zeros (BusGuard); problem() tells. Replace model files by renaming a new one over them,
// as OutputFile does; the mapping then keeps the old bytes.
class MappedFile {
 public:
  // Throws Error(kIo) naming the path and the system's reason.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  // Bytes that are in memory already, under a name for messages; `owner` keeps them alive.
  static std::shared_ptr<const MappedFile> in_memory(std::filesystem::path name, std::span<const std::byte> bytes,
                                                     std::shared_ptr<const void> owner);

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }
  // Why the bytes are no longer what was opened, "model.gguf: was changed while it was in use"; empty: they are.
  std::string problem() const;

  // Maps the pages at once if the system has the file in memory, so that touching them costs nothing later. Reads
  // nothing from the disk: a file that is not in memory is read as it is touched, in large pages if the system can.
  void map_if_in_memory() const;
  // For bytes that are read over and over, as weights are: small pages cost a third of the speed where each is looked
  // up in two tables, as in a virtual machine. A file that is in memory in small pages is copied in place into large
  // ones of this process, if memory is plentiful and WICK_COPY_WEIGHTS is not 0; readers on other threads do not
  // notice. Ends early once `stop` is true. Returns whether the bytes lie in large pages now.
  bool use_large_pages(const std::atomic<bool>* stop = nullptr) const;
  // Drops the pages that lie wholly inside these bytes from this process's memory; touched again, they are read again.
  // Does nothing behind a use_large_pages() that copied, and keeps a later one from copying.
  void forget(int64_t offset, int64_t count) const;

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

 private:
  // What the system says of a file; the same inode with another size or time has been written into.
  struct Stamp {
    uint64_t device = 0, inode = 0;
    int64_t size = 0, seconds = 0, nanoseconds = 0;
  };
  static Stamp stamp_of(const struct stat& info);
  MappedFile(std::filesystem::path path, const std::byte* data, size_t size, const Stamp& stamp, bool is_mapped);

  std::filesystem::path path_;
  static bool may_copy_weights();

  const std::byte* data_;
  size_t size_;
  Stamp stamp_;
  bool is_mapped_;
  BusGuard guard_;
  mutable std::atomic<bool> forgot_ = false, copied_ = false;
  std::shared_ptr<const void> owner_;  // of bytes in memory
};

}  // namespace wick
