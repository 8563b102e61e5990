#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace wick {

// Walks the fields of one protobuf message, in file order. A field is a number, a kind and a value; what is not asked
// for is skipped. Lengths are checked against the message. Throws Error(kBadFile) naming the byte in the file.
class ProtobufReader {
 public:
  enum class Kind : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  // `offset`: where the message begins in the file.
  ProtobufReader(std::span<const std::byte> message, const std::filesystem::path& path, int64_t offset = 0)
      : bytes_(message), path_(path), offset_(offset) {}

  // Goes to the next field; false at the end of the message.
  bool next() {
    if (at_ == bytes_.size()) return false;
    const uint64_t key = read_varint();
    field_ = static_cast<int64_t>(key >> 3);
    kind_ = static_cast<Kind>(key & 7);
    if (field_ == 0 || key >> 32 != 0) throw bad("a field has the number 0 or one beyond 2^29");
    switch (kind_) {
      case Kind::kVarint: number_ = read_varint(); return true;
      case Kind::kFixed64: value_ = take(8); return true;
      case Kind::kFixed32: value_ = take(4); return true;
      case Kind::kBytes: value_ = take(read_varint()); return true;
    }
    throw bad(cat("a field is of the kind ", key & 7, ", which does not exist"));
  }

  int64_t field() const { return field_; }
  Kind kind() const { return kind_; }
  bool is(int64_t field, Kind kind) const { return field_ == field && kind_ == kind; }
  uint64_t number() const { return number_; }
  std::span<const std::byte> bytes() const { return value_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(value_.data()), value_.size()}; }
  // The value as a message of its own, or as a list of numbers without keys.
  ProtobufReader inside() const {
    return {value_, path_, offset_ + static_cast<int64_t>(value_.data() - bytes_.data())};
  }
  bool at_end() const { return at_ == bytes_.size(); }
  uint64_t read_varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) throw bad("a number goes beyond its message");
      const auto byte = static_cast<uint64_t>(bytes_[at_++]);
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    throw bad("a number has more than ten bytes");
  }

  Error bad(std::string_view what) const {
    return {ErrorCode::kBadFile, cat(path_, ": byte ", offset_ + static_cast<int64_t>(at_), ": ", what)};
  }

 private:
  std::span<const std::byte> take(uint64_t count) {
    if (count > bytes_.size() - at_) {
      throw bad(cat("a value of ", count, " bytes, but its message has ", bytes_.size() - at_, " left"));
    }
    at_ += static_cast<size_t>(count);
    return bytes_.subspan(at_ - static_cast<size_t>(count), static_cast<size_t>(count));
  }

  std::span<const std::byte> bytes_;
  const std::filesystem::path& path_;
  int64_t offset_;
  size_t at_ = 0;
  int64_t field_ = 0;
  Kind kind_ = Kind::kVarint;
  uint64_t number_ = 0;
  std::span<const std::byte> value_;
};

}  // namespace wick
