#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace wick {

// A file that arrives in pieces, in any order, and whose download may go on in another process. Beside BLOB stand
//   BLOB.incomplete-pieces   the bytes, at their places
//   BLOB.incomplete-map      "WICKPCS1", size and bytes per piece (i64), then how much of each piece is there (i64
//   each)
// and not BLOB.incomplete, which huggingface_hub takes for a file without holes; one that it left is taken over.
// Different threads may write different pieces at once; all else is for one thread. Throws Error(kIo).
class PartialFile {
 public:
  PartialFile(const std::filesystem::path& blob, int64_t bytes, int64_t piece_bytes);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  int64_t pieces() const { return pieces_; }
  // Where the next byte of a piece goes, and where the piece ends.
  int64_t next(int64_t piece) const { return piece * piece_bytes_ + done_[piece].load(); }
  int64_t end(int64_t piece) const;
  int64_t done() const;  // bytes of all pieces

  // Appends to a piece. `bytes` must fit.
  void write(int64_t piece, std::span<const std::byte> bytes);
  // Forgets everything; from now on the file is a single piece.
  void restart_whole();
  // The file gets the name of the blob; everything must be there.
  void finish();
  // Removes both files.
  void discard();

  const std::filesystem::path& path() const { return data_path_; }
  // Removes what earlier downloads left beside a blob that is complete.
  static void remove_leftovers(const std::filesystem::path& blob);

 private:
  bool read_map();
  void write_map();
  void reset(int64_t piece_bytes);
  void take_over_prefix();

  std::filesystem::path blob_, data_path_, map_path_;
  int64_t bytes_, piece_bytes_ = 0, pieces_ = 0;
  std::unique_ptr<std::atomic<int64_t>[]> done_;
  int data_ = -1, map_ = -1;
};

}  // namespace wick
