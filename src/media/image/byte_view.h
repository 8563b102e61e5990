#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace wick {

// Numbers at places in bytes that may not be there: what lies outside is 0, and `has` tells.
class ByteView {
 public:
  explicit ByteView(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t size() const { return bytes_.size(); }
  bool has(size_t at, size_t count) const { return at <= bytes_.size() && count <= bytes_.size() - at; }
  uint8_t u8(size_t at) const { return has(at, 1) ? std::to_integer<uint8_t>(bytes_[at]) : uint8_t{0}; }
  uint32_t little(size_t at, int bytes) const {
    uint32_t value = 0;
    for (int i = bytes; i-- > 0;) value = value << 8 | u8(at + static_cast<size_t>(i));
    return value;
  }
  uint32_t big(size_t at, int bytes) const {
    uint32_t value = 0;
    for (int i = 0; i < bytes; ++i) value = value << 8 | u8(at + static_cast<size_t>(i));
    return value;
  }
  bool is(size_t at, std::string_view text) const {
    return has(at, text.size()) &&
           std::string_view(reinterpret_cast<const char*>(bytes_.data()) + at, text.size()) == text;
  }
  // As much of it as there is.
  std::span<const std::byte> part(size_t at, size_t count) const {
    if (at >= bytes_.size()) return {};
    return bytes_.subspan(at, count < bytes_.size() - at ? count : bytes_.size() - at);
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace wick
