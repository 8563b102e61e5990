#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/utf8.h"
#include "formats/file_contents.h"

namespace wick {

// Reads little-endian values from front to back and never past the end: then it throws Error(kBadFile) that says what
// was being read, where, and what is left.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes, const std::filesystem::path& path)
      : bytes_(bytes), path_(path) {}

  size_t position() const { return at_; }
  size_t left() const { return bytes_.size() - at_; }
  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> since(size_t start) const { return bytes_.subspan(start, at_ - start); }

  // What the next reads are part of, e.g. ("key", 3) or ("the value of", "general.name"), for messages.
  void set_place(std::string_view kind, int64_t number) { place_ = cat(kind, " ", number); }
  void set_place(std::string_view kind, std::string_view name) { place_ = cat(kind, " ", in_quotes(name)); }
  const std::string& place() const { return place_; }
  Error bad(std::string_view what) const { return bad_file(path_, cat(place_, " ", what)); }

  void skip(uint64_t count) {
    if (count > left()) {
      throw bad(cat("needs ", count, " bytes at byte ", at_, " but the file has ", bytes_.size()));
    }
    at_ += count;
  }

  template <typename T>
  T read() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    const size_t start = at_;
    skip(sizeof(T));
    std::memcpy(&value, bytes_.data() + start, sizeof(T));
    return value;
  }

  // u64 length | bytes
  std::string_view read_text() {
    const auto length = read<uint64_t>();
    const size_t start = at_;
    if (length > left()) {
      throw bad(cat("claims a text of ", length, " bytes at byte ", at_, " but the file has ", bytes_.size()));
    }
    at_ += length;
    return {reinterpret_cast<const char*>(bytes_.data()) + start, static_cast<size_t>(length)};
  }

 private:
  std::span<const std::byte> bytes_;
  const std::filesystem::path& path_;
  std::string place_ = "the header";
  size_t at_ = 0;
};

}  // namespace wick
