#include "media/byte_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

[[noreturn]] void fail(const std::string& name, const char* what, int reason) {
  throw Error(ErrorCode::kIo, cat(name, ": cannot ", what, ": ", std::strerror(reason)));
}

}  // namespace

ByteInput ByteInput::open(const std::filesystem::path& path) {
  const bool is_stdin = path == "-";
  ByteInput input(is_stdin ? "standard input" : path.string());
  input.file_ = is_stdin ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (input.file_ < 0) fail(input.name_, "open", errno);
  input.owns_file_ = !is_stdin;
  struct stat facts {};
  if (fstat(input.file_, &facts) != 0) fail(input.name_, "open", errno);
  if (S_ISDIR(facts.st_mode)) fail(input.name_, "read", EISDIR);
  if (S_ISREG(facts.st_mode) && !is_stdin) input.size_ = facts.st_size;
  return input;
}

ByteInput ByteInput::in_memory(std::string name, std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  ByteInput input(std::move(name));
  input.memory_ = bytes;
  input.owner_ = std::move(owner);
  input.size_ = std::ssize(bytes);
  return input;
}

ByteInput ByteInput::of_reader(std::string name, Reader read) {
  ByteInput input(std::move(name));
  input.reader_ = std::move(read);
  return input;
}

ByteInput::ByteInput(ByteInput&& other) noexcept
    : name_(std::move(other.name_)),
      file_(std::exchange(other.file_, -1)),
      reader_(std::move(other.reader_)),
      owns_file_(std::exchange(other.owns_file_, false)),
      memory_(std::exchange(other.memory_, {})),
      owner_(std::move(other.owner_)),
      size_(other.size_),
      position_(other.position_),
      memory_at_(other.memory_at_),
      ahead_(std::move(other.ahead_)),
      ahead_at_(std::exchange(other.ahead_at_, 0)) {}

ByteInput::~ByteInput() {
  if (owns_file_) close(file_);
}

size_t ByteInput::read_ahead(std::span<std::byte> out) {
  if (reader_) return reader_(out);
  if (file_ < 0) {
    const auto from = memory_.subspan(static_cast<size_t>(std::min<int64_t>(memory_at_, std::ssize(memory_))));
    const size_t count = std::min(out.size(), from.size());
    std::copy_n(from.begin(), count, out.begin());
    memory_at_ += static_cast<int64_t>(count);
    return count;
  }
  while (true) {
    const ssize_t got = ::read(file_, out.data(), out.size());
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) fail(name_, "read", errno);
  }
}

std::span<const std::byte> ByteInput::peek(size_t count) {
  while (ahead_.size() - ahead_at_ < count) {
    ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_at_));
    ahead_at_ = 0;
    const size_t had = ahead_.size();
    ahead_.resize(count);
    const size_t got = read_ahead(std::span(ahead_).subspan(had));
    ahead_.resize(had + got);
    if (got == 0) break;
  }
  return std::span(ahead_).subspan(ahead_at_, std::min(count, ahead_.size() - ahead_at_));
}

size_t ByteInput::read(std::span<std::byte> out) {
  size_t filled = 0;
  while (filled < out.size()) {
    const size_t got = read_some(out.subspan(filled));
    if (got == 0) break;
    filled += got;
  }
  return filled;
}

size_t ByteInput::read_some(std::span<std::byte> out) {
  size_t got = std::min(out.size(), ahead_.size() - ahead_at_);
  if (got > 0) {
    std::copy_n(ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_at_), got, out.begin());
    ahead_at_ += got;
  } else if (!out.empty()) {
    got = read_ahead(out);
  }
  position_ += static_cast<int64_t>(got);
  return got;
}

int64_t ByteInput::skip(int64_t count) {
  if (can_seek()) {
    const int64_t there = std::clamp<int64_t>(*size_ - position_, 0, count);
    seek(position_ + there);
    return there;
  }
  std::array<std::byte, 16384> thrown_away;
  int64_t skipped = 0;
  while (skipped < count) {
    const auto piece = static_cast<size_t>(std::min<int64_t>(count - skipped, std::ssize(thrown_away)));
    const size_t got = read(std::span(thrown_away).first(piece));
    skipped += static_cast<int64_t>(got);
    if (got < piece) break;
  }
  return skipped;
}

void ByteInput::seek(int64_t position) {
  ahead_.clear();
  ahead_at_ = 0;
  position_ = memory_at_ = position;
  if (file_ >= 0 && lseek(file_, position, SEEK_SET) < 0) fail(name_, "seek", errno);
}

}  // namespace wick
