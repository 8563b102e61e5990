#include "hub/partial_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr char kMagic[8] = {'W', 'I', 'C', 'K', 'P', 'C', 'S', '1'};
constexpr int64_t kMostPieces = int64_t{1} << 20;

struct MapHead {
  char magic[8];
  int64_t bytes, piece_bytes;
};
static_assert(sizeof(MapHead) == 24, "on-disk layout");

fs::path beside(const fs::path& blob, const char* ending) {
  fs::path path = blob;
  path += ending;
  return path;
}

Error failed(const fs::path& path, const char* what) {
  return {ErrorCode::kIo, cat(path, ": cannot ", what, ": ", std::strerror(errno))};
}

void write_all(int fd, const fs::path& path, std::span<const std::byte> bytes, int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) throw failed(path, "write");
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += written;
  }
}

int open_or_create(const fs::path& path) {
  // No link is followed: the cache may be shared with other users.
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) throw failed(path, "create");
  return fd;
}

}  // namespace

PartialFile::PartialFile(const fs::path& blob, int64_t bytes, int64_t piece_bytes)
    : blob_(blob),
      data_path_(beside(blob, ".incomplete-pieces")),
      map_path_(beside(blob, ".incomplete-map")),
      bytes_(bytes) {
  std::error_code ignored;
  const bool had_data = fs::exists(data_path_, ignored);
  try {
    map_ = open_or_create(map_path_);
    data_ = open_or_create(data_path_);
    if (!had_data || !read_map()) {
      reset(piece_bytes);
      take_over_prefix();
      write_map();
    }
    if (ftruncate(data_, bytes_) != 0) throw failed(data_path_, "write");
  } catch (...) {
    ::close(map_);
    ::close(data_);
    throw;
  }
}

PartialFile::~PartialFile() {
  ::close(map_);
  ::close(data_);
}

int64_t PartialFile::end(int64_t piece) const { return std::min(bytes_, (piece + 1) * piece_bytes_); }

int64_t PartialFile::done() const {
  int64_t sum = 0;
  for (int64_t i = 0; i < pieces_; ++i) sum += done_[i].load();
  return sum;
}

void PartialFile::reset(int64_t piece_bytes) {
  // A file of any size has a map of at most 8 MiB.
  piece_bytes_ = std::max({piece_bytes, ceil_div(bytes_, kMostPieces), int64_t{1}});
  pieces_ = std::max<int64_t>(1, ceil_div(bytes_, piece_bytes_));
  done_ = std::make_unique<std::atomic<int64_t>[]>(static_cast<size_t>(pieces_));
}

// False when the map is not one of this file.
bool PartialFile::read_map() {
  MapHead head{};
  struct stat facts {};
  if (fstat(map_, &facts) != 0 || pread(map_, &head, sizeof(head), 0) != sizeof(head)) return false;
  if (std::memcmp(head.magic, kMagic, sizeof(kMagic)) != 0 || head.bytes != bytes_ || head.piece_bytes < 1)
    return false;
  const int64_t pieces = std::max<int64_t>(1, (bytes_ - 1) / head.piece_bytes + 1);
  if (pieces > kMostPieces || facts.st_size != static_cast<int64_t>(sizeof(head)) + pieces * 8) return false;
  std::vector<int64_t> done(static_cast<size_t>(pieces));
  const size_t bytes = done.size() * sizeof(int64_t);
  if (pread(map_, done.data(), bytes, sizeof(head)) != static_cast<ssize_t>(bytes)) return false;
  reset(head.piece_bytes);
  if (pieces_ != pieces) return false;
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t count = done[static_cast<size_t>(i)];
    if (count < 0 || count > end(i) - i * piece_bytes_) return false;
    done_[i] = count;
  }
  return true;
}

void PartialFile::write_map() {
  MapHead head{{}, bytes_, piece_bytes_};
  std::memcpy(head.magic, kMagic, sizeof(kMagic));
  std::vector<int64_t> done(static_cast<size_t>(pieces_));
  for (int64_t i = 0; i < pieces_; ++i) done[static_cast<size_t>(i)] = done_[i].load();
  if (ftruncate(map_, 0) != 0) throw failed(map_path_, "write");
  write_all(map_, map_path_, std::as_bytes(std::span(&head, 1)), 0);
  write_all(map_, map_path_, std::as_bytes(std::span(done)), sizeof(head));
}

void PartialFile::take_over_prefix() {
  const fs::path left = beside(blob_, ".incomplete");
  std::error_code problem;
  const auto size = static_cast<int64_t>(fs::file_size(left, problem));
  if (problem || size == 0 || size > bytes_ || !fs::is_regular_file(fs::symlink_status(left, problem))) return;
  fs::rename(left, data_path_, problem);
  if (problem) return;
  ::close(data_);
  data_ = open_or_create(data_path_);
  for (int64_t i = 0; i < pieces_; ++i) {
    done_[i] = std::clamp(size - i * piece_bytes_, int64_t{0}, end(i) - i * piece_bytes_);
  }
}

void PartialFile::write(int64_t piece, std::span<const std::byte> bytes) {
  write_all(data_, data_path_, bytes, next(piece));
  const int64_t done = done_[piece].load() + static_cast<int64_t>(bytes.size());
  done_[piece] = done;
  write_all(map_, map_path_, std::as_bytes(std::span(&done, 1)), static_cast<int64_t>(sizeof(MapHead)) + piece * 8);
}

void PartialFile::restart_whole() {
  // Others may ask for the number of pieces meanwhile, if it stays the same.
  if (pieces_ == 1) {
    done_[0] = 0;
  } else {
    reset(std::max<int64_t>(1, bytes_));
  }
  write_map();
}

void PartialFile::finish() {
  if (fsync(data_) != 0) throw failed(data_path_, "write");
  std::error_code problem;
  fs::rename(data_path_, blob_, problem);
  if (problem) throw Error(ErrorCode::kIo, cat(blob_, ": cannot rename: ", problem.message()));
  fs::remove(map_path_, problem);
  flush_folder_of(blob_);
}

void PartialFile::discard() {
  std::error_code ignored;
  fs::remove(data_path_, ignored);
  fs::remove(map_path_, ignored);
}

void PartialFile::remove_leftovers(const fs::path& blob) {
  std::error_code ignored;
  fs::remove(beside(blob, ".incomplete-pieces"), ignored);
  fs::remove(beside(blob, ".incomplete-map"), ignored);
}

}  // namespace wick
