#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

// A record in a file of records. Its text is UTF-8, which has no byte 0xFF: what looks like a mark is one.
//   bytes 0-3: mark FF 57 4A 31 | 4-7: bytes of text | 8-11: CRC-32C of the text | 12-15: CRC-32C of bytes 0-11 | text
// Numbers are little-endian.
std::string journal_frame(std::string_view text);
inline constexpr int64_t kFrameHeaderBytes = 16;
inline constexpr int64_t kMostRecordBytes = int64_t{1} << 28;

struct JournalScan {
  struct Piece {
    int64_t offset, bytes;
  };
  int64_t good_bytes = 0;     // up to here there are records, or damage between records
  std::vector<Piece> damage;  // what is no record and cannot be an unfinished one
  std::optional<Piece> torn;  // the last record, whose writing was cut off
};

// Finds the records in the bytes of a file, damaged or not, in time that grows with their number only. `visit` gets
// each text with the bytes that its record takes, and says false when it cannot make sense of it, which counts as
// damage.
using JournalVisit = std::function<bool(std::string_view text, int64_t record_bytes)>;
JournalScan scan_journal(std::string_view bytes, const JournalVisit& visit);

// A file that only grows, record by record. Every function throws Error(kIo) naming the path and the system's reason.
// Not thread-safe.
class JournalFile {
 public:
  // Makes the file if there is none. Reads what is there; cuts off a torn end. Damage stays until rewrite().
  JournalFile(std::filesystem::path path, const JournalVisit& visit);
  ~JournalFile();
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  // Adds records, made by journal_frame(), which are on the disk when it returns. When it throws, none of them counts.
  void append(std::string_view frames);
  // Puts a new file with these records in the place of the old one, all at once.
  void rewrite(const std::vector<std::string>& frames);

  const JournalScan& found() const { return found_; }  // when it was opened
  int64_t bytes() const { return bytes_; }
  // The system may or may not have kept what was appended last: append() throws until rewrite() has succeeded.
  bool is_doubtful() const { return is_doubtful_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  void open();
  void cut(int64_t bytes);

  std::filesystem::path path_;
  JournalScan found_;
  int fd_ = -1;
  int64_t bytes_ = 0;
  bool is_doubtful_ = false;
};

// Held by one process at a time, for as long as this lives; freed by the system when the process ends in any way.
class FolderLock {
 public:
  // Makes the folder if there is none. Throws Error(kIo) naming it when somebody else holds it.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace wick
