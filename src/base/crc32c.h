#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace wick {

// CRC-32C (Castagnoli): finds every damage of up to 32 bits in a row.
inline uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t value = byte;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0x82F63B78u : 0u);
      table[byte] = value;
    }
    return table;
  }();
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 255] ^ (crc >> 8);
  return ~crc;
}

}  // namespace wick
