#include "server/journal_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/output_file.h"
#include "base/text.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "\xFFWJ1";

Error failed(const fs::path& path, const char* what, int reason) {
  return {ErrorCode::kIo, cat(path, ": cannot ", what, ": ", std::strerror(reason))};
}

void append_u32(std::string& out, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift);
}

uint32_t read_u32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

// What a whole and undamaged header says.
struct FrameHeader {
  int64_t text_bytes;
  uint32_t text_crc;
};
std::optional<FrameHeader> read_header(std::string_view bytes) {
  if (std::ssize(bytes) < kFrameHeaderBytes || !bytes.starts_with(kMark)) return std::nullopt;
  if (read_u32(bytes, 12) != crc32c(bytes.substr(0, 12))) return std::nullopt;
  const FrameHeader header{read_u32(bytes, 4), read_u32(bytes, 8)};
  if (header.text_bytes > kMostRecordBytes) return std::nullopt;
  return header;
}

// The text of the record that a piece begins with; the piece ends before the next mark, so no byte is summed up twice.
std::optional<std::string_view> read_text(std::string_view piece) {
  const auto header = read_header(piece);
  if (!header || header->text_bytes > std::ssize(piece) - kFrameHeaderBytes) return std::nullopt;
  const std::string_view text = piece.substr(kFrameHeaderBytes, static_cast<size_t>(header->text_bytes));
  if (crc32c(text) != header->text_crc) return std::nullopt;
  return text;
}

// Whether the end of a file is what an interrupted append leaves: a record without its end, or room without contents.
bool is_torn(std::string_view end) {
  if (std::all_of(end.begin(), end.end(), [](char byte) { return byte == 0; })) return true;
  if (std::ssize(end) < kFrameHeaderBytes) return kMark.starts_with(end.substr(0, kMark.size()));
  const auto header = read_header(end);
  return header && header->text_bytes > std::ssize(end) - kFrameHeaderBytes;
}

}  // namespace

std::string journal_frame(std::string_view text) {
  if (std::ssize(text) > kMostRecordBytes) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("a record of the journal takes ", text.size(), " bytes, allowed are ", kMostRecordBytes));
  }
  if (text.find(kMark.front()) != std::string_view::npos) {
    throw Error(ErrorCode::kInternal, "a record of the journal is not UTF-8");
  }
  std::string frame(kMark);
  append_u32(frame, static_cast<uint32_t>(text.size()));
  append_u32(frame, crc32c(text));
  append_u32(frame, crc32c(frame));
  frame += text;
  return frame;
}

JournalScan scan_journal(std::string_view bytes, const JournalVisit& visit) {
  JournalScan scan;
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t next = std::min(bytes.find(kMark, at + 1), bytes.size());
    const std::string_view piece = bytes.substr(at, next - at);
    const auto offset = static_cast<int64_t>(at);
    size_t taken = 0;
    if (const auto text = read_text(piece)) {
      const size_t size = kFrameHeaderBytes + text->size();
      if (visit(*text, static_cast<int64_t>(size))) taken = size;
    }
    if (taken == 0 && next == bytes.size() && is_torn(piece)) {
      scan.torn = {offset, std::ssize(piece)};
      break;
    }
    if (taken > 0) {
      at += taken;
    } else {
      const bool goes_on = !scan.damage.empty() && scan.damage.back().offset + scan.damage.back().bytes == offset;
      if (!goes_on) scan.damage.push_back({offset, 0});
      scan.damage.back().bytes += std::ssize(piece);
      at = next;
    }
    scan.good_bytes = static_cast<int64_t>(at);
  }
  return scan;
}

JournalFile::JournalFile(fs::path path, const JournalVisit& visit) : path_(std::move(path)) {
  std::error_code problem;
  const bool is_there = fs::exists(path_, problem);
  if (problem) throw failed(path_, "open", problem.value());
  if (!is_there) OutputFile(path_).finish();
  {
    const auto file = MappedFile::open(path_);
    const std::span<const std::byte> bytes = file->bytes();
    found_ = scan_journal({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, visit);
  }
  open();
  try {
    if (found_.torn) cut(found_.good_bytes);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

JournalFile::~JournalFile() {
  if (fd_ >= 0) ::close(fd_);
}

void JournalFile::open() {
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) throw failed(path_, "open", errno);
  struct stat facts {};
  // It holds what people asked: nobody else is to read it.
  if (fchmod(fd, 0600) != 0 || fstat(fd, &facts) != 0) {
    const int reason = errno;
    ::close(fd);
    throw failed(path_, "open", reason);
  }
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
  bytes_ = facts.st_size;
  is_doubtful_ = false;
}

void JournalFile::cut(int64_t bytes) {
  if (ftruncate(fd_, bytes) != 0 || fsync(fd_) != 0) throw failed(path_, "write", errno);
  bytes_ = bytes;
}

void JournalFile::append(std::string_view frames) {
  if (is_doubtful_) {
    throw Error(ErrorCode::kIo, cat(path_, ": an earlier write failed; the journal has to be written anew"));
  }
  int64_t at = bytes_;
  std::string_view left = frames;
  while (!left.empty()) {
    const ssize_t written = pwrite(fd_, left.data(), left.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int reason = written < 0 ? errno : ENOSPC;
      is_doubtful_ = ftruncate(fd_, bytes_) != 0;
      throw failed(path_, "write", reason);
    }
    left.remove_prefix(static_cast<size_t>(written));
    at += written;
  }
  if (fdatasync(fd_) != 0) {
    is_doubtful_ = true;
    throw failed(path_, "write", errno);
  }
  bytes_ = at;
}

void JournalFile::rewrite(const std::vector<std::string>& frames) {
  OutputFile file(path_);
  int64_t at = 0;
  for (const std::string& frame : frames) {
    file.write_at(at, std::as_bytes(std::span(frame)));
    at += std::ssize(frame);
  }
  is_doubtful_ = true;  // until the new file is open, nothing may go to the old one
  file.finish();
  open();
}

FolderLock::FolderLock(const fs::path& folder) {
  std::error_code error;
  if (fs::create_directories(folder, error)) {
    fs::permissions(folder, fs::perms::owner_all, error);
    flush_folder_of(fs::absolute(folder).lexically_normal());
  }
  const fs::path path = folder / "lock";
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd_ < 0) throw failed(path, "open", errno);
  if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  ::close(fd_);
  if (reason == EWOULDBLOCK) throw Error(ErrorCode::kIo, cat(folder, ": another server uses this journal"));
  throw failed(path, "lock", reason);
}

FolderLock::~FolderLock() { ::close(fd_); }

}  // namespace wick
